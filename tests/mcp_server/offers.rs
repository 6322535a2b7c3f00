//! Resources, prompts and pages: SERVER §5.2, §5.3 and §6.

use crate::client::*;
use crate::lab::*;
use gosling::mcp::server::{Contents, Context, Prompt, Resource, Server, Tool};
use gosling::mcp::types::{self, CallToolResult, GetPromptResult, PromptMessage};
use gosling_demo as demo;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn resources_are_read_as_text_as_bytes_and_by_template() {
    let client = Client::ready(demo::server(false), "2025-11-25");
    client.table(&[
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"demo://welcome"}}"#, result(1, json!({"contents": [{"uri": "demo://welcome", "mimeType": "text/plain", "text": "Welcome! This text is a resource of gosling's demo server.\nIf you can read it, your client, the server and everything between them work.\n"}]}))),
        (r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"demo://greeting/J%C3%BCrgen%20B","_meta":{"progressToken":1}}}"#, result(2, json!({"contents": [{"uri": "demo://greeting/J%C3%BCrgen%20B", "mimeType": "text/plain", "text": "Hello, Jürgen B!\n"}]}))),
        (r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"demo://nope"}}"#, json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32002, "message": "Resource not found: demo://nope", "data": {"uri": "demo://nope"}}})),
        (r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{}}"#, error(4, -32602, "Invalid `params` of `resources/read`: missing field `uri`")),
    ]);
    let picture = client.ask(r#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"demo://gosling.png"}}"#);
    let item = &picture["result"]["contents"][0];
    assert_eq!(item["mimeType"], "image/png");
    assert!(
        item["blob"]
            .as_str()
            .is_some_and(|blob| blob.starts_with("iVBORw0KGgo"))
    );
    assert!(item.get("text").is_none());

    Client::ready(lab().server, "2025-11-25").table(&[
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"lab://gone"}}"#, json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "Resource not found: lab://gone", "data": {"uri": "lab://gone"}}})),
        (r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"lab://broken"}}"#, error(2, -32603, "The disk is on fire")),
        (r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"lab://x/y"}}"#, result(3, json!({"contents": [{"uri": "lab://x/y", "mimeType": "text/plain", "text": "{\"a\":\"x\",\"b\":\"y\"}"}]}))),
    ]);
}

#[test]
fn a_prompt_needs_its_required_argument() {
    Client::ready(demo::server(false), "2025-11-25").table(&[
        (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"explain","arguments":{"topic":"tides"}}}"#, result(1, json!({"description": "A request for a short explanation", "messages": [{"role": "user", "content": {"type": "text", "text": "Explain tides in three short sentences, as if to a curious friend."}}]}))),
        (r#"{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"explain"}}"#, error(2, -32602, "The prompt `explain` needs the argument `topic`")),
        (r#"{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"explain","arguments":{"topic":5}}}"#, error(3, -32602, "Invalid `params` of `prompts/get`: `arguments.topic`: invalid type: integer `5`, expected a string")),
        (r#"{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"nope"}}"#, error(4, -32602, "Unknown prompt: nope")),
        (r#"{"jsonrpc":"2.0","id":5,"method":"prompts/list"}"#, result(5, json!({"prompts": [{"name": "explain", "title": "Explain a topic", "description": "Asks for a short explanation.", "arguments": [{"name": "topic", "description": "What to explain", "required": true}]}]}))),
    ]);
}

#[test]
fn lists_come_in_pages_whose_cursors_work_twice_and_everything_listed_works() {
    let client = Client::ready(demo::server(true), "2025-11-25");
    for (method, key) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        let page = |cursor: Value| {
            let params = json!({"cursor": cursor, "_meta": {}});
            client.ask(
                &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string(),
            )
        };
        let mut items = Vec::new();
        let mut sizes = Vec::new();
        let mut cursor = Value::Null;
        loop {
            let answer = page(cursor.clone());
            assert_eq!(answer, page(cursor));
            let part = answer["result"][key].as_array().expect("a list").clone();
            sizes.push(part.len());
            items.extend(part);
            match answer["result"].get("nextCursor") {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
        assert_eq!(sizes, [10, 10, 5], "{method}");
        assert_eq!(page(json!("bogus"))["error"]["code"], -32602, "{method}");
        assert_eq!(page(json!(10))["error"]["code"], -32602, "{method}");
        for item in items {
            works(&client, method, &item);
        }
    }
    let foreign =
        client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)["result"]["nextCursor"]
            .clone();
    let answer = client.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": {"cursor": foreign}}).to_string());
    assert_eq!(
        answer["error"]["code"], -32602,
        "a cursor belongs to one list"
    );
}

/// Checks that an item in a list of the demo server can be called, read or fetched.
fn works(client: &Client, listed_by: &str, item: &Value) {
    let (method, params, part) = match listed_by {
        "tools/list" => {
            assert_eq!(item["inputSchema"]["type"], "object");
            let arguments = json!({"message": "m", "a": 1, "b": 2, "steps": 1, "step_ms": 0});
            (
                "tools/call",
                json!({"name": item["name"], "arguments": arguments}),
                "content",
            )
        }
        "prompts/list" => {
            let mut arguments = serde_json::Map::new();
            for argument in item["arguments"].as_array().into_iter().flatten() {
                let name = argument["name"].as_str().expect("a name");
                arguments.insert(name.to_owned(), json!("something"));
            }
            (
                "prompts/get",
                json!({"name": item["name"], "arguments": arguments}),
                "messages",
            )
        }
        "resources/list" => ("resources/read", json!({"uri": item["uri"]}), "contents"),
        _ => {
            let uri = item["uriTemplate"]
                .as_str()
                .expect("a template")
                .replace("{name}", "Ada");
            ("resources/read", json!({"uri": uri}), "contents")
        }
    };
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string());
    let mut answer = client.next();
    while answer.get("method").is_some() {
        answer = client.next();
    }
    let parts = answer["result"][part].as_array().map(Vec::len);
    assert_eq!(parts, Some(1), "{item} gave {answer}");
}

/// Resources and prompts that change: as many of each as the tool has added.
fn growing() -> Server {
    let count = Arc::new(AtomicUsize::new(0));
    let grown = count.clone();
    let resources = count.clone();
    let prompts = count;
    let grow = Tool::new("grow", "", move |_: IgnoredAny, context: &Context| {
        grown.fetch_add(1, Ordering::SeqCst);
        context.resources_changed();
        Ok(CallToolResult::text("grown"))
    });
    let prompt = |name: &str, text: &'static str| {
        Prompt::new(name, "", move |_: IgnoredAny, _: &Context| {
            Ok(GetPromptResult {
                description: None,
                messages: vec![PromptMessage::user(text)],
            })
        })
    };
    let text = Contents::Text("x".to_owned());
    Server::new("growing", "1")
        .page_size(2)
        .tool(grow)
        .resource(Resource::fixed("g://fixed", "fixed", "text/plain", text))
        .live_resources(move |context| {
            let count = resources.load(Ordering::SeqCst);
            let place = context.meta("place").and_then(|place| place.as_str());
            let resource = |n| types::Resource {
                uri: format!("g://{}/{n}", place.unwrap_or("nowhere")),
                ..types::Resource::default()
            };
            (0..count).map(resource).collect()
        })
        .prompt(prompt("p0", "always"))
        .live_prompts(move |_| {
            let count = prompts.load(Ordering::SeqCst);
            (0..count)
                .map(|n| prompt(&format!("p{n}"), "found"))
                .collect()
        })
}

#[test]
fn what_comes_and_goes_is_listed_anew_each_time() {
    let client = Client::ready(growing(), "2025-11-25");
    let ask = |method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        client.ask(&request.to_string())
    };
    let meta = json!({"place": "here"});
    let list = |kind: &str, key: &str, cursor: Value| {
        let answer = ask(
            &format!("{kind}/list"),
            json!({"_meta": meta, "cursor": cursor}),
        );
        let items = answer["result"][kind].as_array().expect("a list");
        let names: Vec<String> = items
            .iter()
            .map(|item| item[key].as_str().unwrap().to_owned())
            .collect();
        (names, answer["result"]["nextCursor"].clone())
    };
    let got = |name: &str| {
        let answer = ask("prompts/get", json!({"name": name}));
        match answer["result"]["messages"][0]["content"]["text"].as_str() {
            Some(text) => text.to_owned(),
            None => answer["error"]["message"].as_str().unwrap().to_owned(),
        }
    };
    assert_eq!(list("resources", "uri", Value::Null).0, ["g://fixed"]);
    assert_eq!(list("prompts", "name", Value::Null).0, ["p0"]);
    assert_eq!(
        (got("p0"), got("p1")),
        ("always".into(), "Unknown prompt: p1".into())
    );
    for _ in 0..2 {
        client.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"grow"}}"#);
        assert_eq!(
            client.next()["method"],
            "notifications/resources/list_changed"
        );
        assert_eq!(client.next()["result"]["content"][0]["text"], "grown");
    }
    let (uris, next) = list("resources", "uri", Value::Null);
    assert_eq!(uris, ["g://fixed", "g://here/0"]);
    assert_eq!(
        list("resources", "uri", next),
        (vec!["g://here/1".to_owned()], Value::Null)
    );
    assert_eq!(list("prompts", "name", Value::Null).0, ["p0", "p1"]);
    assert_eq!((got("p0"), got("p1")), ("found".into(), "found".into()));
    let bad = ask("resources/list", json!({"cursor": "bogus"}));
    assert_eq!(bad["error"]["code"], -32602);
}
