//! Answers that servers really send although no document describes them: none is lost, and an error keeps the
//! server's words.

use crate::anthropic_and_google::{anthropic, google};
use crate::harness::{Question, brief, openai, tool, with};
use crate::model_server::{DONE, ModelServer, Reply, delta, finish};
use crate::ollama::ollama;
use gosling::provider::{Completion, Error, ErrorClass, Provider};
use gosling::providers::{Endpoint, UseResponses};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Api {
    OpenAi,
    Responses,
    Anthropic,
    Google,
    Ollama,
}

/// What the provider of this API makes of the body, and of each further one.
fn ask(api: Api, bodies: &[String]) -> (Result<Completion, Error>, usize) {
    let server = ModelServer::new(bodies.iter().map(Reply::stream).collect());
    let provider: Arc<dyn Provider> = match api {
        Api::OpenAi => Arc::new(openai(&server.url)),
        Api::Responses => {
            let always = |endpoint: &mut Endpoint| endpoint.responses = UseResponses::Always;
            Arc::new(with(&server.url, always, Duration::from_secs(20)))
        }
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

/// The beginning of a message of Anthropic's with this text.
fn anthropic_text(text: &str) -> String {
    [
        r#"{"type":"message_start","message":{"id":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        &format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ),
    ]
    .map(event)
    .concat()
}

fn function_call(id: &str, arguments: &str) -> String {
    event(&format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"id":{id},"name":"f","args":{arguments}}}}}]}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":1.0,"totalTokenCount":-2}}}}"#
    ))
}

/// The end of a response of OpenAI's Responses with this item.
fn completed(item: &str, usage: &str) -> String {
    event(&format!(
        r#"{{"type":"response.completed","response":{{"id":"r","status":"completed","output":[{item}],"usage":{usage}}}}}"#
    ))
}

fn responses_call(id: &str, arguments: &str) -> String {
    let item = format!(
        r#"{{"type":"function_call","id":"fc","call_id":{id},"name":"f","arguments":{arguments}}}"#
    );
    completed(
        &item,
        r#"{"input_tokens":1.0,"output_tokens":"2","total_tokens":-3}"#,
    )
}

/// A delta of the text of a response, and its end without the text.
fn text_of_responses(text: &str) -> String {
    event(&format!(
        r#"{{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"{text}"}}"#
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
        (Api::Responses, responses_call(r#""c""#, once), made),
        (Api::Responses, responses_call(r#""c""#, twice), made),
        (Api::Responses, responses_call(r#""c""#, r#"{"a":1}"#), made),
        (Api::Responses, responses_call(r#""c""#, "null"), "call f c {}"),
        (Api::Responses, responses_call("7", once), "call f 7 {\"a\":1}"),
        (
            Api::Responses,
            text_of_responses("hi") + &completed("", "null"),
            "text hi",
        ),
        (
            Api::Responses,
            r#"{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}"#
                .to_owned(),
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
        (
            Api::Google,
            event(
                r#"{"candidates":[{"content":{"parts":[{"text":"hi","thoughtSignature":"c2ln"},{"text":"","thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}"#,
            ),
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
    let mut wrong = Vec::new();
    for (api, body, expected) in rows {
        match ask(api, std::slice::from_ref(&body)).0 {
            Ok(answer) if brief(&answer) == [expected] => {}
            Ok(answer) => wrong.push(format!("{api:?} {body}: {:?}", brief(&answer))),
            Err(error) => wrong.push(format!("{api:?} {body}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
        (
            Api::Anthropic,
            anthropic_text("h") + "event: error\ndata: {\"message\":\"the worker is gone\"}\n\n",
            server,
            "the worker is gone",
        ),
        (
            Api::Anthropic,
            "event: error\ndata: the worker is gone\n\n".to_owned(),
            ErrorClass::Protocol,
            "the worker is gone",
        ),
        (
            Api::Responses,
            text_of_responses("h")
                + &event(
                    r#"{"type":"error","code":"server_error","message":"the worker is gone"}"#,
                ),
            server,
            "the worker is gone",
        ),
        (
            Api::Responses,
            text_of_responses("h")
                + &event(
                    r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"the worker is gone"}}}"#,
                ),
            server,
            "the worker is gone",
        ),
        (
            Api::Responses,
            text_of_responses("h") + &format!("error: {failed}\n\n"),
            server,
            "the worker is gone",
        ),
        (
            Api::Responses,
            event(
                r#"{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window"}}}"#,
            ),
            ErrorClass::ContextExceeded,
            "exceeds the context window",
        ),
    ];
    let mut wrong = Vec::new();
    for (api, body, class, words) in rows {
        match ask(api, std::slice::from_ref(&body)).0 {
            Err(error) if error.class == class && error.message.contains(words) => {}
            Err(error) => wrong.push(format!("{api:?} {body}: {:?} {error}", error.class)),
            Ok(answer) => wrong.push(format!("{api:?} {body}: {:?}", brief(&answer))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
