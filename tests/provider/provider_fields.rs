//! The fields that a provider sends with its tool calls go back to it, and not to another provider.

use crate::harness::{Question, openai, tool};
use crate::model_server::{DONE, ModelServer, Reply, delta, finish, says};
use gosling::conversation::{Content, Message, Outcome, Role, ToolRequest, ToolResponse};
use gosling::provider::Provider;
use serde_json::{Value, json};

fn calls(chunks: &[Value]) -> Reply {
    let chunks: String = chunks
        .iter()
        .map(|chunk| delta(&chunk.to_string()))
        .collect();
    Reply::stream(chunks + &finish("tool_calls") + DONE)
}

fn call(index: u64, id: &str, arguments: &str) -> Value {
    let function = json!({"name": "f", "arguments": arguments});
    json!({"index": index, "id": id, "type": "function", "function": function})
}

/// A conversation with this message of the model and a result for each of its calls.
fn answered(content: Vec<Content>) -> Vec<Message> {
    let response = |part: &Content| match part {
        Content::ToolRequest(request) => Some(Content::ToolResponse(ToolResponse {
            id: request.id.clone(),
            tool_result: Outcome::Error {
                error: "no".to_owned(),
            },
            metadata: None,
        })),
        _ => None,
    };
    let responses = content.iter().filter_map(response).collect();
    let message = Message::new(Role::Assistant, content);
    // Stored and loaded, as after a restart.
    let stored = serde_json::to_string(&message).unwrap();
    vec![
        Message::text(Role::User, "hello"),
        serde_json::from_str(&stored).unwrap(),
        Message::new(Role::User, responses),
    ]
}

/// Sends a request to `provider`, and then one to `next` with the response in the conversation.
fn ask_twice(model: &str, provider: &dyn Provider, next: &dyn Provider, next_model: &str) {
    let mut question = Question {
        tools: vec![tool("f")],
        ..Question::default()
    };
    question.model.model_name = model.to_owned();
    let answer = question.ask(provider).0.unwrap();
    question.messages = answered(answer.content);
    question.model.model_name = next_model.to_owned();
    question.ask(next).0.unwrap();
}

/// The model's message in the last request.
fn sent_back(server: &ModelServer) -> Value {
    let body = server.bodies().pop().unwrap();
    let messages = body["messages"].as_array().unwrap();
    let mut messages = messages.iter().filter(|m| m["role"] == "assistant");
    messages.next().unwrap().clone()
}

fn signature() -> Value {
    json!({"google": {"thought_signature": "AY89a18=", "later": [1, {"x": null}]}})
}

fn gemini() -> Reply {
    let mut first = call(0, "c1", "{}");
    first["extra_content"] = signature();
    let second = call(1, "c2", "{}");
    calls(&[
        json!({"tool_calls": [first]}),
        json!({"tool_calls": [second]}),
    ])
}

#[test]
fn a_signature_of_a_call_goes_back_as_it_came() {
    let server = ModelServer::new(vec![gemini(), Reply::stream(says(&["done"]))]);
    let provider = openai(&server.url);
    ask_twice("m", &provider, &provider, "m");
    let back = sent_back(&server);
    assert_eq!(back["tool_calls"][0]["extra_content"], signature());
    assert!(
        back["tool_calls"][1].get("extra_content").is_none(),
        "{back}"
    );
}

#[test]
fn reasoning_goes_back_as_it_came_whether_streamed_or_whole() {
    let text =
        |text: &str| json!({"type": "reasoning.text", "text": text, "format": "f", "index": 0});
    let signed = json!({"type": "reasoning.text", "signature": "s", "format": "f", "index": 0});
    let secret =
        json!({"type": "reasoning.encrypted", "data": "d", "id": "r1", "format": null, "index": 1});
    let chunks = [
        json!({"reasoning": "Let", "reasoning_details": [text("Let")]}),
        json!({"reasoning": " me", "reasoning_details": [text(" me")]}),
        json!({"reasoning_details": [signed, secret]}),
        json!({"tool_calls": [call(0, "c1", "{}")]}),
    ];
    let details = json!([
        {"type": "reasoning.text", "text": "Let me", "format": "f", "index": 0, "signature": "s"},
        secret,
    ]);
    let message = json!({"role": "assistant", "content": null, "reasoning_details": details,
        "tool_calls": [call(0, "c1", "{}")]});
    let whole =
        json!({"id": "c", "choices": [{"message": message, "finish_reason": "tool_calls"}]});
    let whole = Reply::json("200 OK", &whole.to_string());
    for reply in [calls(&chunks), whole] {
        let server = ModelServer::new(vec![reply, Reply::stream(says(&["done"]))]);
        let provider = openai(&server.url);
        ask_twice("m", &provider, &provider, "m");
        assert_eq!(sent_back(&server)["reasoning_details"], details);
    }
}

#[test]
fn another_server_or_model_does_not_see_it() {
    let first = ModelServer::new(vec![gemini(), gemini(), Reply::stream(says(&["done"]))]);
    let second = ModelServer::new(vec![Reply::stream(says(&["done"]))]);
    let (one, other) = (openai(&first.url), openai(&second.url));
    ask_twice("m", &one, &other, "m");
    ask_twice("m", &one, &one, "n");
    for server in [&first, &second] {
        let back = sent_back(server);
        assert_eq!(back["tool_calls"].as_array().unwrap().len(), 2);
        for key in ["AY89a18=", "extra_content", "origin"] {
            assert!(!back.to_string().contains(key), "{back}");
        }
    }
}

#[test]
fn a_call_that_cannot_be_read_keeps_its_signature() {
    let mut broken = call(0, "c1", "{\"a\":");
    broken["extra_content"] = signature();
    let reply = calls(&[json!({"tool_calls": [broken]})]);
    let server = ModelServer::new(vec![reply, Reply::stream(says(&["done"]))]);
    let provider = openai(&server.url);
    ask_twice("m", &provider, &provider, "m");
    let back = &sent_back(&server)["tool_calls"][0];
    assert_eq!(back["extra_content"], signature());
    assert_eq!(back["function"], json!({"name": "f", "arguments": "{}"}));
}

#[test]
fn mistral_gets_ids_of_nine_characters_and_no_user_behind_a_tool() {
    let request = |id: &str| {
        Content::ToolRequest(ToolRequest {
            id: id.to_owned(),
            tool_call: Outcome::Error {
                error: "no".to_owned(),
            },
            metadata: None,
            meta: None,
        })
    };
    let mut messages = answered(vec![request("toolu_01A09q90"), request("D681PevKs")]);
    messages.push(Message::text(Role::User, "and now?"));
    let roles = |model: &str| {
        let server = ModelServer::new(vec![Reply::stream(says(&["done"]))]);
        let mut question = Question {
            messages: messages.clone(),
            ..Question::default()
        };
        question.model.model_name = model.to_owned();
        question.ask(&openai(&server.url)).0.unwrap();
        let sent = server.bodies()[0]["messages"].clone();
        let list = sent.as_array().unwrap().clone();
        let roles: Vec<String> = list
            .iter()
            .map(|m| m["role"].as_str().unwrap().to_owned())
            .collect();
        (roles.join(" "), list)
    };
    let (plain, _) = roles("m");
    assert_eq!(plain, "system user assistant tool tool user");
    let (bridged, sent) = roles("mistral-medium-latest");
    assert_eq!(bridged, "system user assistant tool tool assistant user");
    let id = sent[2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(
        id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
        "{id}"
    );
    assert_eq!(sent[3]["tool_call_id"], id);
    assert_eq!(sent[2]["tool_calls"][1]["id"], "D681PevKs");
    assert_eq!(sent[4]["tool_call_id"], "D681PevKs");
}
