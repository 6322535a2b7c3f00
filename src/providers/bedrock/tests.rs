use super::event_frames::write_frame;
use super::*;
use crate::conversation::{Content, Message, Role};
use crate::decoder_testing::{decode, decode_every_split};
use crate::{Completion, ModelConfig, Purpose, StopReason, ToolSpec, Usage};
use serde_json::value::to_raw_value;

fn event(kind: &str, payload: Value) -> Vec<u8> {
    let headers = [
        (":event-type", kind),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    write_frame(&headers, payload.to_string().as_bytes())
}

fn decoder() -> Box<dyn Decoder> {
    Box::new(ConverseDecoder::new(ToolNames::default(), "here".into()))
}

fn delta(index: u64, delta: Value) -> Vec<u8> {
    event(
        "contentBlockDelta",
        json!({"contentBlockIndex": index, "delta": delta}),
    )
}

fn contents(completion: &Completion) -> Value {
    serde_json::to_value(&completion.content).unwrap()
}

#[test]
fn a_response_is_the_same_however_it_is_split() {
    let stream = [
        event("messageStart", json!({"role": "assistant"})),
        delta(0, json!({"reasoningContent": {"text": "hm"}})),
        delta(0, json!({"reasoningContent": {"signature": "s1"}})),
        delta(1, json!({"reasoningContent": {"redactedContent": "UkVE"}})),
        delta(2, json!({"text": "Hé"})),
        delta(2, json!({"text": "llo"})),
        event(
            "contentBlockStart",
            json!({"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "t1", "name": "a__b"}}}),
        ),
        delta(3, json!({"toolUse": {"input": "{\"x\":"}})),
        delta(3, json!({"toolUse": {"input": "1}"}})),
        event("contentBlockStop", json!({"contentBlockIndex": 3})),
        event("somethingNew", json!([])),
        event("messageStop", json!({"stopReason": "tool_use"})),
        event(
            "metadata",
            json!({"usage": {"inputTokens": 5, "outputTokens": 7, "totalTokens": 112,
                "cacheReadInputTokens": 60, "cacheWriteInputTokens": 40}}),
        ),
    ]
    .concat();
    decode_every_split(decoder, &stream, |heard, completion| {
        assert_eq!(heard, "begin: -\nthought: hm\ntext: Héllo");
        let completion = completion.unwrap();
        assert_eq!(completion.stop, StopReason::Complete);
        let usage = Usage {
            input: Some(105),
            output: Some(7),
            total: Some(112),
            cached: completion.usage.cached,
            written: Some(40),
            reasoning: None,
        };
        assert_eq!(completion.usage, usage);
        assert_eq!(
            contents(&completion),
            json!([
                {"type": "thinking", "thinking": "hm", "signature": "s1", "origin": "here"},
                {"type": "redactedThinking", "data": "UkVE", "origin": "here"},
                {"type": "text", "text": "Héllo"},
                {"type": "toolRequest", "id": "t1", "toolCall": {"status": "success",
                    "value": {"name": "a__b", "arguments": {"x": 1}}}},
            ])
        );
    });
}

#[test]
fn the_reason_to_stop_is_told_apart() {
    for (reason, stop) in [
        ("end_turn", StopReason::Complete),
        ("stop_sequence", StopReason::Complete),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("guardrail_intervened", StopReason::Filtered),
        ("content_filtered", StopReason::Filtered),
    ] {
        let stream = event("messageStop", json!({"stopReason": reason}));
        assert_eq!(decode(decoder(), &[&stream]).1.unwrap().stop, stop);
    }
    let stream = event("messageStop", json!({"stopReason": "malformed_tool_use"}));
    let error = decode(decoder(), &[&stream]).1.unwrap_err();
    assert_eq!(error.class, ErrorClass::Server);
}

#[test]
fn an_exception_in_the_stream_is_classified() {
    for (kind, words, class) in [
        (
            "throttlingException",
            "slow down",
            ErrorClass::RateLimit { after: None },
        ),
        ("modelStreamErrorException", "oops", ErrorClass::Server),
        ("internalServerException", "oops", ErrorClass::Server),
        ("serviceUnavailableException", "oops", ErrorClass::Server),
        (
            "validationException",
            "Input is too long for requested model.",
            ErrorClass::ContextExceeded,
        ),
        (
            "validationException",
            "The field is wrong",
            ErrorClass::Refused,
        ),
        ("accessDeniedException", "no", ErrorClass::Authentication),
    ] {
        let headers = [(":message-type", "exception"), (":exception-type", kind)];
        let payload = json!({"message": words}).to_string();
        let error = decode(decoder(), &[&write_frame(&headers, payload.as_bytes())]);
        let error = error.1.unwrap_err();
        assert_eq!(
            (error.class, error.message.as_str()),
            (class, words),
            "{kind}"
        );
    }
    let headers = [
        (":message-type", "error"),
        (":error-code", "InternalError"),
        (":error-message", "it broke"),
    ];
    let error = decode(decoder(), &[&write_frame(&headers, b"")])
        .1
        .unwrap_err();
    assert_eq!(error.message, "it broke");
}

#[test]
fn a_stream_that_ends_early_is_incomplete() {
    let text = delta(0, json!({"text": "a"}));
    for stream in [&text[..], &text[..text.len() - 1], b""] {
        let error = decode(decoder(), &[stream]).1.unwrap_err();
        assert_eq!(error.class, ErrorClass::Transport);
    }
}

fn body(model: ModelConfig, messages: &[Message], tools: &[ToolSpec]) -> (String, Value) {
    let messages: Vec<&Message> = messages.iter().collect();
    let request = CompletionRequest {
        model: &model,
        system: "be brief",
        messages: &messages,
        tools,
        purpose: Purpose::Turn,
        input: 0,
    };
    let server = Endpoint::new("http://h", "");
    let outgoing = Bedrock { server }.http_request(&request, &RequestForm::default());
    let outgoing = outgoing.unwrap();
    let body = serde_json::from_slice(&outgoing.body.unwrap()).unwrap();
    (outgoing.url, body)
}

/// The origin of the reasoning in the response to these messages.
fn origin_behind(model: &ModelConfig, messages: &[Message]) -> String {
    let messages: Vec<&Message> = messages.iter().collect();
    let request = CompletionRequest {
        model,
        system: "be brief",
        messages: &messages,
        tools: &[],
        purpose: Purpose::Turn,
        input: 0,
    };
    converse_request::body(&request, "http://h", &RequestForm::default()).1
}

#[test]
fn reasoning_of_claude_goes_back_only_behind_what_it_followed() {
    for (name, is_bound) in [("us.anthropic.claude-opus-4-6-v1", true), ("nova-3", false)] {
        let question = Message::text(Role::User, "a");
        let mut answer = Message::text(Role::Assistant, "");
        let own = origin_behind(&named(name), std::slice::from_ref(&question));
        answer.content = serde_json::from_value(json!([
            {"type": "thinking", "thinking": "Hm.", "signature": "s", "origin": own},
            {"type": "text", "text": "b"},
        ]))
        .unwrap();
        let again = Message::text(Role::User, "c");
        let sends_back = |first: Message| {
            let (_, body) = body(named(name), &[first, answer.clone(), again.clone()], &[]);
            body.to_string().contains("Hm.")
        };
        assert!(sends_back(question));
        assert_eq!(sends_back(Message::text(Role::User, "another")), !is_bound);
    }
}

fn named(name: &str) -> ModelConfig {
    ModelConfig {
        model_name: name.into(),
        ..ModelConfig::default()
    }
}

#[test]
fn a_request_has_cache_points_where_the_model_reads_them() {
    let messages = [Message::text(Role::User, "hi")];
    let tools = [ToolSpec {
        name: "a__b".into(),
        description: "does".into(),
        input_schema: to_raw_value(&json!({"type": "object", "properties": {}})).unwrap(),
    }];
    let point = json!({"cachePoint": {"type": "default"}});
    let tool = json!({"toolSpec": {"name": "a__b", "description": "does",
        "inputSchema": {"json": {"type": "object", "properties": {}}}}});
    let (url, claude) = body(
        named("us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        &messages,
        &tools,
    );
    let model = "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0";
    assert_eq!(url, format!("http://h/model/{model}/converse-stream"));
    let expected = json!({
        "system": [{"text": "be brief"}, point],
        "messages": [{"role": "user", "content": [{"text": "hi"}, point]}],
        "toolConfig": {"tools": [tool, point]},
    });
    assert_eq!(claude, expected);
    let (_, nova) = body(named("amazon.nova-pro-v1:0"), &messages, &tools);
    assert_eq!(nova["toolConfig"]["tools"], json!([tool]));
    assert_eq!(nova["system"][1], point);
    let (_, llama) = body(named("meta.llama3-70b-instruct-v1:0"), &messages, &tools);
    assert_eq!(llama["system"], json!([{"text": "be brief"}]));
    assert_eq!(llama["messages"][0]["content"], json!([{"text": "hi"}]));
}

#[test]
fn parameters_are_the_models_unless_the_api_has_them() {
    let params = json!({"top_k": 5, "inferenceConfig": {"topP": 0.5}});
    let model = ModelConfig {
        temperature: Some(0.25),
        max_tokens: Some(100),
        request_params: params.as_object().cloned(),
        ..named("m")
    };
    let (_, body) = body(model, &[Message::text(Role::User, "hi")], &[]);
    assert_eq!(body["additionalModelRequestFields"], json!({"top_k": 5}));
    let expected = json!({"maxTokens": 100, "temperature": 0.25, "topP": 0.5});
    assert_eq!(body["inferenceConfig"], expected);
}

#[test]
fn calls_results_and_reasoning_are_sent_back() {
    let model = || named("anthropic.claude-3-opus");
    let own = origin_behind(&model(), &[]);
    let content: Vec<Content> = serde_json::from_value(json!([
        {"type": "thinking", "thinking": "hm", "signature": "s1", "origin": own},
        {"type": "redactedThinking", "data": "UkVE", "origin": own},
        {"type": "redactedThinking", "data": "another's"},
        {"type": "toolRequest", "id": "t.1", "toolCall": {"status": "success",
            "value": {"name": "a__b", "arguments": {"x": 1}}}},
    ]))
    .unwrap();
    let mut call = Message::text(Role::Assistant, "");
    call.content = content;
    let mut result = Message::text(Role::User, "");
    result.content = serde_json::from_value(json!([
        {"type": "text", "text": "see"},
        {"type": "toolResponse", "id": "t.1", "toolResult": {"status": "success", "value": {
            "content": [{"type": "text", "text": "done"},
                {"type": "image", "data": "AA==", "mimeType": "image/png"}], "isError": true}}},
    ]))
    .unwrap();
    // A request without tools, such as one for a summary, declares those of the calls.
    let (_, body) = body(model(), &[call, result], &[]);
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"text": "Continue."}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s1"}}},
                {"reasoningContent": {"redactedContent": "UkVE"}},
                {"toolUse": {"toolUseId": "t_1", "name": "a__b", "input": {"x": 1}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "t_1", "status": "error", "content": [
                    {"text": "done"}, {"image": {"format": "png", "source": {"bytes": "AA=="}}}]}},
                {"text": "see"},
            ]},
        ])
    );
    let declared = &body["toolConfig"]["tools"];
    assert_eq!(declared[0]["toolSpec"]["name"], "a__b");
}
