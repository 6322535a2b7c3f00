//! Ollama's own protocol.

use crate::catalog::provider;
use crate::harness::{Question, brief, tool};
use crate::model_server::{ModelServer, Reply};
use gosling::conversation::{Content, Image, Message, Outcome, Role, ToolResponse};
use gosling::provider::{ErrorClass, ModelConfig, Provider, StopReason, Usage};
use gosling::sys::cancel::Cancel;
use serde_json::json;
use std::sync::Arc;

pub fn ollama(url: &str) -> Arc<dyn Provider> {
    provider("ollama", &[("OLLAMA_HOST", &format!("{url}/"))])
}

fn lines(body: &str) -> Reply {
    Reply::new("200 OK\r\nContent-Type: application/x-ndjson", body)
}

const END: &str =
    "{\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":7,\"eval_count\":2}\n";

#[test]
fn text_thoughts_and_calls_are_heard_line_by_line() {
    let body = concat!(
        "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"hm\"},\"done\":false}\n",
        "{\"message\":{\"role\":\"assistant\",\"content\":\"a}\"},\"done\":false}\n",
        "{\"message\":{\"role\":\"assistant\",\"content\":\"b\"},\"done\":false}\n",
        "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\": 1e2}}},{\"id\":\"y\",\"function\":{\"name\":\"g\"}}]},\"done\":false}\n",
    );
    let body = format!("{body}{END}");
    for at in (1..body.len()).step_by(37) {
        let (first, second) = body.split_at(at);
        let reply = Reply::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .chunk(first)
            .chunk(second)
            .chunk("");
        let server = ModelServer::new(vec![reply]);
        let (answer, recorded) = Question::default().ask(&*ollama(&server.url));
        assert_eq!(
            recorded.all,
            ["begin -", "reasoning hm", "text a}", "text b"]
        );
        let answer = answer.unwrap();
        let brief = brief(&answer);
        assert_eq!(brief[..2], ["reasoning hm", "text a}b"]);
        assert!(brief[2].starts_with("call f call_"), "{brief:?}");
        assert!(brief[2].ends_with(" {\"x\": 1e2}"), "{brief:?}");
        assert_eq!(brief[3], "call g y {}");
        let usage = Usage {
            input: Some(7),
            output: Some(2),
            ..Usage::default()
        };
        assert_eq!((answer.usage, answer.stop), (usage, StopReason::Complete));
    }
}

#[test]
fn a_question_has_the_shape_of_its_chat() {
    let server = ModelServer::new(vec![lines(END)]);
    let request = serde_json::from_value(json!({"type": "toolRequest", "id": "1", "toolCall":
        {"status": "success", "value": {"name": "e__f", "arguments": {"a": 1}}}}));
    let image = Content::Image(Image {
        data: "AAAA".into(),
        mime_type: "image/png".into(),
        ..Image::default()
    });
    let response = Content::ToolResponse(ToolResponse {
        id: "1".into(),
        tool_result: Outcome::Success {
            value: serde_json::from_value(json!({"content": [{"type": "text", "text": "r"}]}))
                .unwrap(),
        },
        metadata: None,
    });
    let question = Question {
        model: ModelConfig {
            model_name: "qwen".into(),
            context_limit: Some(4096),
            max_tokens: Some(99),
            temperature: Some(0.5),
            request_params: json!({"think": false, "options": {"num_ctx": 8192, "seed": 1}})
                .as_object()
                .cloned(),
            ..ModelConfig::default()
        },
        messages: vec![
            Message::new(Role::User, vec![Content::text("see"), image]),
            Message::new(Role::Assistant, vec![request.unwrap()]),
            Message::new(Role::User, vec![response]),
        ],
        tools: vec![tool("e__f")],
        ..Question::default()
    };
    question.ask(&*ollama(&server.url)).0.unwrap();
    assert_eq!(server.seen()[0].path, "/api/chat");
    let schema = json!({"type": "object", "properties": {}});
    assert_eq!(
        server.bodies()[0],
        json!({
            "model": "qwen",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "see", "images": ["AAAA"]},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"function": {"name": "e__f", "arguments": {"a": 1}}},
                ]},
                {"role": "tool", "content": "r", "tool_name": "e__f"},
            ],
            "tools": [{"type": "function", "function":
                {"name": "e__f", "description": "a tool", "parameters": schema}}],
            "stream": true,
            "options": {"num_predict": 99, "temperature": 0.5, "num_ctx": 8192, "seed": 1},
            "think": false,
        })
    );
}

#[test]
fn its_errors_are_told_wherever_they_come() {
    let server = ModelServer::new(vec![
        Reply::json(
            "404 Not Found",
            r#"{"error":"model \"m\" not found, try pulling it first"}"#,
        ),
        lines(
            "{\"message\":{\"content\":\"a\"}}\n{\"error\":\"an unknown error was encountered\"}\n",
        ),
        lines("{\"message\":{\"content\":\"a\"},\"done\":false}\n"),
        lines("{\"message\":{\"content\":5}}\n"),
    ]);
    let provider = ollama(&server.url);
    for (class, says) in [
        (ErrorClass::Refused, "try pulling it first"),
        (ErrorClass::Server, "an unknown error"),
        (ErrorClass::Transport, "in the middle"),
        (ErrorClass::Protocol, "not a chat message"),
    ] {
        let error = Question::default().ask(&*provider).0.unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(error.message.contains("Ollama"), "{error}");
    }
}

#[test]
fn a_met_limit_is_said_and_models_are_listed() {
    let server = ModelServer::new(vec![
        lines("{\"done\":true,\"done_reason\":\"length\"}"),
        Reply::json(
            "200 OK",
            r#"{"models":[{"name":"a:latest","size":1},{"name":"b"}]}"#,
        ),
    ]);
    let provider = ollama(&server.url);
    let answer = Question::default().ask(&*provider).0.unwrap();
    assert_eq!(answer.stop, StopReason::Length);
    assert_eq!(provider.models(&Cancel::new()).unwrap(), ["a:latest", "b"]);
    assert_eq!(server.seen()[1].path, "/api/tags");
}
