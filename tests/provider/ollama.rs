//! Ollama's own protocol.

use crate::catalog::{catalog, provider};
use crate::harness::{Question, brief, tool};
use crate::model_server::{ModelServer, Reply};
use gosling::conversation::{Content, Image, Message, Outcome, Reasoning, Role, ToolResponse};
use gosling::provider::{Catalog, ErrorClass, ModelConfig, Provider, StopReason, Usage};
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
    let thought = Content::Reasoning(Reasoning { text: "hm".into() });
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
            Message::new(Role::Assistant, vec![thought, request.unwrap()]),
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
                    {"id": "1", "function": {"name": "e__f", "arguments": {"a": 1}}},
                ], "thinking": "hm"},
                {"role": "tool", "content": "r", "tool_name": "e__f", "tool_call_id": "1"},
            ],
            "tools": [{"type": "function", "function":
                {"name": "e__f", "description": "a tool", "parameters": schema}}],
            "stream": true,
            "truncate": false,
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

fn hi() -> String {
    format!("{{\"message\":{{\"content\":\"hi\"}}}}\n{END}")
}

/// A server that tells this of every model, and runs these.
fn telling(shown: serde_json::Value, running: serde_json::Value) -> ModelServer {
    ModelServer::with(move |seen| match seen.path.as_str() {
        "/api/show" => Reply::json("200 OK", &shown.to_string()),
        "/api/ps" => Reply::json("200 OK", &json!({ "models": running }).to_string()),
        _ => lines(&hi()),
    })
}

fn asked_for(server: &ModelServer, context: u64) -> serde_json::Value {
    let question = Question {
        model: ModelConfig {
            model_name: "m".into(),
            context_limit: Some(context),
            ..ModelConfig::default()
        },
        tools: vec![tool("f")],
        ..Question::default()
    };
    question.ask(&*ollama(&server.url)).0.unwrap();
    server.bodies().pop().unwrap()
}

#[test]
fn the_context_is_what_the_server_or_the_model_has() {
    let size = |size: u64| json!({"qwen.context_length": size, "general.name": "m"});
    let runs = |size: u64| json!([{"model": "m", "context_length": size}]);
    for (shown, running, expected) in [
        (json!({"model_info": size(8_192)}), json!([]), 8_192),
        (json!({"model_info": size(262_144)}), json!([]), 64_000),
        (json!({"model_info": size(262_144)}), runs(16_000), 16_000),
        (json!({"model_info": size(262_144)}), runs(4_096), 64_000),
        (
            json!({"model_info": size(262_144), "parameters": "stop \"x\"\nnum_ctx                 20000"}),
            runs(16_000),
            20_000,
        ),
        (
            json!({"model_info": size(262_144)}),
            json!([{"name": "m:latest", "context_length": 16_000}]),
            16_000,
        ),
        (
            json!({"parameters": "num_ctx 99999999999999"}),
            json!([]),
            64_000,
        ),
        (json!({"model_info": 5, "parameters": []}), json!(7), 64_000),
        (
            json!([]),
            json!([{"model": "m", "context_length": -1}]),
            64_000,
        ),
    ] {
        let server = telling(shown.clone(), running.clone());
        let body = asked_for(&server, 64_000);
        assert_eq!(body["options"]["num_ctx"], expected, "{shown} {running}");
        // The user may want less, or more than is asked for without a setting.
        let less = asked_for(&server, 2_048);
        assert_eq!(less["options"]["num_ctx"], 2_048);
        let more = asked_for(&server, 128_000);
        assert_eq!(more["options"]["num_ctx"], 128_000);
    }
}

#[test]
fn the_context_of_the_user_comes_before_that_of_the_server() {
    let size = json!({"qwen.context_length": 262_144});
    let shown = json!({"model_info": size, "parameters": "num_ctx 8192"});
    for (set, expected) in [("32000", 32_000), ("4000", 4_000), ("", 8_192)] {
        let server = telling(shown.clone(), json!([]));
        let catalog = catalog(&[
            ("OLLAMA_HOST", server.url.as_str()),
            ("GOOSE_CONTEXT_LIMIT", set),
        ]);
        let question = Question {
            model: catalog.model_config("ollama", "m"),
            ..Question::default()
        };
        question
            .ask(&*catalog.provider("ollama").unwrap())
            .0
            .unwrap();
        let body = server.bodies().pop().unwrap();
        assert_eq!(body["options"]["num_ctx"], expected, "{set:?}");
    }
}

#[test]
fn a_model_without_tools_is_asked_without_them() {
    let shown = json!({"capabilities": ["completion", "vision"]});
    let body = asked_for(&telling(shown, json!([])), 64_000);
    assert_eq!(body.get("tools"), None);
    let shown = json!({"capabilities": ["completion", "tools"]});
    let body = asked_for(&telling(shown, json!([])), 64_000);
    assert_eq!(body["tools"][0]["function"]["name"], "f");
}

#[test]
fn details_that_are_not_told_change_nothing_and_are_asked_for_once() {
    let server = ModelServer::with(|seen| match seen.path.as_str() {
        "/api/show" => Reply::json("500 Internal Server Error", "oops"),
        "/api/ps" => Reply::new("200 OK", "x".repeat(9 << 20)),
        _ => lines(&hi()),
    });
    let provider = ollama(&server.url);
    for _ in 0..2 {
        Question::default().ask(&*provider).0.unwrap();
    }
    assert_eq!((server.seen().len(), server.asked_for_details()), (2, 2));
}

#[test]
fn a_server_that_hangs_at_its_details_is_waited_for_once() {
    let server = ModelServer::with(|seen| match seen.path.as_str() {
        "/api/show" => Reply::default().hold(),
        "/api/ps" => Reply::json("200 OK", r#"{"models":[]}"#),
        _ => lines(&hi()),
    });
    let provider = ollama(&server.url);
    Question::default().ask(&*provider).0.unwrap();
    let asked = server.asked_for_details();
    for _ in 0..3 {
        Question::default().ask(&*provider).0.unwrap();
    }
    assert_eq!(
        (server.seen().len(), server.asked_for_details()),
        (4, asked)
    );
}

#[test]
fn a_server_that_does_not_know_truncate_is_asked_without_it() {
    let server = ModelServer::with(|seen| {
        if seen.body.contains("truncate") {
            return Reply::json(
                "400 Bad Request",
                r#"{"error":"unknown field \"truncate\""}"#,
            );
        }
        lines(&hi())
    });
    Question::default().ask(&*ollama(&server.url)).0.unwrap();
    assert_eq!(server.bodies().len(), 2);
}
