//! Images of kinds that no provider takes are told in words, in every protocol.

use crate::harness::{Question, openai};
use crate::model_server::{ModelServer, Reply};
use crate::ollama::ollama;
use crate::others::{anthropic, google};
use gosling::conversation::{Content, Message, Outcome, Role, ToolCall, ToolRequest, ToolResponse};
use gosling::provider::Provider;
use serde_json::json;
use std::sync::Arc;

const SVG: &str = "PHN2Zy8+";
const PNG: &str = "iVBORw0KGgo=";

/// A user who shows two images, and a tool that shows the same.
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
        Arc::new(ollama(&fourth.url)),
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
