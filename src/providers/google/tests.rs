use super::*;
use crate::conversation::{Message, Role};
use crate::decoder_testing::{decode, decode_every_split, event_stream};
use crate::request_form::RequestForm;
use crate::{Completion, ModelConfig, Purpose, StopReason, ToolSpec, Usage};
use serde_json::{Map, json};
use std::time::Duration;

const STREAM: [&str; 5] = [
    r#"{"candidates":[{"content":{"parts":[{"text":"I ponder","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9},"modelVersion":"gemini-2.5-pro","responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"Hé"}],"role":"model"},"index":0},{"content":{"parts":[{"text":"other"}]},"index":1}],"responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"llo \"you\""}],"role":"model"}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a__b","args":{"x": 1.0}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"f2","name":"c"}},{"inlineData":{"mimeType":"image/png","data":"AA=="}}],"role":"model"}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":20,"thoughtsTokenCount":5,"totalTokenCount":34}}"#,
];

fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "does".into(),
        input_schema: serde_json::value::to_raw_value(&schema).unwrap(),
    }
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

fn google() -> Google {
    let key = ("x-goog-api-key".to_owned(), "k".to_owned());
    Google::new(Endpoint {
        headers: vec![key],
        ..Endpoint::new("https://h/v1beta/", "")
    })
}

fn decoder() -> Box<dyn Decoder> {
    google().decoder(
        &completion_request(&ModelConfig::default(), &[], &[]),
        &RequestForm::default(),
    )
}

fn contents(completion: &Completion) -> Value {
    serde_json::to_value(&completion.content).unwrap()
}

#[test]
fn an_answer_is_heard_as_it_comes_and_put_together_however_it_is_cut() {
    decode_every_split(decoder, &event_stream(&STREAM), |heard, completion| {
        assert_eq!(heard, "begin: r1\nthought: I ponder\ntext: Héllo \"you\"");
        let completion = completion.unwrap();
        assert_eq!(completion.id.as_deref(), Some("r1"));
        assert_eq!(completion.stop, StopReason::Complete);
        let usage = Usage {
            input: Some(9),
            output: Some(25),
            total: Some(34),
            cached: Some(4),
            reasoning: Some(5),
            ..Usage::default()
        };
        assert_eq!(completion.usage, usage);
        let mut contents = contents(&completion);
        let drawn = contents[2]["id"].take();
        assert!(drawn.as_str().is_some_and(|id| id.starts_with("call_")));
        assert_eq!(
            contents,
            json!([
                {"type": "reasoning", "text": "I ponder"},
                {"type": "text", "text": "Héllo \"you\""},
                {"type": "toolRequest", "id": null, "toolCall": {"status": "success",
                    "value": {"name": "a__b", "arguments": {"x": 1.0}}},
                    "metadata": {"thoughtSignature": "c2ln"}},
                {"type": "toolRequest", "id": "f2", "toolCall": {"status": "success",
                    "value": {"name": "c", "arguments": {}}},
                    "metadata": {"functionCallId": "f2"}},
                {"type": "image", "data": "AA==", "mimeType": "image/png"},
            ])
        );
    });
}

#[test]
fn the_reason_to_stop_is_told_apart() {
    for (reason, stop) in [
        ("STOP", StopReason::Complete),
        ("MAX_TOKENS", StopReason::Length),
        ("SAFETY", StopReason::Filtered),
        ("RECITATION", StopReason::Filtered),
        ("SOMETHING_NEW", StopReason::Filtered),
    ] {
        let line = json!({"candidates": [{"finishReason": reason}]}).to_string();
        let (_, completion) = decode(decoder(), &[&event_stream(&[&line])]);
        assert_eq!(completion.unwrap().stop, stop);
    }
    let line = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(x"}]}"#;
    let error = decode(decoder(), &[&event_stream(&[line])]).1.unwrap_err();
    assert_eq!(error.class, ErrorClass::Server);
    assert!(error.message.contains("print(x"), "{error}");
}

#[test]
fn a_blocked_question_and_broken_streams_are_errors() {
    for (line, class) in [
        (
            r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#,
            ErrorClass::Refused,
        ),
        (
            r#"{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}"#,
            ErrorClass::Server,
        ),
        (
            r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}"#,
            ErrorClass::RateLimit { after: None },
        ),
        (STREAM[1], ErrorClass::Transport),
        ("{", ErrorClass::Protocol),
    ] {
        let error = decode(decoder(), &[&event_stream(&[line])]).1.unwrap_err();
        assert_eq!(error.class, class, "{line}");
    }
}

#[test]
fn failures_are_classed_by_what_gemini_means() {
    let wait = Some(Duration::from_millis(17_500));
    for (status, body, class) in [
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","metadata":{}}]}}"#,
            ErrorClass::Authentication,
        ),
        (
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing","status":"RESOURCE_EXHAUSTED","details":[{"@type":"q","violations":[{}]},{"@type":"r","retryDelay":"17.5s"}]}}]"#,
            ErrorClass::RateLimit { after: wait },
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            ErrorClass::ContextExceeded,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"Unknown name","status":"INVALID_ARGUMENT"}}"#,
            ErrorClass::Refused,
        ),
        (
            403,
            r#"{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}"#,
            ErrorClass::Authentication,
        ),
        (
            404,
            r#"{"error":{"code":404,"message":"no model","status":"NOT_FOUND"}}"#,
            ErrorClass::Refused,
        ),
        (500, "<html>", ErrorClass::Server),
    ] {
        assert_eq!(
            google().classify_failure(status, body.as_bytes()).0,
            class,
            "{body}"
        );
    }
}

fn conversation() -> Vec<Message> {
    let parse = |value| serde_json::from_value(value).unwrap();
    vec![
        Message::text(Role::User, "first"),
        Message::text(Role::User, "second"),
        parse(json!({"role": "assistant", "created": 1, "content": [
            {"type": "reasoning", "text": "r"},
            {"type": "toolRequest", "id": "1", "toolCall": {"status": "success",
                "value": {"name": "a.b", "arguments": {"z": 1, "a": 2}}},
                "metadata": {"thoughtSignature": "c2ln", "functionCallId": "1"}},
            {"type": "toolRequest", "id": "2", "toolCall": {"status": "error", "error": "no JSON"},
                "metadata": {"name": "c", "arguments": "{"}},
        ]})),
        parse(json!({"role": "user", "created": 1, "content": [
            {"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value":
                {"content": [{"type": "text", "text": "ok"},
                    {"type": "image", "mimeType": "image/png", "data": "AA=="}]}}},
            {"type": "toolResponse", "id": "2", "toolResult": {"status": "error", "error": "no JSON"}},
            {"type": "image", "mimeType": "image/jpeg", "data": "BB=="},
        ]})),
    ]
}

fn body(model: &ModelConfig, messages: &[Message], tools: &[ToolSpec]) -> (HttpRequest, Value) {
    let messages: Vec<&Message> = messages.iter().collect();
    let mut outgoing = google()
        .http_request(
            &completion_request(model, &messages, tools),
            &RequestForm::default(),
        )
        .unwrap();
    let body = serde_json::from_slice(&outgoing.body.take().unwrap()).unwrap();
    (outgoing, body)
}

#[test]
fn a_question_is_written_as_the_api_wants_it() {
    let model = ModelConfig {
        model_name: "gemini-2.5-pro".into(),
        max_tokens: Some(65536),
        temperature: Some(0.5),
        ..ModelConfig::default()
    };
    let tools = [
        tool(
            "a.b",
            json!({"type": "object", "properties": {"z": {"type": "integer"}}, "$schema": "s"}),
        ),
        tool("c", json!({"type": "object"})),
    ];
    let (outgoing, body) = body(&model, &conversation(), &tools);
    assert_eq!(
        outgoing.url,
        "https://h/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        outgoing.headers,
        [("x-goog-api-key".to_owned(), "k".to_owned())]
    );
    let out = crate::tool_name_encoding::encode_tool_name("a.b").into_owned();
    assert_eq!(
        body,
        json!({
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "first"}, {"text": "second"}]},
                {"role": "model", "parts": [
                    {"functionCall": {"id": "1", "name": out, "args": {"z": 1, "a": 2}},
                        "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "c", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "1", "name": out, "response": {"output": "ok"}}},
                    {"functionResponse": {"name": "c", "response": {"error": "Error: no JSON"}}},
                    {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
                    {"inlineData": {"mimeType": "image/jpeg", "data": "BB=="}},
                ]},
            ],
            "tools": [{"functionDeclarations": [
                {"name": out, "description": "does", "parametersJsonSchema":
                    {"type": "object", "properties": {"z": {"type": "integer"}}}},
                {"name": "c", "description": "does"},
            ]}],
            "generationConfig": {"temperature": 0.5, "maxOutputTokens": 65536},
        })
    );
}

#[test]
fn a_call_of_another_model_is_marked_for_models_that_want_signatures() {
    let foreign: Message = serde_json::from_value(json!({"role": "assistant", "created": 1, "content": [
        {"type": "toolRequest", "id": "1", "toolCall": {"status": "success", "value": {"name": "a"}}},
        {"type": "toolRequest", "id": "2", "toolCall": {"status": "success", "value": {"name": "b"}}},
    ]}))
    .unwrap();
    let named = |name: &str| ModelConfig {
        model_name: name.into(),
        ..ModelConfig::default()
    };
    for name in [
        "gemini-3-pro-preview",
        "gemini-4-argon",
        "gemini-flash-latest",
        "models/gemini-pro-latest",
    ] {
        let (_, strict) = body(&named(name), std::slice::from_ref(&foreign), &[]);
        assert_eq!(strict["contents"][0]["role"], "user");
        let parts = &strict["contents"][1]["parts"];
        assert_eq!(
            parts[0]["thoughtSignature"], "skip_thought_signature_validator",
            "{name}"
        );
        assert!(parts[1].get("thoughtSignature").is_none());
    }
    let (_, lax) = body(&named("gemini-2.5-flash"), &[foreign], &[]);
    assert!(
        lax["contents"][1]["parts"][0]
            .get("thoughtSignature")
            .is_none()
    );
}

#[test]
fn what_the_user_adds_is_merged_last_and_a_name_cannot_leave_its_place() {
    let mut params = Map::new();
    params.insert("generationConfig".into(), json!({"topK": 3}));
    params.insert("safetySettings".into(), json!([]));
    let model = ModelConfig {
        model_name: "models/x?y#z".into(),
        max_tokens: Some(5),
        request_params: Some(params),
        ..ModelConfig::default()
    };
    let (outgoing, body) = body(&model, &[Message::text(Role::User, "hi")], &[]);
    assert_eq!(
        outgoing.url,
        "https://h/v1beta/models/x%3Fy%23z:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        body["generationConfig"],
        json!({"maxOutputTokens": 5, "topK": 3})
    );
    assert_eq!(body["safetySettings"], json!([]));
}

#[test]
fn only_models_that_converse_are_listed() {
    let list = br#"{"models":[{"name":"models/gemini-2.5-pro","supportedGenerationMethods":["generateContent"]},
        {"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]},{"name":"models/new"}]}"#;
    assert_eq!(
        google().parse_models(list).unwrap(),
        ["gemini-2.5-pro", "new"]
    );
}
