//! A call whose arguments had not begun when the response reached its limit is an error in every protocol.

use crate::anthropic_and_google::{anthropic, google};
use crate::harness::{Question, brief, openai, tool};
use crate::model_server::{DONE, ModelServer, Reply, delta, finish};
use crate::ollama::ollama;
use gosling::provider::{Provider, StopReason};
use std::sync::Arc;

/// A response that ends with a call of `f` without arguments, in each protocol; with `length` it was cut off.
fn replies(length: bool) -> [Reply; 4] {
    let reason = |cut: &'static str, whole: &'static str| if length { cut } else { whole };
    let openai = delta(
        r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}"#,
    ) + &finish(reason("length", "tool_calls"))
        + DONE;
    let claude = [
        r#"{"type":"message_start","message":{"id":"m1"}}"#.to_owned(),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"f","input":{}}}"#.to_owned(),
        r#"{"type":"content_block_stop","index":0}"#.to_owned(),
        format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{}"}}}}"#,
            reason("max_tokens", "tool_use")
        ),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    let claude = claude.map(|event| format!("data: {event}\n\n")).concat();
    let gemini = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"name\":\"f\"}}}}]}},\"finishReason\":\"{}\"}}]}}\r\n\r\n",
        reason("MAX_TOKENS", "STOP")
    );
    let ollama = format!(
        "{}\n{{\"done\":true,\"done_reason\":\"{}\"}}\n",
        r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}"#,
        reason("length", "stop")
    );
    [
        Reply::stream(openai),
        Reply::stream(claude),
        Reply::stream(gemini),
        Reply::new("200 OK\r\nContent-Type: application/x-ndjson", ollama),
    ]
}

fn answers(length: bool) -> [(StopReason, Vec<String>); 4] {
    let [first, second, third, fourth] = replies(length).map(|reply| ModelServer::new(vec![reply]));
    let providers: [Arc<dyn Provider>; 4] = [
        Arc::new(openai(&first.url)),
        anthropic(&second),
        google(&third),
        ollama(&fourth.url),
    ];
    let question = Question {
        tools: vec![tool("f")],
        ..Question::default()
    };
    providers.map(|provider| {
        let answer = question.ask(&*provider).0.unwrap();
        (answer.stop, brief(&answer))
    })
}

#[test]
fn a_call_that_was_cut_off_before_its_arguments_is_an_error() {
    for (stop, content) in answers(true) {
        assert_eq!(stop, StopReason::Length);
        assert_eq!(content.len(), 1);
        let call = &content[0];
        assert!(call.starts_with("bad call"), "{call}");
        assert!(call.contains("cut off before its arguments"), "{call}");
    }
}

#[test]
fn a_call_without_arguments_in_a_complete_answer_is_made() {
    for (stop, content) in answers(false) {
        assert_eq!(stop, StopReason::Complete);
        let call = &content[0];
        assert!(
            call.starts_with("call f ") && call.ends_with(" {}"),
            "{call}"
        );
    }
}
