//! Tools that a provider does not accept as their MCP server describes them: what can be saved is offered, the rest is
//! left out with words, and the session goes on.

use crate::anthropic_and_google::{anthropic, google};
use crate::harness::{Question, openai, tool};
use crate::model_server::{ModelServer, Reply, says};
use crate::output_limits::{CLAUDE, GEMINI};
use gosling::conversation::{Content, Outcome};
use gosling::provider::ToolSpec;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn with_schema(name: &str, schema: &Value) -> ToolSpec {
    ToolSpec {
        input_schema: RawValue::from_string(schema.to_string()).unwrap(),
        ..tool(name)
    }
}

fn odd_tools() -> Vec<ToolSpec> {
    vec![
        with_schema("php", &json!({"type": "object", "properties": []})),
        with_schema(
            "any",
            &json!({"anyOf": [{"properties": {"a": {"type": "array"}}}, {}]}),
        ),
        with_schema(
            "at",
            &json!({"type": ["object"], "properties": {"@id": {}}, "required": null}),
        ),
    ]
}

#[test]
fn odd_schemas_are_offered_as_each_protocol_wants_them() {
    let question = Question {
        tools: odd_tools(),
        ..Question::default()
    };
    let server = ModelServer::new(vec![Reply::stream(says(&["hello"]))]);
    let (answer, sink) = question.ask(&openai(&server.url));
    answer.unwrap();
    assert!(sink.notices.is_empty(), "{:?}", sink.notices);
    let tools = &server.bodies()[0]["tools"];
    for n in 0..3 {
        let schema = &tools[n]["function"]["parameters"];
        assert_eq!(schema["type"], "object", "{schema}");
        assert!(schema["properties"].is_object() && schema.get("anyOf").is_none());
    }
    let items = &tools[1]["function"]["parameters"]["properties"]["a"]["items"];
    assert_eq!(*items, json!({}));
    let server = ModelServer::new(vec![Reply::stream(CLAUDE)]);
    question.ask(&*anthropic(&server)).0.unwrap();
    let schema = &server.bodies()[0]["tools"][2]["input_schema"];
    assert!(schema["properties"].get("@id").is_none(), "{schema}");
    let server = ModelServer::new(vec![Reply::stream(GEMINI)]);
    question.ask(&*google(&server)).0.unwrap();
    let declared = &server.bodies()[0]["tools"][0]["functionDeclarations"][2];
    let properties = declared["parametersJsonSchema"]["properties"]
        .as_object()
        .unwrap();
    let is_plain = |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    assert!(
        properties.len() == 1 && properties.keys().all(is_plain),
        "{declared}"
    );
}

#[test]
fn arguments_get_their_own_names_back() {
    let server = ModelServer::with(|seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        let names = body["tools"][0]["input_schema"]["properties"]
            .as_object()
            .unwrap();
        let name = names.keys().next().unwrap();
        let block = json!({"type": "tool_use", "id": "1", "name": "at", "input": {name: 7}});
        let events = [
            json!({"type": "message_start", "message": {"id": "m"}}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ];
        Reply::stream(events.map(|event| format!("data: {event}\n\n")).concat())
    });
    let question = Question {
        tools: odd_tools().split_off(2),
        ..Question::default()
    };
    let answer = question.ask(&*anthropic(&server)).0.unwrap();
    let Content::ToolRequest(request) = &answer.content[0] else {
        panic!("{answer:?}")
    };
    let Outcome::Success { value } = &request.tool_call else {
        panic!("{request:?}")
    };
    assert_eq!(value.arguments.get(), r#"{"@id":7}"#);
}

/// A server that refuses with these words while `at` says that the request has too much.
fn picky(at: fn(&Value) -> bool, words: &'static str) -> ModelServer {
    ModelServer::with(move |seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        if at(&body) {
            let body = json!({"error": {"message": words, "type": "invalid_request_error"}});
            Reply::json("400 Bad Request", &body.to_string())
        } else {
            Reply::stream(says(&["hello"]))
        }
    })
}

fn has_tool(body: &Value, name: &str) -> bool {
    let tools = body["tools"].as_array();
    tools.is_some_and(|tools| tools.iter().any(|tool| tool["function"]["name"] == name))
}

#[test]
fn a_tool_that_is_refused_by_name_or_place_is_left_out() {
    for words in [
        "Invalid schema for function 'any': schema must be of type object",
        "Invalid 'tools[1].function.parameters': array schema missing items",
        "tools.1.custom.input_schema: JSON schema is invalid",
    ] {
        let server = picky(|body| has_tool(body, "any"), words);
        let provider = openai(&server.url);
        let question = Question {
            tools: odd_tools(),
            ..Question::default()
        };
        let (answer, sink) = question.ask(&provider);
        answer.unwrap();
        assert_eq!(sink.notices.len(), 1, "{:?}", sink.notices);
        let told = &sink.notices[0];
        assert!(
            told.contains("without the tool any") && told.contains(words),
            "{told}"
        );
        assert_eq!(server.bodies()[1]["tools"].as_array().unwrap().len(), 2);
        // It is remembered.
        question.ask(&provider).0.unwrap();
        assert_eq!(server.bodies().len(), 3);
    }
}

#[test]
fn a_model_without_tools_answers_without() {
    for words in [
        "registry.ollama.ai/library/gemma:2b does not support tools",
        "No endpoints found that support tool use.",
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
    ] {
        let server = picky(|body| body.get("tools").is_some(), words);
        let question = Question {
            tools: odd_tools(),
            ..Question::default()
        };
        let (answer, sink) = question.ask(&openai(&server.url));
        answer.unwrap();
        assert!(
            sink.notices[0].contains("without tools"),
            "{:?}",
            sink.notices
        );
    }
}

#[test]
fn more_tools_than_the_model_takes_are_left_out_with_words() {
    let tools = (0..130).map(|n| with_schema(&format!("t{n}"), &json!({})));
    let question = Question {
        tools: tools.collect(),
        ..Question::default()
    };
    let server = ModelServer::new(vec![Reply::stream(says(&["hello"]))]);
    let (answer, sink) = question.ask(&openai(&server.url));
    answer.unwrap();
    assert_eq!(server.bodies()[0]["tools"].as_array().unwrap().len(), 128);
    assert_eq!(sink.notices.len(), 2);
    assert!(
        sink.notices[0].contains("128 tools at most"),
        "{}",
        sink.notices[0]
    );
}
