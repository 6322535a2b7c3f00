use super::*;
use crate::conversation::{Content, Message, Role};
use crate::decoder_testing::{decode, decode_every_split, event_stream};
use crate::request_form::RequestForm;
use crate::thinking_origin::origin;
use crate::{Completion, ErrorClass, ModelConfig, Purpose, StopReason, ToolSpec, Usage};
use serde_json::{Map, json};

const STREAM: [&str; 18] = [
    r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see\n✓"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQ="}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"He said \"hé"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"x"}}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"llo\""}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"a__b","input":{}}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\": [1,"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" 2]}"}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}"#,
    r#"{"type":"message_stop"}"#,
];

fn tool(name: &str, schema: serde_json::Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "does".into(),
        input_schema: serde_json::value::to_raw_value(&schema).unwrap(),
    }
}

fn decoder() -> Box<dyn Decoder> {
    let model = ModelConfig::default();
    let tools = [tool("a.b", json!({}))];
    let request = completion_request(&model, &[], &tools);
    Anthropic::new(Endpoint::new("http://h", "")).decoder(&request, &RequestForm::default())
}

fn completion_request<'a>(
    model: &'a ModelConfig,
    messages: &'a [&'a Message],
    tools: &'a [ToolSpec],
) -> CompletionRequest<'a> {
    CompletionRequest {
        model,
        system: "Be kind.",
        messages,
        tools,
        purpose: Purpose::Turn,
        input: 0,
    }
}

fn contents(completion: &Completion) -> serde_json::Value {
    serde_json::to_value(&completion.content).unwrap()
}

#[test]
fn an_answer_is_heard_as_it_comes_and_put_together_however_it_is_cut() {
    decode_every_split(decoder, &event_stream(&STREAM), |heard, completion| {
        assert_eq!(
            heard,
            "begin: msg_1\nthought: Let me see\n✓\ntext: He said \"héllo\""
        );
        let completion = completion.unwrap();
        assert_eq!(completion.id.as_deref(), Some("msg_1"));
        assert_eq!(completion.stop, StopReason::Complete);
        let usage = Usage {
            input: Some(3210),
            cached: Some(3000),
            written: Some(200),
            output: Some(42),
            ..Usage::default()
        };
        assert_eq!(completion.usage, usage);
        assert_eq!(
            contents(&completion),
            json!([
                {"type": "thinking", "thinking": "Let me see\n✓", "signature": "EqQ=",
                    "origin": origin("http://h", "")},
                {"type": "text", "text": "He said \"héllo\""},
                {"type": "toolRequest", "id": "toolu_1", "toolCall": {"status": "success",
                    "value": {"name": "a__b", "arguments": {"x": [1, 2]}}}},
            ])
        );
    });
}

#[test]
fn calls_side_by_side_may_come_interleaved() {
    let stream = event_stream(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"a","input":{}}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"2","name":"b","input":{"given":true}}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"3","name":"c","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"[1]"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"redacted_thinking","data":"xyz"}}"#,
        r#"{"type":"content_block_start","index":4,"content_block":{"type":"server_tool_use","id":"s","name":"web","input":{}}}"#,
        r#"{"type":"content_block_delta","index":18446744073709551615,"delta":{"type":"text_delta","text":"lost"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#,
    ]);
    let (heard, completion) = decode(decoder(), &[&stream]);
    assert_eq!(heard, "");
    let completion = completion.unwrap();
    assert_eq!(completion.stop, StopReason::Length);
    let contents = contents(&completion);
    assert_eq!(
        contents[0]["toolCall"]["value"]["arguments"],
        json!({"n": 1})
    );
    assert_eq!(
        contents[1]["toolCall"]["value"]["arguments"],
        json!({"given": true})
    );
    assert_eq!(contents[2]["toolCall"]["status"], "error");
    assert_eq!(
        contents[3],
        json!({"type": "redactedThinking", "data": "xyz", "origin": origin("http://h", "")})
    );
    assert_eq!(contents.as_array().map(Vec::len), Some(4));
}

#[test]
fn the_stream_is_complete_before_the_connection_ends() {
    let mut decoder = decoder();
    let mut heard = crate::decoder_testing::RecordingSink::default();
    let stream = event_stream(&STREAM);
    assert_eq!(decoder.push(&stream, &mut heard), Ok(true));
}

#[test]
fn an_answer_that_breaks_off_is_an_error() {
    let stream = event_stream(&STREAM[..16]);
    let (_, completion) = decode(decoder(), &[&stream]);
    assert_eq!(completion.unwrap_err().class, ErrorClass::Transport);
    let (_, completion) = decode(decoder(), &[b"data: {\"type\"\n\n"]);
    assert_eq!(completion.unwrap_err().class, ErrorClass::Protocol);
}

#[test]
fn errors_in_mid_stream_have_their_class() {
    for (kind, message, class) in [
        ("overloaded_error", "Overloaded", ErrorClass::Server),
        ("api_error", "Internal server error", ErrorClass::Server),
        (
            "rate_limit_error",
            "slow down",
            ErrorClass::RateLimit { after: None },
        ),
        (
            "invalid_request_error",
            "prompt is too long: 9 tokens > 8 maximum",
            ErrorClass::ContextExceeded,
        ),
        ("invalid_request_error", "bad block", ErrorClass::Refused),
    ] {
        let line = json!({"type": "error", "error": {"type": kind, "message": message}});
        let stream = event_stream(&[STREAM[0], &line.to_string()]);
        let error = decode(decoder(), &[&stream]).1.unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (class, message));
    }
}

/// A conversation with reasoning of which that with the origin `own` goes back.
fn conversation(own: &str) -> Vec<Message> {
    let parse = |value| serde_json::from_value(value).unwrap();
    vec![
        Message::text(Role::User, "first"),
        Message::text(Role::User, "second"),
        parse(json!({"role": "assistant", "created": 1, "content": [
            {"type": "thinking", "thinking": "t", "signature": "s", "origin": own},
            {"type": "thinking", "thinking": "unsigned", "signature": "", "origin": own},
            {"type": "thinking", "thinking": "before origins were recorded", "signature": "s"},
            {"type": "thinking", "thinking": "another's", "signature": "s", "origin": "0"},
            {"type": "redactedThinking", "data": "another's", "origin": "0"},
            {"type": "redactedThinking", "data": "before origins were recorded"},
            {"type": "reasoning", "text": "r"},
            {"type": "redactedThinking", "data": "d", "origin": own},
            {"type": "text", "text": " "},
            {"type": "toolRequest", "id": "call.1", "toolCall": {"status": "success",
                "value": {"name": "a.b", "arguments": {"z": 1, "a": 2}}}},
            {"type": "toolRequest", "id": "2", "toolCall": {"status": "error", "error": "no JSON"},
                "metadata": {"name": "c", "arguments": "{"}},
        ]})),
        parse(json!({"role": "user", "created": 1, "content": [
            {"type": "toolResponse", "id": "call.1", "toolResult": {"status": "success", "value":
                {"content": [{"type": "text", "text": "ok"},
                    {"type": "image", "mimeType": "image/png", "data": "AA=="}]}}},
        ]})),
        parse(json!({"role": "user", "created": 1, "content": [
            {"type": "text", "text": "look"},
            {"type": "toolResponse", "id": "2", "toolResult": {"status": "error", "error": "no JSON"}},
            {"type": "image", "mimeType": "image/tiff", "data": "AA=="},
        ]})),
    ]
}

#[test]
fn a_question_is_written_as_the_api_wants_it() {
    let model = ModelConfig {
        model_name: "claude-sonnet-4-5".into(),
        max_tokens: Some(64000),
        temperature: Some(0.5),
        ..ModelConfig::default()
    };
    let tools = [
        tool("a.b", json!({"type": "object", "properties": {"z": {}}})),
        tool("c", json!({"type": "object", "properties": {}})),
    ];
    let begin = conversation("");
    let begin = [&begin[0], &begin[1]];
    let (_, own) = messages_request::body(
        &completion_request(&model, &begin, &tools),
        &Endpoint::new("https://h", ""),
        &RequestForm::default(),
    );
    let messages = conversation(&own);
    let messages: Vec<&Message> = messages.iter().collect();
    let anthropic = Anthropic::new(Endpoint {
        headers: vec![("x-api-key".into(), "k".into())],
        ..Endpoint::new("https://h/v1/", "")
    });
    let outgoing = anthropic
        .http_request(
            &completion_request(&model, &messages, &tools),
            &RequestForm::default(),
        )
        .unwrap();
    assert_eq!(outgoing.url, "https://h/v1/messages");
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        outgoing.headers,
        [
            header("anthropic-version", "2023-06-01"),
            header("x-api-key", "k")
        ]
    );
    let body: serde_json::Value = serde_json::from_slice(&outgoing.body.unwrap()).unwrap();
    let out = crate::tool_name_encoding::encode_tool_name("a.b").into_owned();
    let cached = json!({"type": "ephemeral"});
    assert_eq!(
        body,
        json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 64000,
            "temperature": 0.5,
            "stream": true,
            "system": [{"type": "text", "text": "Be kind.", "cache_control": cached}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "first"},
                    {"type": "text", "text": "second", "cache_control": cached},
                ]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "redacted_thinking", "data": "d"},
                    {"type": "tool_use", "id": "call_1", "name": out, "input": {"z": 1, "a": 2}},
                    {"type": "tool_use", "id": "2", "name": "c", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": [
                        {"type": "text", "text": "ok"},
                        {"type": "image", "source":
                            {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                    ]},
                    {"type": "tool_result", "tool_use_id": "2", "is_error": true, "content": [
                        {"type": "text", "text": "Error: no JSON"},
                    ]},
                    {"type": "text", "text": "look"},
                    {"type": "text", "text": "(image/tiff data, which this model cannot take)",
                        "cache_control": cached},
                ]},
            ],
            "tools": [
                {"name": out, "description": "does",
                    "input_schema": {"type": "object", "properties": {"z": {}}}},
                {"name": "c", "description": "does", "input_schema": {"type": "object", "properties": {}},
                    "cache_control": cached},
            ],
        })
    );
}

#[test]
fn what_the_user_adds_is_merged_last_and_betas_are_a_header() {
    let mut params = Map::new();
    params.insert("anthropic_beta".into(), json!(["one", "two"]));
    params.insert("max_tokens".into(), json!(7));
    params.insert(
        "thinking".into(),
        json!({"type": "enabled", "budget_tokens": 5}),
    );
    let model = ModelConfig {
        model_name: "claude-3-haiku-20240307".into(),
        request_params: Some(params),
        ..ModelConfig::default()
    };
    let reply = Message::text(Role::Assistant, "I began");
    let messages = [&reply];
    let outgoing = (Anthropic::new(Endpoint::new("http://h", "")))
        .http_request(
            &completion_request(&model, &messages, &[]),
            &RequestForm::default(),
        )
        .unwrap();
    let beta = outgoing
        .headers
        .iter()
        .find(|(name, _)| name == "anthropic-beta");
    assert_eq!(beta.map(|(_, value)| value.as_str()), Some("one,two"));
    let body: serde_json::Value = serde_json::from_slice(&outgoing.body.unwrap()).unwrap();
    assert_eq!(body["max_tokens"], 7);
    assert_eq!(body["thinking"]["budget_tokens"], 5);
    assert!(body.get("anthropic_beta").is_none() && body.get("tools").is_none());
    assert_eq!(body["messages"][0]["role"], "user");
    assert_eq!(body["messages"][1]["content"][0]["text"], "I began");
}

#[test]
fn models_are_listed_and_failures_read() {
    let anthropic = Anthropic::new(Endpoint::new("http://h/proxy/v1/messages", ""));
    assert_eq!(
        anthropic.models_request().url,
        "http://h/proxy/v1/models?limit=1000"
    );
    let models = anthropic.parse_models(br#"{"data":[{"type":"model","id":"a"},{"id":"b"}]}"#);
    assert_eq!(models.unwrap(), ["a", "b"]);
    assert!(anthropic.parse_models(b"<html>").is_err());
    let body = br#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#;
    assert_eq!(anthropic.classify_failure(400, body).0, ErrorClass::Credits);
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "id": "t", "name": "a", "input": {"x": 1}},
    ], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}});
    decode_every_split(
        decoder,
        message.to_string().as_bytes(),
        |heard, completion| {
            assert_eq!(heard, "begin: msg_1\ntext: hello");
            let completion = completion.unwrap();
            assert_eq!(completion.usage.output, Some(2));
            assert_eq!(
                contents(&completion)[1]["toolCall"]["value"]["arguments"],
                json!({"x": 1})
            );
        },
    );
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "x"}});
    let (_, completion) = decode(decoder(), &[error.to_string().as_bytes()]);
    assert_eq!(completion.unwrap_err().class, ErrorClass::Server);
}

#[test]
fn events_of_kinds_that_are_not_known_yet_do_no_harm() {
    let mut lines = STREAM.to_vec();
    lines.insert(
        2,
        r#"{"type":"weather","message":"rain","index":-1,"delta":[]}"#,
    );
    let (heard, completion) = decode(decoder(), &[&event_stream(&lines)]);
    assert!(heard.ends_with("text: He said \"héllo\""), "{heard}");
    assert!(completion.is_ok());
    lines.insert(2, r#"{"type":"message_delta","delta":[5]}"#);
    assert!(decode(decoder(), &[&event_stream(&lines)]).1.is_err());
}

#[test]
fn reasoning_goes_back_only_behind_what_it_followed() {
    let server = Endpoint::new("https://h", "");
    let model = |name: &str| ModelConfig {
        model_name: name.into(),
        ..ModelConfig::default()
    };
    let shown = |model: &ModelConfig, messages: &[&Message], form: &RequestForm| {
        let request = completion_request(model, messages, &[]);
        let (body, next) = messages_request::body(&request, &server, form);
        let body = serde_json::to_value(&body).unwrap();
        let count = body.to_string().matches("\"thinking\":\"Hm.\"").count();
        (count, next, body)
    };
    let thought = |origin: &str| {
        let message = json!({"role": "assistant", "created": 1, "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s", "origin": origin},
            {"type": "text", "text": "b"},
        ]});
        serde_json::from_value::<Message>(message).unwrap()
    };
    let (fable, form) = (model("claude-fable-5-1"), RequestForm::default());
    let question = Message::text(Role::User, "a");
    let (_, first, body) = shown(&fable, &[&question], &form);
    let opt_in =
        json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
    assert_eq!(body["thinking"], opt_in);
    let answer = thought(&first);
    let again = Message::text(Role::User, "c");
    let (count, second, _) = shown(&fable, &[&question, &answer, &again], &form);
    assert_eq!(count, 1);
    let later = thought(&second);
    let all = [&question, &answer, &again, &later, &again];
    assert_eq!(shown(&fable, &all, &form).0, 2);
    // What follows reasoning that is left out is behind another beginning, too.
    let edited = Message::text(Role::User, "another");
    let all = [&edited, &answer, &again, &later, &again];
    assert_eq!(shown(&fable, &all, &form).0, 0);
    let all = [&question, &answer, &edited, &later, &again];
    assert_eq!(shown(&fable, &all, &form).0, 1);
    assert_eq!(shown(&model("claude-fable-5-2"), &all, &form).0, 0);
    // The server knows better.
    let mut form = form;
    let words = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
                 conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \
                 \"drop_block\".";
    let refusal = crate::request_form::Refusal { status: 400, words };
    let request = completion_request(&fable, &all, &[]);
    assert!(form.adapt(refusal, &request).is_some());
    assert_eq!(shown(&fable, &all, &form).0, 0);
    assert!(form.adapt(refusal, &request).is_none());
    // Reasoning of others is bound to nothing, and needs no signature.
    let other = model("deepseek-v4");
    let mut unsigned = thought(&origin("https://h", "deepseek-v4"));
    if let Content::Thinking(thinking) = &mut unsigned.content[0] {
        thinking.signature.clear();
    }
    let all = [&edited, &unsigned, &again];
    let (count, _, body) = shown(&other, &all, &RequestForm::default());
    assert_eq!((count, body.get("thinking")), (1, None));
}
