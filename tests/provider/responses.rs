//! OpenAI's Responses over the wire: a conversation with calls and reasoning, how a response ends, and which of
//! OpenAI's two protocols a model gets.

use crate::harness::{Question, brief, openai, tool, with};
use crate::http_peer::ReceivedRequest;
use crate::model_server::{ModelServer, Reply, event, says};
use gosling::conversation::{Content, Message, Outcome, Role, ToolResponse};
use gosling::provider::{Error, ErrorClass, StopReason};
use gosling::providers::{Endpoint, HttpProvider, UseResponses};
use serde_json::{Value, json};
use std::time::Duration;

const MODEL: &str = "gpt-5.5";

/// A server like OpenAI's own, where the name of a model says which protocol it needs.
fn vendor(server: &ModelServer) -> HttpProvider {
    let by_model = |endpoint: &mut Endpoint| {
        endpoint.responses = UseResponses::ByModel;
    };
    with(&server.url, by_model, Duration::from_secs(20))
}

fn question(model: &str) -> Question {
    let mut question = Question {
        tools: vec![tool("f")],
        ..Question::default()
    };
    question.model.model_name = model.to_owned();
    question
}

fn events(events: &[Value]) -> Reply {
    let events: String = events.iter().map(|it| event(&it.to_string())).collect();
    Reply::stream(events)
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn reasoning() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA=",
        "summary": [{"type": "summary_text", "text": "Hm."}]})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "f",
        "arguments": "{\"a\":1}"})
}

fn response(status: &str, output: &[Value]) -> Value {
    json!({"id": "resp_1", "object": "response", "status": status, "output": output,
        "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 13}})
}

/// A stream with these items of output.
fn stream(output: &[Value]) -> Reply {
    let mut all = vec![json!({"type": "response.created", "response": {"id": "resp_1"}})];
    for (index, item) in output.iter().enumerate() {
        all.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    all.push(json!({"type": "response.completed", "response": response("completed", output)}));
    events(&all)
}

fn refuses(status: &str, words: &str) -> Reply {
    let error = json!({"error": {"message": words, "type": "invalid_request_error"}});
    Reply::json(status, &error.to_string())
}

fn is_responses(seen: &ReceivedRequest) -> bool {
    seen.path.ends_with("/responses")
}

/// The conversation after this message of the model, whose calls have these parts as their results. It was
/// stored and loaded, as after a restart.
fn answered(content: Vec<Content>, result: &Value) -> Vec<Message> {
    let result = |part: &Content| match part {
        Content::ToolRequest(request) => Some(Content::ToolResponse(ToolResponse {
            id: request.id.clone(),
            tool_result: Outcome::Success {
                value: serde_json::from_value(json!({"content": result})).unwrap(),
            },
            metadata: None,
        })),
        _ => None,
    };
    let results = content.iter().filter_map(result).collect();
    let answer = serde_json::to_string(&Message::new(Role::Assistant, content)).unwrap();
    vec![
        Message::text(Role::User, "hello"),
        serde_json::from_str(&answer).unwrap(),
        Message::new(Role::User, results),
    ]
}

/// The input of the request after an answer with these items, which goes to `next`.
fn second_input(output: &[Value], result: &Value, next: &str) -> Value {
    let server = ModelServer::new(vec![stream(output), stream(&[message("done")])]);
    let provider = vendor(&server);
    let answer = question(MODEL).ask(&provider).0.unwrap();
    let mut second = question(next);
    second.messages = answered(answer.content, result);
    second.ask(&provider).0.unwrap();
    server.bodies()[1]["input"].clone()
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn hello() -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]})
}

fn function_call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{\"a\":1}"})
}

#[test]
fn a_conversation_with_a_call_goes_over_responses() {
    let output = [reasoning(), message("Let me see."), call("call_1")];
    let server = ModelServer::new(vec![stream(&output), stream(&[message("done")])]);
    let provider = vendor(&server);
    let (answer, recorded) = question(MODEL).ask(&provider);
    let answer = answer.unwrap();
    assert_eq!(
        recorded.all,
        ["begin resp_1", "reasoning Hm.", "text Let me see."]
    );
    assert_eq!(
        brief(&answer)[1..],
        ["text Let me see.", "call f call_1 {\"a\":1}"]
    );
    let usage = answer.usage;
    assert_eq!(
        (usage.input, usage.output, usage.total),
        (Some(10), Some(3), Some(13))
    );
    assert_eq!((usage.cached, usage.reasoning), (Some(4), Some(2)));

    let mut second = question(MODEL);
    second.messages = answered(answer.content, &text("ok"));
    let (answer, _) = second.ask(&provider);
    assert_eq!(brief(&answer.unwrap()), ["text done"]);
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.path == "/v1/responses")
    );
    let bodies = server.bodies();
    let schema = json!({"type": "object", "properties": {}});
    let mut expected = json!({
        "model": MODEL,
        "instructions": "be brief",
        "input": [hello()],
        "tools": [{"type": "function", "name": "f", "description": "a tool", "parameters": schema,
            "strict": false}],
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"},
    });
    assert_eq!(bodies[0], expected);
    expected["input"] = json!([
        hello(),
        reasoning(),
        {"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me see."}]},
        function_call("call_1"),
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
    ]);
    assert_eq!(bodies[1], expected);
}

#[test]
fn reasoning_goes_back_to_its_model_alone_and_never_without_what_follows_it() {
    let input = second_input(&[reasoning(), call("c")], &text("ok"), "gpt-5.6");
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "ok"});
    assert_eq!(input, json!([hello(), function_call("c"), output]));
    let mut last = reasoning();
    last["id"] = json!("rs_2");
    let input = second_input(&[reasoning(), call("c"), last], &text("ok"), MODEL);
    assert_eq!(
        input,
        json!([hello(), reasoning(), function_call("c"), output])
    );
}

#[test]
fn reasoning_that_the_server_cannot_read_any_more_is_left_out() {
    for (status, words) in [
        (
            "400 Bad Request",
            "The encrypted content for item rs_1 could not be verified.",
        ),
        (
            "404 Not Found",
            "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        ),
    ] {
        let server = ModelServer::with(move |seen| {
            if seen.body.contains("gAAA=") {
                refuses(status, words)
            } else {
                stream(&[reasoning(), call("c")])
            }
        });
        let provider = vendor(&server);
        let answer = question(MODEL).ask(&provider).0.unwrap();
        let mut second = question(MODEL);
        second.messages = answered(answer.content, &text("ok"));
        second.ask(&provider).0.unwrap();
        assert_eq!(server.seen().len(), 3);
        // Another conversation keeps its own.
        second.ask(&provider).0.unwrap();
        assert_eq!(server.seen().len(), 5);
    }
}

#[test]
fn an_image_in_a_result_stays_in_the_result() {
    let result = json!([{"type": "text", "text": "a cat"},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}]);
    let input = second_input(&[call("c")], &result, MODEL);
    assert_eq!(
        input[2],
        json!({"type": "function_call_output", "call_id": "c", "output": [
            {"type": "input_text", "text": "a cat"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
        ]})
    );
}

fn ends_with(last: &Value) -> Result<(Vec<String>, StopReason), Error> {
    let last = last.clone();
    let server = ModelServer::with(move |_| {
        events(&[
            json!({"type": "response.created", "response": {"id": "resp_1"}}),
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Once"}),
            last.clone(),
        ])
    });
    let (answer, _) = question(MODEL).ask(&vendor(&server));
    answer.map(|answer| (brief(&answer), answer.stop))
}

#[test]
fn a_response_may_be_incomplete() {
    for (reason, stop) in [
        ("max_output_tokens", StopReason::Length),
        ("content_filter", StopReason::Filtered),
    ] {
        let mut response = response("incomplete", &[message("Once")]);
        response["incomplete_details"] = json!({"reason": reason});
        let last = json!({"type": "response.incomplete", "response": response});
        let answer = ends_with(&last).unwrap();
        assert_eq!(answer, (vec!["text Once".to_owned()], stop));
    }
}

#[test]
fn a_response_may_fail() {
    let failed = |code: &str, message: &str| {
        let mut response = response("failed", &[]);
        response["error"] = json!({"code": code, "message": message});
        json!({"type": "response.failed", "response": response})
    };
    let error =
        |code: &str, message: &str| json!({"type": "error", "code": code, "message": message});
    for (last, class) in [
        (failed("server_error", "oh"), ErrorClass::Server),
        (
            failed("rate_limit_exceeded", "try again in 1s"),
            ErrorClass::RateLimit {
                after: Some(Duration::from_secs(1)),
            },
        ),
        (
            failed(
                "context_length_exceeded",
                "Your input exceeds the context window",
            ),
            ErrorClass::ContextExceeded,
        ),
        (failed("invalid_prompt", "no"), ErrorClass::Refused),
        (error("insufficient_quota", "pay"), ErrorClass::Credits),
        (error("server_error", "oh"), ErrorClass::Server),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}),
            ErrorClass::Refused,
        ),
    ] {
        assert_eq!(ends_with(&last).unwrap_err().class, class, "{last}");
    }
    let broken = json!({"type": "response.in_progress", "response": {}});
    assert_eq!(ends_with(&broken).unwrap_err().class, ErrorClass::Transport);
}

#[test]
fn a_refusal_is_text() {
    let server = ModelServer::new(vec![events(&[
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I can"}),
        json!({"type": "response.refusal.delta", "output_index": 0, "delta": "not."}),
        json!({"type": "response.completed", "response": response("completed", &[])}),
    ])]);
    let (answer, recorded) = question(MODEL).ask(&vendor(&server));
    assert_eq!(brief(&answer.unwrap()), ["text I cannot."]);
    assert_eq!(recorded.text(), "I cannot.");
}

#[test]
fn a_model_that_needs_responses_gets_it_from_then_on() {
    for words in [
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
        "This model is not supported with the chat completions API",
        "Function tools with reasoning_effort are not supported for gpt-6.1-sol in /v1/chat/completions.",
        "Please use the Responses API for this model",
    ] {
        for status in ["400 Bad Request", "404 Not Found"] {
            let server = ModelServer::with(move |seen| {
                if is_responses(seen) {
                    stream(&[message("hi")])
                } else {
                    refuses(status, words)
                }
            });
            let provider = openai(&server.url);
            for requests in [2, 3] {
                let (answer, _) = question("brand-new").ask(&provider);
                assert_eq!(brief(&answer.unwrap()), ["text hi"], "{words}");
                assert_eq!(server.seen().len(), requests);
            }
            question("another").ask(&provider).0.unwrap();
            assert_eq!(server.seen().len(), 5, "each model is asked by itself");
        }
    }
}

#[test]
fn a_server_without_responses_gets_chat_completions_from_then_on() {
    for (status, words) in [
        ("404 Not Found", "Not Found"),
        ("404 Not Found", "Unknown request URL: POST /v1/responses."),
        (
            "400 Bad Request",
            "Unrecognized request URL (POST: /v1/responses)",
        ),
        ("405 Method Not Allowed", ""),
    ] {
        let server = ModelServer::with(move |seen| {
            if is_responses(seen) {
                refuses(status, words)
            } else {
                Reply::stream(says(&["hi"]))
            }
        });
        let provider = vendor(&server);
        for requests in [2, 3] {
            let (answer, _) = question(MODEL).ask(&provider);
            assert_eq!(brief(&answer.unwrap()), ["text hi"], "{status} {words}");
            assert_eq!(server.seen().len(), requests);
        }
    }
}

#[test]
fn a_model_that_does_not_exist_is_no_reason_to_switch_and_no_server_is_asked_in_a_circle() {
    let words = "The model `gpt-5.5` does not exist or you do not have access to it.";
    let server = ModelServer::with(move |_| refuses("404 Not Found", words));
    let error = question(MODEL).ask(&vendor(&server)).0.unwrap_err();
    assert_eq!((error.class, server.seen().len()), (ErrorClass::Refused, 1));
    let server = ModelServer::with(|seen| {
        if is_responses(seen) {
            refuses("404 Not Found", "Not Found")
        } else {
            refuses("400 Bad Request", "use the responses endpoint")
        }
    });
    question("m").ask(&openai(&server.url)).0.unwrap_err();
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn an_organization_that_may_not_stream_gets_whole_answers() {
    let words = "Your organization must be verified to stream this model. Please go to: https://x";
    let whole =
        json!({"id": "c", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]});
    let server = ModelServer::with(move |seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        match (body.get("stream"), is_responses(seen)) {
            (Some(_), true) => refuses("400 Bad Request", words),
            (Some(_), false) => refuses("403 Forbidden", words),
            (None, _) if body.get("stream_options").is_some() => {
                refuses("400 Bad Request", "stream_options without stream")
            }
            (None, true) => {
                let response = response("completed", &[reasoning(), message("hi")]);
                Reply::json("200 OK", &response.to_string())
            }
            (None, false) => Reply::json("200 OK", &whole.to_string()),
        }
    });
    let provider = vendor(&server);
    for (model, requests) in [(MODEL, 2), (MODEL, 3), ("o3", 5), ("o3", 6)] {
        let (answer, recorded) = question(model).ask(&provider);
        assert_eq!(brief(&answer.unwrap()).last().unwrap(), "text hi");
        assert_eq!(recorded.text(), "hi");
        assert_eq!(server.seen().len(), requests);
    }
}

#[test]
fn a_summary_of_reasoning_that_is_refused_is_left_out() {
    for (status, words) in [
        (
            "400 Bad Request",
            "Your organization must be verified to generate reasoning summaries.",
        ),
        (
            "403 Forbidden",
            "Your organization must be verified to stream reasoning summaries.",
        ),
        (
            "400 Bad Request",
            "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
        ),
    ] {
        let server = ModelServer::with(move |seen| {
            if seen.body.contains("\"summary\"") {
                refuses(status, words)
            } else {
                stream(&[message("hi")])
            }
        });
        question(MODEL).ask(&vendor(&server)).0.unwrap();
        assert_eq!(server.seen().len(), 2);
        assert!(server.bodies()[1].get("reasoning").is_none());
    }
}

#[cfg(feature = "ollama")]
#[test]
fn a_path_of_responses_means_responses_always() {
    let server = ModelServer::with(|_| stream(&[message("hi")]));
    let variables = [
        ("OPENAI_HOST", server.url.as_str()),
        ("OPENAI_BASE_PATH", "api/v1/responses"),
    ];
    let provider = crate::catalog::provider("openai", &variables);
    let (answer, _) = question("local").ask(&*provider);
    assert_eq!(brief(&answer.unwrap()), ["text hi"]);
    assert_eq!(server.seen()[0].path, "/api/v1/responses");
    assert!(server.bodies()[0].get("include").is_none());
}

#[cfg(feature = "ollama")]
#[test]
fn azure_has_the_deployment_in_the_path_or_in_the_body() {
    let asks = |endpoint: &str, version: &str, model: &str| {
        let server = ModelServer::with(|seen| {
            if seen.path.contains("/responses") {
                stream(&[message("hi")])
            } else if seen.body.contains("needs-other") {
                refuses(
                    "400 Bad Request",
                    "The chatCompletion operation does not work with the specified model",
                )
            } else {
                Reply::stream(says(&["hi"]))
            }
        });
        let endpoint = format!("{}{endpoint}", server.url);
        let variables = [
            ("AZURE_OPENAI_ENDPOINT", endpoint.as_str()),
            ("AZURE_OPENAI_DEPLOYMENT_NAME", "needs-other"),
            ("AZURE_OPENAI_API_VERSION", version),
            ("AZURE_OPENAI_API_KEY", "k"),
        ];
        let provider = crate::catalog::provider("azure_openai", &variables);
        question(model).ask(&*provider).0.unwrap();
        let seen = server.seen().pop().unwrap();
        (seen.path, server.bodies().pop().unwrap()["model"].clone())
    };
    let old = "/openai/deployments/needs-other/chat/completions?api-version=2024-10-21";
    assert_eq!(
        asks("", "2024-10-21", "gpt-4o"),
        (old.to_owned(), json!("gpt-4o"))
    );
    let deployment = json!("needs-other");
    for (endpoint, version, path) in [
        (
            "",
            "2024-10-21",
            "/openai/responses?api-version=2025-04-01-preview",
        ),
        ("", "preview", "/openai/v1/responses?api-version=preview"),
        ("", "v1", "/openai/v1/responses"),
        ("/openai/v1/", "2024-10-21", "/openai/v1/responses"),
    ] {
        let asked = asks(endpoint, version, "needs-other");
        assert_eq!(asked, (path.to_owned(), deployment.clone()));
    }
}
