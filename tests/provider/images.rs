//! Images of types that no provider accepts are replaced by text, in every protocol.

use crate::anthropic_and_google::{anthropic, google};
use crate::harness::{Question, openai};
use crate::model_server::{ModelServer, Reply, event};
use crate::ollama::ollama;
use gosling::conversation::{Content, Message, Outcome, Role, ToolCall, ToolRequest, ToolResponse};
use gosling::provider::{ErrorClass, Provider};
use serde_json::json;
use std::sync::Arc;

const SVG: &str = "PHN2Zy8+";
const PNG: &str = "iVBORw0KGgo=";

/// A user message with two images, and a tool result with the same images.
fn conversation() -> Vec<Message> {
    let image = |kind: &str, data: &str| json!({"type": "image", "data": data, "mimeType": kind});
    let images = json!([image("image/svg+xml", SVG), image("image/png", PNG)]);
    let shown: Vec<Content> = serde_json::from_value(images.clone()).unwrap();
    let call = ToolRequest {
        id: "c1".to_owned(),
        tool_call: Outcome::Success {
            value: ToolCall {
                name: "f".to_owned(),
                arguments: serde_json::from_str("{}").unwrap(),
            },
        },
        metadata: None,
        meta: None,
    };
    let result = ToolResponse {
        id: "c1".to_owned(),
        tool_result: Outcome::Success {
            value: serde_json::from_value(json!({"content": images})).unwrap(),
        },
        metadata: None,
    };
    vec![
        Message::new(Role::User, shown),
        Message::new(Role::Assistant, vec![Content::ToolRequest(call)]),
        Message::new(Role::User, vec![Content::ToolResponse(result)]),
    ]
}

#[test]
fn an_odd_image_goes_to_no_provider() {
    let servers = [0; 4].map(|_| ModelServer::with(|_| Reply::new("400 No", "")));
    let [first, second, third, fourth] = &servers;
    let providers: [Arc<dyn Provider>; 4] = [
        Arc::new(openai(&first.url)),
        anthropic(second),
        google(third),
        ollama(&fourth.url),
    ];
    let question = Question {
        messages: conversation(),
        ..Question::default()
    };
    for (provider, server) in providers.iter().zip(&servers) {
        question.ask(&**provider).0.unwrap_err();
        let body = server.bodies()[0].to_string();
        assert!(!body.contains(SVG), "{body}");
        assert_eq!(body.matches("image/svg+xml data").count(), 2, "{body}");
        assert_eq!(body.matches(PNG).count(), 2, "{body}");
    }
}

#[test]
fn audio_goes_to_the_providers_that_take_it() {
    let servers = [0; 4].map(|_| ModelServer::with(|_| Reply::new("400 No", "")));
    let [first, second, third, fourth] = &servers;
    let providers: [(Arc<dyn Provider>, &str); 4] = [
        (
            Arc::new(openai(&first.url)),
            r#"{"type":"input_audio","input_audio":{"data":"SUQz","format":"mp3"}}"#,
        ),
        (
            google(second),
            r#"{"inlineData":{"mimeType":"audio/mpeg","data":"SUQz"}}"#,
        ),
        (
            anthropic(third),
            "(audio/mp3 data, which this model cannot take)",
        ),
        (
            ollama(&fourth.url),
            "(audio/mp3 data, which this model cannot take)",
        ),
    ];
    let audio = |kind: &str, data: &str| json!({"type": "audio", "data": data, "mimeType": kind});
    let content = json!([audio("audio/mp3", "SUQz"), audio("audio/midi", "TVRoZA==")]);
    let question = Question {
        messages: vec![Message::new(
            Role::User,
            serde_json::from_value::<Vec<Content>>(content).unwrap(),
        )],
        ..Question::default()
    };
    for ((provider, part), server) in providers.iter().zip(&servers) {
        question.ask(&**provider).0.unwrap_err();
        let body = server.bodies()[0].to_string();
        assert!(body.contains(part), "{body}");
        assert_eq!(body.contains("SUQz"), part.contains("SUQz"), "{body}");
        assert!(body.contains("(audio/midi data, which"), "{body}");
        assert!(!body.contains("TVRoZA"), "{body}");
    }
}

/// The class of the error, and the number of requests.
fn refusal(messages: Vec<Message>, reply: Reply) -> (ErrorClass, usize) {
    let server = ModelServer::with(move |_| reply.clone());
    let question = Question {
        messages,
        ..Question::default()
    };
    let (answer, _) = question.ask(&openai(&server.url));
    (answer.unwrap_err().class, server.seen().len())
}

fn error(status: &str, error: serde_json::Value) -> Reply {
    Reply::json(status, &json!({"error": error}).to_string())
}

#[test]
fn only_words_about_images_make_a_refusal_one_of_images_and_only_if_there_are_some() {
    for (words, class) in [
        (
            "messages.1.content.0.image.source.base64: Could not process image",
            ErrorClass::Image,
        ),
        (
            "messages[7]: unknown variant `image_url`, expected `text`",
            ErrorClass::Image,
        ),
        (
            "No endpoints found that support image input",
            ErrorClass::Image,
        ),
        ("m is not a multimodal model", ErrorClass::Image),
        ("Unsupported MIME type: image/webp", ErrorClass::Image),
        ("messages[1].content must be a string", ErrorClass::Image),
        ("this model does not support vision", ErrorClass::Image),
        ("audio input is not supported", ErrorClass::Image),
        ("You uploaded an unsupported image.", ErrorClass::Image),
        (
            "The throughput is not provisioned for this division",
            ErrorClass::Refused,
        ),
        (
            "The tool `image__resize` has an invalid schema",
            ErrorClass::Refused,
        ),
        (
            "`llama-3.2-90b-vision-preview` does not support tools",
            ErrorClass::Refused,
        ),
        ("tools.0.name: expected a string", ErrorClass::Refused),
    ] {
        let reply = error("400 Bad Request", json!({"message": words}));
        let (with, requests) = refusal(conversation(), reply.clone());
        assert_eq!((with, requests), (class, 1), "{words}");
        let without = vec![Message::text(Role::User, "hello")];
        assert_eq!(refusal(without, reply), (ErrorClass::Refused, 1), "{words}");
    }
    let words = json!({"message": "image input is not supported - hint: you may need the mmproj"});
    let (class, _) = refusal(conversation(), error("500 Internal Server Error", words));
    assert_eq!(class, ErrorClass::Image);
    let too_large = json!({"message": "the image is too large"});
    let (class, _) = refusal(conversation(), error("413 Payload Too Large", too_large));
    assert_eq!(class, ErrorClass::Image);
}

#[test]
fn a_failure_over_an_image_that_may_pass_is_tried_again() {
    let late = json!({"message": "Timed out while downloading the image"});
    let late = error("408 Request Timeout\r\nRetry-After: 0", late);
    let (class, requests) = refusal(conversation(), late);
    assert_eq!((class, requests), (ErrorClass::Server, 4));
    let broken = json!({"error": {"type": "server_error", "message": "image worker unavailable"}});
    let (class, requests) = refusal(conversation(), Reply::stream(event(&broken.to_string())));
    assert_eq!((class, requests), (ErrorClass::Server, 4));
}
