//! What handlers ask of their client. MCP 2025-11-25, client/elicitation, client/sampling and client/roots.

use crate::client::*;
use gosling::mcp::arguments;
use gosling::mcp::server::{Context, Server, Tool, ToolError};
use gosling::mcp::types::{CallToolResult, CreateMessageParams};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::fmt::{Debug, Display};

fn told(answer: Result<impl Debug, impl Display>) -> Result<CallToolResult, ToolError> {
    let failed = |error: &dyn Display| ToolError::Failed(error.to_string());
    let answer = answer.map_err(|error| failed(&error))?;
    Ok(CallToolResult::text(format!("{answer:?}")))
}

arguments! {
    #[derive(Debug)]
    struct Person {
        name: String,
        age: Option<u8>,
    }
}

/// A server whose tools ask the client.
fn asking() -> Server {
    let form = |_: IgnoredAny, context: &Context| {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let answer = context.elicit("Who are you?", &schema);
        told(answer.map(|it| (it.action, it.content.unwrap_or_default())))
    };
    let model = |_: IgnoredAny, context: &Context| {
        let asked = json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 9,
        });
        let asked: CreateMessageParams = serde_json::from_value(asked).unwrap();
        told(context.sample(&asked).map(|it| it.model))
    };
    let folders = |_: IgnoredAny, context: &Context| {
        let roots = context.roots();
        told(roots.map(|all| all.into_iter().map(|root| root.uri).collect::<Vec<_>>()))
    };
    let typed =
        |_: IgnoredAny, context: &Context| told(context.elicit_form::<Person>("Who are you?"));
    Server::new("asking", "1")
        .tool(Tool::new("typed", "", typed))
        .tool(Tool::new("form", "", form))
        .tool(Tool::new("quick", "", form).quick())
        .tool(Tool::new("model", "", model))
        .tool(Tool::new("folders", "", folders))
}

fn client(capabilities: Value) -> Client {
    let client = Client::new(asking());
    let capabilities = format!("\"capabilities\":{capabilities}");
    client.ask(&INITIALIZE.replace("\"capabilities\":{}", &capabilities));
    client
}

fn call(tool: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool}}).to_string()
}

fn answer(question: &Value, member: &str, content: Value) -> String {
    json!({"jsonrpc": "2.0", "id": question["id"], member: content}).to_string()
}

#[test]
fn a_handler_asks_and_hears_the_answer() {
    let client = client(json!({"elicitation": {}, "sampling": {}, "roots": {}}));
    let question = client.ask(&call("form"));
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Who are you?");
    let schema = &question["params"]["requestedSchema"]["properties"];
    assert_eq!(*schema, json!({"name": {"type": "string"}}));
    // What belongs to no question changes nothing.
    client.send(r#"{"jsonrpc":"2.0","id":4711,"result":{"action":"cancel"}}"#);
    client.send(r#"{"jsonrpc":"2.0","id":"1","result":{"action":"cancel"}}"#);
    client.send(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#);
    client.is_silent();
    let accepted = json!({"action": "accept", "content": {"name": "Ann"}});
    client.send(&answer(&question, "result", accepted));
    let shown = r#"(Accept, {"name": String("Ann")})"#;
    assert_eq!(client.next(), text(7, shown));
    // The second answer to one question.
    client.send(&answer(&question, "result", json!({"action": "decline"})));
    client.is_silent();

    let question = client.ask(&call("model"));
    assert_eq!(question["method"], "sampling/createMessage");
    assert_eq!(question["params"]["maxTokens"], 9);
    let said =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Ho"}});
    assert_eq!(
        client.ask(&answer(&question, "result", said)),
        text(7, "\"m\"")
    );
    let question = client.ask(&call("folders"));
    assert_eq!(question["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b"}]});
    assert_eq!(
        client.ask(&answer(&question, "result", roots)),
        text(7, r#"["file:///a", "file:///b"]"#)
    );
}

#[test]
fn a_handler_hears_why_there_is_no_answer() {
    let all = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let refused = client(all);
    let question = refused.ask(&call("form"));
    let error = json!({"code": -1, "message": "not now"});
    assert_eq!(
        refused.ask(&answer(&question, "error", error)),
        failed(7, "the client refused: not now")
    );
    let question = refused.ask(&call("form"));
    let strange = refused.ask(&answer(&question, "result", json!({"action": "perhaps"})));
    let why = strange["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        why.contains("makes no sense") && why.contains("perhaps"),
        "{why}"
    );
    assert_eq!(
        refused.ask(&call("quick")),
        failed(7, "a quick handler cannot wait for the client")
    );
    for capabilities in [
        json!({}),
        json!({"elicitation": true}),
        json!([]),
        json!(null),
    ] {
        let silent = client(capabilities);
        for (tool, missing) in [
            ("form", "elicitation"),
            ("model", "sampling"),
            ("folders", "roots"),
        ] {
            let expected = failed(7, &format!("the client has no {missing}"));
            assert_eq!(silent.ask(&call(tool)), expected);
        }
    }
}

#[test]
fn a_form_has_the_schema_of_its_answer() {
    let client = client(json!({"elicitation": {}}));
    let fill = |result: Value| {
        let question = client.ask(&call("typed"));
        let schema = &question["params"]["requestedSchema"];
        let age = json!({"type": "integer", "minimum": 0, "maximum": 255});
        assert_eq!(
            *schema,
            json!({
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": age},
                "required": ["name"],
            })
        );
        client.ask(&answer(&question, "result", result))
    };
    let accepted = json!({"action": "accept", "content": {"name": "Ann", "age": 40.0}});
    let shown = r#"Accepted(Person { name: "Ann", age: Some(40) })"#;
    assert_eq!(fill(accepted), text(7, shown));
    assert_eq!(fill(json!({"action": "decline"})), text(7, "Declined"));
    assert_eq!(fill(json!({"action": "cancel"})), text(7, "Dismissed"));
    let wrong = json!({"action": "accept", "content": {"age": 40}});
    let why = "the client's answer makes no sense: `name` is missing";
    assert_eq!(fill(wrong), failed(7, why));
}

#[test]
fn with_its_call_a_question_is_withdrawn() {
    let client = client(json!({"elicitation": {}}));
    let question = client.ask(&call("form"));
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
    let withdrawn = client.next();
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    client.is_silent();
    // A client that leaves ends what waits for it.
    let question = client.ask(&call("form"));
    assert!(client.connection.close(DEADLINE));
    client.send(&answer(&question, "result", json!({"action": "accept"})));
}
