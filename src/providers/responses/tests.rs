//! Tests of the decoder and of requests, without a network.

use super::ResponsesDecoder;
use super::responses_decoder::MAX_ITEMS;
use crate::conversation::{Content, Message, Outcome};
use crate::decoder_testing::{decode, decode_every_split, event_stream};
use crate::request_form::{Refusal, RequestForm};
use crate::tool_name_encoding::ToolNames;
use crate::wire_protocol::{Decoder, Endpoint};
use crate::{
    Completion, CompletionRequest, Error, ErrorClass, ModelConfig, Purpose, StopReason, ToolSpec,
    Usage,
};
use serde_json::{Map, Value, json};

const STREAM: [&str; 22] = [
    r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[],"usage":null,"error":null}}"#,
    r#"{"type":"response.in_progress","response":{"id":"resp_1"}}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"begin"}}"#,
    r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Let me "}"#,
    r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"see ✓"}"#,
    r#"{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"Let me see ✓"}"#,
    r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"More."}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Let me see ✓"},{"type":"summary_text","text":"More."}],"encrypted_content":"gAAA="}}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#,
    r#"{"type":"response.content_part.added","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}"#,
    r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"He said \"hé","logprobs":[]}"#,
    r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"llo\""}"#,
    r#"{"type":"response.output_text.done","item_id":"msg_1","output_index":1,"content_index":0,"text":"He said \"héllo\""}"#,
    r#"{"type":"response.output_text.annotation.added","output_index":1,"delta":[5],"item_id":7}"#,
    r#"{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"a_b_108bf50c","arguments":""}}"#,
    r#"{"type":"response.output_item.added","output_index":3,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"c","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"x\": [1,"}"#,
    r#"{"type":"response.function_call_arguments.done","item_id":"fc_2","output_index":3,"arguments":"{\"y\":2}"}"#,
    r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":" 2]}"}"#,
    r#"{"type":"response.output_item.done","output_index":3,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"c","arguments":"{\"y\":2}"}}"#,
    r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","incomplete_details":null,"error":null,"output":[{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"He said \"héllo\""}]}],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":13}}}"#,
];

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "d".into(),
        input_schema: serde_json::from_str("{}").unwrap(),
    }
}

fn decoder() -> Box<dyn Decoder> {
    let names = ToolNames::of(&[tool("a.b")]);
    Box::new(ResponsesDecoder::new(names, "here".to_owned()))
}

fn contents(completion: &Completion) -> Value {
    serde_json::to_value(&completion.content).unwrap()
}

fn decoded(lines: &[Value]) -> (String, Result<Completion, Error>) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    decode(decoder(), &[&event_stream(&lines)])
}

fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": {"id": "r", "output": output}})
}

#[test]
fn a_stream_is_the_same_wherever_it_is_split() {
    decode_every_split(decoder, &event_stream(&STREAM), |heard, completion| {
        assert_eq!(
            heard,
            "begin: resp_1\nthought: Let me see ✓\n\nMore.\ntext: He said \"héllo\""
        );
        let completion = completion.unwrap();
        let usage = Usage {
            input: Some(10),
            output: Some(3),
            total: Some(13),
            cached: Some(4),
            written: None,
            reasoning: Some(2),
        };
        assert_eq!(completion.id.as_deref(), Some("resp_1"));
        assert_eq!(
            (completion.usage, completion.stop),
            (usage, StopReason::Complete)
        );
        let call = |id: &str, name: &str, arguments: Value| {
            json!({"type": "toolRequest", "id": id, "toolCall": {"status": "success",
                "value": {"name": name, "arguments": arguments}}})
        };
        assert_eq!(
            contents(&completion),
            json!([
                {"type": "thinking", "thinking": "Let me see ✓\n\nMore.", "origin": "here",
                    "signature": r#"{"id":"rs_1","encrypted_content":"gAAA="}"#},
                {"type": "text", "text": "He said \"héllo\""},
                call("call_1", "a.b", json!({"x": [1, 2]})),
                call("call_2", "c", json!({"y": 2})),
            ])
        );
    });
}

#[test]
fn the_final_response_has_what_the_events_left_out() {
    let output = json!([
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e",
            "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "web_search_call", "id": "ws"},
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "a"},
            {"type": "refusal", "refusal": "b"}]},
        {"type": "function_call", "id": "f", "call_id": "c", "name": "n", "arguments": "{}"},
    ]);
    let whole = json!({"id": "r", "object": "response", "status": "completed", "output": output});
    let (whole_heard, whole) = decode(decoder(), &[whole.to_string().as_bytes()]);
    let (heard, stream) = decoded(&[
        json!({"type": "response.output_item.added", "output_index": 2,
            "item": {"type": "message", "id": "m", "content": []}}),
        completed(output),
    ]);
    assert_eq!(whole_heard, "begin: r\nthought: Hm.\ntext: a\n\nb");
    assert_eq!(heard, "begin: -\nthought: Hm.\ntext: a\n\nb");
    let parts = contents(&stream.unwrap());
    assert_eq!(parts, contents(&whole.unwrap()));
    assert_eq!(parts[2]["id"], "c");
    // Of an item that came, the final response has only what is missing.
    let (heard, completion) = decoded(&[
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": "a"}),
        json!({"type": "response.reasoning_text.delta", "output_index": 1, "delta": "Hm."}),
        completed(json!([{"type": "message", "id": "m2", "content": [{"text": "a"}]}])),
    ]);
    assert_eq!(heard, "begin: -\ntext: a\nthought: Hm.");
    let expected = json!([{"type": "text", "text": "a"}, {"type": "reasoning", "text": "Hm."}]);
    assert_eq!(contents(&completion.unwrap()), expected);
}

#[test]
fn calls_are_told_apart_by_number_or_by_id() {
    let added = |index: u64, id: &str| {
        json!({"type": "response.output_item.added", "output_index": index,
            "item": {"type": "function_call", "id": id, "call_id": id, "name": "f"}})
    };
    let arguments = |index: u64, id: &str, more: &str| {
        json!({"type": "response.function_call_arguments.delta", "output_index": index,
            "item_id": id, "delta": more})
    };
    // Ids that change with every event; numbers that are the same for all.
    for lines in [
        vec![
            added(0, "a"),
            added(1, "b"),
            arguments(0, "x", "{\"n\":"),
            arguments(1, "y", "{\"n\":2}"),
            arguments(0, "z", "1}"),
        ],
        vec![
            added(0, "a"),
            arguments(0, "a", "{\"n\":1}"),
            added(0, "b"),
            arguments(0, "b", "{\"n\":2}"),
        ],
    ] {
        let (_, completion) = decoded(&[&lines[..], &[completed(json!([]))]].concat());
        let calls = completion.unwrap().content;
        let calls = calls.iter().map(|part| match part {
            Content::ToolRequest(request) => match &request.tool_call {
                Outcome::Success { value } => format!("{} {}", request.id, value.arguments),
                Outcome::Error { error } => error.clone(),
            },
            other => format!("{other:?}"),
        });
        let calls: Vec<String> = calls.collect();
        assert_eq!(calls, ["a {\"n\":1}", "b {\"n\":2}"]);
    }
}

#[test]
fn what_is_no_response_is_an_error() {
    for (bytes, class) in [
        (&b""[..], ErrorClass::Transport),
        (
            b"data: {\"type\":\"response.created\",\"response\":{}}\n\n",
            ErrorClass::Transport,
        ),
        (b"data: {\"type\"\n\n", ErrorClass::Protocol),
        (
            b"data: {\"type\":\"response.output_text.delta\",\"delta\":5}\n\n",
            ErrorClass::Protocol,
        ),
        (b"{\"choices\":[]}", ErrorClass::Protocol),
        (
            b"{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}}",
            ErrorClass::RateLimit { after: None },
        ),
        (
            b"data: {\"error\":{\"message\":\"Overloaded\"}}\n\n",
            ErrorClass::Server,
        ),
        (
            b"{\"status\":\"failed\",\"error\":null}",
            ErrorClass::Server,
        ),
    ] {
        let (_, completion) = decode(decoder(), &[bytes]);
        let error = completion.unwrap_err();
        assert_eq!(error.class, class, "{}", error.message);
    }
    let (_, completion) = decoded(&[
        json!({"type": "weather", "delta": {}}),
        json!({"delta": 5}),
        completed(json!(5)),
    ]);
    assert_eq!(completion.unwrap().content.len(), 0);
}

#[test]
fn the_number_of_items_is_limited() {
    let item = |_| json!({"type": "response.output_item.added", "item": {"type": "message"}});
    let lines: Vec<Value> = (0..=MAX_ITEMS).map(item).collect();
    assert_eq!(decoded(&lines).1.unwrap_err().class, ErrorClass::Protocol);
}

#[test]
fn reasoning_that_is_too_large_to_be_stored_is_not_kept() {
    let item = json!([{"type": "reasoning", "id": "rs", "encrypted_content": "x".repeat(2 << 20),
        "summary": [{"text": "Hm."}]}]);
    let completion = decoded(&[completed(item)]).1.unwrap();
    assert_eq!(
        contents(&completion),
        json!([{"type": "reasoning", "text": "Hm."}])
    );
}

/// The body of a request in this form.
fn body(model: &ModelConfig, messages: &[Message], form: &RequestForm) -> Value {
    let messages: Vec<&Message> = messages.iter().collect();
    let request = CompletionRequest {
        model,
        system: "",
        messages: &messages,
        tools: &[],
        purpose: Purpose::Turn,
        input: 0,
    };
    let endpoint = Endpoint {
        stream: false,
        ..Endpoint::new("http://h", "")
    };
    let body = super::body(&endpoint, &request, form, "here").unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn parameters_of_chat_completions_have_their_place() {
    let effort = |model: &str| ModelConfig {
        model_name: model.to_owned(),
        temperature: Some(0.5),
        max_tokens: Some(99),
        request_params: Some(Map::from_iter([
            ("reasoning_effort".to_owned(), json!("high")),
            ("top_p".to_owned(), json!(1)),
        ])),
        ..ModelConfig::default()
    };
    let form = RequestForm::default();
    assert_eq!(
        body(&effort("gpt-6"), &[], &form),
        json!({"model": "gpt-6", "input": [], "store": false, "max_output_tokens": 99, "top_p": 1,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "high", "summary": "auto"}})
    );
    assert_eq!(
        body(&effort("m"), &[], &form),
        json!({"model": "m", "input": [], "store": false, "max_output_tokens": 99, "top_p": 1,
            "temperature": 0.5, "reasoning": {"effort": "high"}})
    );
    let mut none = effort("gpt-6");
    none.max_tokens = Some(1);
    none.request_params.as_mut().unwrap()["reasoning_effort"] = json!("none");
    let none = body(&none, &[], &form);
    assert_eq!(none["reasoning"], json!({"effort": "none"}));
    assert_eq!(none["max_output_tokens"], 16);
    let mut own = effort("gpt-6");
    let reasoning = json!({"effort": "low"});
    let params = own.request_params.as_mut().unwrap();
    params.insert("reasoning".to_owned(), reasoning.clone());
    assert_eq!(body(&own, &[], &form)["reasoning"], reasoning);
}

#[test]
fn what_a_server_refuses_is_left_out() {
    let model = ModelConfig {
        model_name: "gpt-6".to_owned(),
        ..ModelConfig::default()
    };
    let request = CompletionRequest {
        model: &model,
        system: "",
        messages: &[],
        tools: &[],
        purpose: Purpose::Turn,
        input: 0,
    };
    for (words, field) in [
        (
            "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
            "reasoning",
        ),
        ("Unknown parameter: 'reasoning'.", "reasoning"),
        ("Unknown parameter: 'include'.", "include"),
    ] {
        let mut form = RequestForm::default();
        assert!(body(&model, &[], &form).get(field).is_some());
        assert!(
            form.adapt(Refusal { status: 400, words }, &request)
                .is_some()
        );
        assert!(body(&model, &[], &form).get(field).is_none(), "{words}");
    }
}

#[test]
fn every_message_has_its_form() {
    let parse = |value| serde_json::from_value(value).unwrap();
    let long = "x".repeat(65);
    let messages: [Message; 3] = [
        parse(json!({"role": "user", "created": 1, "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "mimeType": "image/png", "data": "AA=="},
            {"type": "image", "mimeType": "image/tiff", "data": "AA=="},
        ]})),
        parse(json!({"role": "assistant", "created": 1, "content": [
            {"type": "thinking", "thinking": "", "origin": "here",
                "signature": r#"{"id":"rs_1","encrypted_content":"e"}"#},
            {"type": "thinking", "thinking": "Claude's", "origin": "here", "signature": "EqQ="},
            {"type": "thinking", "thinking": "another's", "origin": "there",
                "signature": r#"{"id":"rs_2","encrypted_content":"e"}"#},
            {"type": "thinking", "thinking": "whose?", "signature": r#"{"id":"rs_3","encrypted_content":"e"}"#},
            {"type": "reasoning", "text": "r"},
            {"type": "text", "text": "a"},
            {"type": "toolRequest", "id": long, "toolCall": {"status": "error", "error": "no JSON"},
                "metadata": {"name": "a.b", "arguments": "{"}},
        ]})),
        parse(json!({"role": "user", "created": 1, "content": [
            {"type": "text", "text": "and?"},
            {"type": "toolResponse", "id": long, "toolResult": {"status": "error", "error": "no JSON"}},
        ]})),
    ];
    let body = body(&ModelConfig::default(), &messages, &RequestForm::default());
    let input = body["input"].as_array().unwrap();
    let text = |text: &str| json!({"type": "input_text", "text": text});
    let id = &input[3]["call_id"];
    assert!(
        id.as_str()
            .is_some_and(|id| id.starts_with("call_") && id.len() == 21),
        "{id}"
    );
    assert_eq!(
        *input,
        [
            json!({"type": "message", "role": "user", "content": [text("look"),
                {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"},
                text("(image/tiff data, which this model cannot take)")]}),
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}),
            json!({"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "a"}]}),
            json!({"type": "function_call", "call_id": id, "name": "a_b_108bf50c", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": id, "output": "Error: no JSON"}),
            json!({"type": "message", "role": "user", "content": [text("and?")]}),
        ]
    );
}
