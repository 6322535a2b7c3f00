//! What a server refuses by its name is left out, and the request is sent once more.

use crate::anthropic_and_google::{anthropic, google};
use crate::harness::{Question, openai};
use crate::model_server::{ModelServer, Reply, says};
use gosling::provider::{ErrorClass, ModelConfig};
use serde_json::{Value, json};

fn warm_question() -> Question {
    Question {
        model: ModelConfig {
            model_name: "m".into(),
            temperature: Some(0.5),
            ..ModelConfig::default()
        },
        ..Question::default()
    }
}

/// A server that refuses a parameter with these words, and responds with this stream otherwise.
fn refuses(at: &'static str, words: &'static str, stream: String) -> ModelServer {
    ModelServer::with(move |seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        match body.pointer(at) {
            Some(_) => {
                let body = json!({"error": {"message": words, "type": "invalid_request_error"}});
                Reply::json("400 Bad Request", &body.to_string())
            }
            None => Reply::stream(&stream),
        }
    })
}

#[test]
fn a_refused_parameter_is_left_out_from_then_on() {
    let words = "Unsupported parameter: 'temperature' is not supported with this model.";
    let server = refuses("/temperature", words, says(&["hello"]));
    let provider = openai(&server.url);
    for requests in [2, 3] {
        let (answer, _) = warm_question().ask(&provider);
        assert_eq!(answer.unwrap().content[0].as_text(), Some("hello"));
        assert_eq!(server.bodies().len(), requests);
    }
    let server = refuses(
        "/stream_options",
        "json: unknown field \"stream_options\"",
        says(&["hello"]),
    );
    Question::default().ask(&openai(&server.url)).0.unwrap();
    assert_eq!(server.bodies().len(), 2);
}

#[test]
fn every_protocol_leaves_it_out() {
    let claude = crate::output_limits::CLAUDE.to_owned();
    let words = "`temperature` is deprecated for this model.";
    let server = refuses("/temperature", words, claude);
    warm_question().ask(&*anthropic(&server)).0.unwrap();
    let gemini = crate::output_limits::GEMINI.to_owned();
    let server = refuses("/generationConfig/temperature", words, gemini);
    warm_question().ask(&*google(&server)).0.unwrap();
}

#[test]
fn a_parameter_that_is_refused_twice_is_an_error() {
    let words = "Unsupported parameter: 'temperature'";
    let server = refuses("/model", words, String::new());
    let (answer, _) = warm_question().ask(&openai(&server.url));
    assert_eq!(answer.unwrap_err().class, ErrorClass::Refused);
    assert_eq!(server.bodies().len(), 2);
}
