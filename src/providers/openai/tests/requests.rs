//! Tests of requests.

use super::tools;
use crate::conversation::{Content, Image, Message, Outcome, Reasoning, Role, Text, ToolResponse};
use crate::openai::{Endpoint, OpenAi};
use crate::request_form::RequestForm;
use crate::wire_protocol::Protocol;
use crate::{CompletionRequest, ModelConfig, Purpose, ToolSpec};
use serde_json::{Value, json};

/// The body of a request.
fn body(
    change: impl FnOnce(&mut Endpoint, &mut ModelConfig),
    system: &str,
    messages: &[Message],
    tools: &[ToolSpec],
) -> Value {
    let mut options = Endpoint::new("http://localhost/chat", "http://localhost/models");
    let mut model = ModelConfig {
        model_name: "gpt-4o".into(),
        ..ModelConfig::default()
    };
    change(&mut options, &mut model);
    let messages: Vec<&Message> = messages.iter().collect();
    let request = CompletionRequest {
        model: &model,
        system,
        messages: &messages,
        tools,
        purpose: Purpose::Turn,
        input: 0,
    };
    let outgoing = OpenAi::new(options)
        .http_request(&request, &RequestForm::default())
        .unwrap();
    serde_json::from_slice(&outgoing.body.unwrap()).unwrap()
}

fn request(id: &str, name: &str, arguments: &str) -> Content {
    let request = crate::model_output::tool_request(
        Some(id.to_owned()),
        name.to_owned(),
        arguments.to_owned(),
    );
    Content::ToolRequest(request)
}

fn response(id: &str, content: Value) -> Content {
    Content::ToolResponse(ToolResponse {
        id: id.into(),
        tool_result: Outcome::Success {
            value: serde_json::from_value(json!({"content": content})).unwrap(),
        },
        metadata: None,
    })
}

#[test]
fn a_question_has_the_shape_of_chat_completions() {
    let body = body(
        |_, _| {},
        "be brief",
        &[Message::text(Role::User, "hi")],
        &tools(&["e__f", "a.b"]),
    );
    let schema = json!({"type": "object", "properties": {}});
    assert_eq!(
        body,
        json!({
            "model": "gpt-4o",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hi"},
            ],
            "tools": [
                {"type": "function", "function": {"name": "e__f", "description": "d", "parameters": schema}},
                {"type": "function", "function": {"name": "a_b_108bf50c", "description": "d", "parameters": schema}},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn calls_and_their_results_go_back_in_order() {
    let messages = [
        Message::new(
            Role::Assistant,
            vec![
                Content::Reasoning(Reasoning { text: "hm".into() }),
                Content::text("I look"),
                request("1", "e__f", "{\"a\": 1}"),
                request("2", "a.b", "[oops"),
            ],
        ),
        Message::new(
            Role::User,
            vec![
                Content::text("and?"),
                response(
                    "1",
                    json!([
                        {"type": "text", "text": "r1"},
                        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                        {"type": "text", "text": "hidden", "annotations": {"audience": ["user"]}},
                    ]),
                ),
                response("2", json!([])),
            ],
        ),
    ];
    let sent = body(|_, _| {}, "", &messages, &[]);
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "assistant", "content": "I look", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "e__f", "arguments": "{\"a\": 1}"}},
                {"id": "2", "type": "function", "function": {"name": "a_b_108bf50c", "arguments": "{}"}},
            ]},
            {"role": "tool", "content": "r1", "tool_call_id": "1"},
            {"role": "tool", "content": "(the tool succeeded and returned nothing)", "tool_call_id": "2"},
            {"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "text", "text": "and?"},
            ]},
        ])
    );
    let thinking = body(
        |options, _| options.reasoning_back = true,
        "",
        &messages,
        &[],
    );
    assert_eq!(thinking["messages"][0]["reasoning_content"], "hm");
    let preserved = |messages: &[Message]| {
        body(
            |options, _| options.reasoning_if_any = true,
            "",
            messages,
            &[],
        )
    };
    assert_eq!(
        preserved(&messages)["messages"][0]["reasoning_content"],
        "hm"
    );
    let mut thoughtless = messages;
    let is_call = |part: &Content| matches!(part, Content::ToolRequest(_));
    thoughtless[0].content.retain(is_call);
    let sent = preserved(&thoughtless);
    assert!(
        sent["messages"][0].get("reasoning_content").is_none(),
        "{sent}"
    );
}

#[test]
fn what_is_not_for_the_model_is_left_out() {
    let hidden = Text {
        text: "hidden".into(),
        annotations: Some(serde_json::from_str(r#"{"audience":["user"]}"#).unwrap()),
        meta: None,
    };
    let note = serde_json::from_str(
        r#"{"type":"systemNotification","notificationType":"inlineMessage","msg":"hidden"}"#,
    );
    let messages = [
        Message::new(Role::User, vec![Content::Text(hidden), note.unwrap()]),
        Message::new(
            Role::User,
            vec![Content::Image(Image {
                data: "AAAA".into(),
                mime_type: "image/gif".into(),
                ..Image::default()
            })],
        ),
        Message::new(
            Role::Assistant,
            vec![Content::Reasoning(Reasoning {
                text: "hidden".into(),
            })],
        ),
    ];
    let sent = body(|_, _| {}, "", &messages, &[]);
    assert_eq!(
        sent["messages"],
        json!([{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,AAAA"}},
        ]}])
    );
}

#[test]
fn models_that_think_first_get_their_own_limits() {
    for (name, thinks) in [
        ("gpt-4o", false),
        ("o3-mini", true),
        ("openai/o1", true),
        ("gpt-5-nano", true),
        ("olmo-2", false),
        ("openai/gpt-oss-20b", false),
    ] {
        let sent = body(
            |_, model| {
                model.model_name = name.into();
                model.temperature = Some(0.5);
                model.max_tokens = Some(9);
            },
            "",
            &[],
            &[],
        );
        assert_eq!(sent.get("temperature").is_none(), thinks, "{name}");
        assert_eq!(
            sent.get("max_completion_tokens").is_some(),
            thinks,
            "{name}"
        );
        assert_eq!(sent.get("max_tokens").is_none(), thinks, "{name}");
    }
}

#[test]
fn the_users_parameters_win() {
    let sent = body(
        |options, model| {
            options.stream_usage = false;
            model.temperature = Some(0.5);
            let params = json!({"temperature": 1, "top_p": 0.1, "stream": false});
            model.request_params = params.as_object().cloned();
        },
        "",
        &[],
        &[],
    );
    let expected = json!({
        "model": "gpt-4o", "messages": [], "temperature": 1, "top_p": 0.1, "stream": false,
    });
    assert_eq!(sent, expected);
}

#[test]
fn gemini_behind_googles_own_endpoint_gets_a_signature_for_calls_of_others() {
    let calls = [
        Message::text(Role::User, "go"),
        Message::new(
            Role::Assistant,
            vec![request("1", "f", "{}"), request("2", "f", "{}")],
        ),
    ];
    let google = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions";
    for (url, model, signed) in [
        (google, "gemini-3-pro-preview", true),
        (google, "gemini-2.5-pro", false),
        ("http://localhost/chat", "gemini-3-pro-preview", false),
    ] {
        let sent = body(
            |options, config| {
                options.url = url.into();
                config.model_name = model.into();
            },
            "",
            &calls,
            &[],
        );
        let calls = &sent["messages"][1]["tool_calls"];
        let signature = &calls[0]["extra_content"]["google"]["thought_signature"];
        assert_eq!(*signature == "skip_thought_signature_validator", signed);
        assert!(calls[1].get("extra_content").is_none(), "{calls}");
    }
}
