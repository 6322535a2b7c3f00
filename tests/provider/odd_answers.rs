//! Answers that servers really send although no document describes them: none is lost, and an error keeps the
//! server's words.

use crate::anthropic_and_google::{anthropic, google};
use crate::harness::{Question, brief, openai, tool};
use crate::model_server::{DONE, ModelServer, Reply, delta, finish};
use crate::ollama::ollama;
use gosling::provider::{Completion, Error, ErrorClass, Provider};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Api {
    OpenAi,
    Anthropic,
    Google,
    Ollama,
}

/// What the provider of this API makes of the body, and of each further one.
fn ask(api: Api, bodies: &[String]) -> (Result<Completion, Error>, usize) {
    let server = ModelServer::new(bodies.iter().map(Reply::stream).collect());
    let provider: Arc<dyn Provider> = match api {
        Api::OpenAi => Arc::new(openai(&server.url)),
        Api::Anthropic => anthropic(&server),
        Api::Google => google(&server),
        Api::Ollama => ollama(&server.url),
    };
    let question = Question {
        tools: vec![tool("f")],
        ..Question::default()
    };
    let answer = question.ask(&*provider).0;
    (answer, server.seen().len())
}

fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

fn call(arguments: &str) -> String {
    let call = format!(
        r#"{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"f","arguments":{arguments}}}}}]}}"#
    );
    delta(&call) + &finish("tool_calls") + DONE
}

fn tool_use(id: &str, input: &str) -> String {
    [
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1.0}}}"#,
        &format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":{id},"name":"f","input":{input}}}}}"#
        ),
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":"2"}}"#,
        "[DONE]",
    ]
    .map(event)
    .concat()
}

fn function_call(id: &str, arguments: &str) -> String {
    event(&format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"id":{id},"name":"f","args":{arguments}}}}}]}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":1.0,"totalTokenCount":-2}}}}"#
    ))
}

fn ollama_call(id: &str, arguments: &str) -> String {
    format!(
        r#"{{"message":{{"tool_calls":[{{"id":{id},"function":{{"name":"f","arguments":{arguments}}}}}]}},"done":true,"eval_count":1.5}}"#
    )
}

#[test]
fn answers_arrive_in_whatever_shape() {
    let twice = r#""\"{\\\"a\\\":1}\"""#;
    let once = r#""{\"a\":1}""#;
    let made = "call f c {\"a\":1}";
    let rows = [
        (Api::OpenAi, call(twice), made),
        (Api::OpenAi, call(r#"{"a":1}"#), made),
        (Api::OpenAi, call("null"), "call f c {}"),
        (Api::OpenAi, call(r#""""#), "call f c {}"),
        (
            Api::OpenAi,
            call(r#""{\"a\":\"x\n\ty\"}""#),
            r#"call f c {"a":"x\u000a\u0009y"}"#,
        ),
        (
            Api::OpenAi,
            call(once).replace(r#""id":"c""#, r#""id":7"#),
            "call f 7 {\"a\":1}",
        ),
        (
            Api::OpenAi,
            event(
                r#"{"choices":[{"index":0,"message":{"content":"","role":"assistant"},"finish_reason":"tool_calls"},{"index":1,"message":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}"#,
            ),
            made,
        ),
        (
            Api::OpenAi,
            delta(r#"{"content":"hi"}"#)
                + &finish("stop")
                + &event(
                    r#"{"choices":[],"usage":{"prompt_tokens":1.0,"completion_tokens":-1,"total_tokens":"x"}}"#,
                ),
            "text hi",
        ),
        (
            Api::OpenAi,
            r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#.to_owned(),
            "text hi",
        ),
        (Api::Anthropic, tool_use(r#""c""#, r#"{"a":1}"#), made),
        (Api::Anthropic, tool_use("7", once), "call f 7 {\"a\":1}"),
        (Api::Anthropic, tool_use(r#""c""#, "null"), "call f c {}"),
        (Api::Google, function_call(r#""c""#, r#"{"a":1}"#), made),
        (Api::Google, function_call("7", once), "call f 7 {\"a\":1}"),
        (Api::Google, function_call(r#""c""#, "null"), "call f c {}"),
        (
            Api::Google,
            r#"[{"candidates":[{"content":{"parts":[{"text":"h"}]}}]},
               {"candidates":[{"content":{"parts":[{"text":"i"}]},"finishReason":"STOP"}]}]"#
                .to_owned(),
            "text hi",
        ),
        (
            Api::Google,
            r#"{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}"#
                .to_owned(),
            "text hi",
        ),
        (Api::Ollama, ollama_call(r#""c""#, once), made),
        (Api::Ollama, ollama_call("7", twice), "call f 7 {\"a\":1}"),
        (
            Api::Ollama,
            event(r#"{"message":{"content":"hi"}}"#) + &event(r#"{"done":true}"#) + DONE,
            "text hi",
        ),
    ];
    for (api, body, expected) in rows {
        let (answer, _) = ask(api, std::slice::from_ref(&body));
        let answer = answer.unwrap_or_else(|error| panic!("{api:?} {body}: {error}"));
        assert_eq!(brief(&answer), [expected], "{api:?} {body}");
    }
}

#[test]
fn errors_in_an_answer_keep_their_words() {
    let begun = delta(r#"{"content":"hi"}"#);
    let failed = r#"{"message":"the worker is gone","code":502}"#;
    let server = ErrorClass::Server;
    let full = "model_context_window_exceeded";
    let rows = [
        (
            Api::OpenAi,
            begun.clone() + &event(&format!(r#"{{"choices":[{{"error":{failed}}}]}}"#)),
            server,
            "the worker is gone",
        ),
        (
            Api::OpenAi,
            begun.clone() + &finish("error") + DONE,
            server,
            "error",
        ),
        (
            Api::OpenAi,
            begun.clone()
                + &event(
                    r#"{"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"network_error"}]}"#,
                ),
            server,
            "network_error",
        ),
        (
            Api::OpenAi,
            begun.clone() + &format!("error: {failed}\n\n"),
            server,
            "the worker is gone",
        ),
        (
            Api::OpenAi,
            begun + &format!("event: error\ndata: {failed}\n\n"),
            server,
            "the worker is gone",
        ),
        (
            Api::OpenAi,
            finish(full) + DONE,
            ErrorClass::ContextExceeded,
            full,
        ),
        (
            Api::Anthropic,
            event(&format!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"{full}"}}}}"#
            )),
            ErrorClass::ContextExceeded,
            full,
        ),
        (
            Api::Anthropic,
            event(
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            ErrorClass::ContextExceeded,
            "Request exceeds the maximum size",
        ),
        (
            Api::Anthropic,
            r#"error: {"type":"invalid_request_error","message":"not like this"}"#.to_owned()
                + "\n\n",
            ErrorClass::Refused,
            "not like this",
        ),
    ];
    for (api, body, class, words) in rows {
        let error = ask(api, std::slice::from_ref(&body)).0.unwrap_err();
        assert_eq!(error.class, class, "{api:?} {body}: {error}");
        assert!(error.message.contains(words), "{api:?} {body}: {error}");
    }
}

#[test]
fn an_empty_answer_is_asked_for_again() {
    let empty = event(r#"{"candidates":[{"finishReason":"STOP"}]}"#);
    let hi = empty.replace(
        "{\"finish",
        r#"{"content":{"parts":[{"text":"hi"}]},"finish"#,
    );
    let (answer, requests) = ask(Api::Google, &[empty.clone(), empty.clone(), hi]);
    assert_eq!(
        (brief(&answer.unwrap()), requests),
        (vec!["text hi".to_owned()], 3)
    );
    let (answer, requests) = ask(Api::Google, &[empty.clone(), empty.clone(), empty]);
    assert_eq!((brief(&answer.unwrap()).len(), requests), (0, 3));
    let blank = delta(r#"{"content":"\n "}"#) + &finish("stop") + DONE;
    let text = delta(r#"{"content":"hi"}"#) + &finish("stop") + DONE;
    let (answer, requests) = ask(Api::OpenAi, &[blank, text]);
    assert_eq!(
        (brief(&answer.unwrap()), requests),
        (vec!["text hi".to_owned()], 2)
    );
}
