//! Names of sessions from models that reason before they answer.

use crate::model_server::{DONE, ModelServer, Reply, delta, finish, says};
use crate::support::server::{RunningServer, Server};
use crate::support::until;
use serde_json::{Value, json};

/// The name of a session whose model answers the request for a name with this stream, or, if the request limits
/// the output to less than 4,000 tokens, with the beginning of its reasoning only.
fn name_by(answer: String) -> String {
    let model = ModelServer::with(move |seen| {
        if !seen.body.contains("You name chats") {
            return Reply::stream(says(&["Five."]));
        }
        let body: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        let limits = ["max_tokens", "max_completion_tokens"].map(|key| body[key].as_u64());
        if limits.into_iter().flatten().any(|limit| limit < 4_000) {
            Reply::stream(thought("The user wants") + &finish("length") + DONE)
        } else {
            Reply::stream(&answer)
        }
    });
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "gpt-5")
        .setting("OPENAI_HOST", model.url.as_str())
        .start();
    let session = server.session([]);
    session.say("two plus three").finishes().says("Five.");
    until("a name", || {
        let name = session.stored()["name"].as_str()?.to_owned();
        (name != "New Chat").then_some(name)
    })
}

fn thought(text: &str) -> String {
    delta(&json!({"reasoning_content": text}).to_string())
}

#[test]
fn a_model_that_thinks_first_has_room_for_it_and_its_answer_is_the_name() {
    let answer = thought("The user wants a sum.") + &says(&["Adding small numbers"]);
    assert_eq!(name_by(answer), "Adding small numbers");
}

#[test]
fn thoughts_in_the_text_are_not_the_name() {
    let complete = says(&["<think>\nA sum.\n</think>\n\n", "Small sums"]);
    assert_eq!(name_by(complete), "Small sums");
    let cut = delta(r#"{"content":"<think>\nOkay, the user wants"}"#) + &finish("length") + DONE;
    assert_eq!(name_by(cut), "two plus three");
}

#[test]
fn a_line_that_is_cut_off_is_not_the_name() {
    let cut = |text: &str| delta(&json!({"content": text}).to_string()) + &finish("length") + DONE;
    assert_eq!(name_by(cut("Adding sma")), "two plus three");
    assert_eq!(name_by(cut("Small sums\n\nBecause the us")), "Small sums");
    let filtered = delta(r#"{"content":"Adding"}"#) + &finish("content_filter") + DONE;
    assert_eq!(name_by(filtered), "two plus three");
}

#[test]
fn a_model_that_never_comes_to_an_end_is_cancelled() {
    let piece = thought(&"and so on ".repeat(100));
    let endless = ModelServer::with(move |seen| {
        if !seen.body.contains("You name chats") {
            return Reply::stream(says(&["Five."]));
        }
        let pieces = std::iter::repeat_n(&piece, 1_000);
        pieces
            .fold(Reply::events(), |reply, piece| reply.chunk(piece))
            .hold()
    });
    let server = Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "gpt-5")
        .setting("OPENAI_HOST", endless.url.as_str())
        .start();
    let session = server.session([]);
    session.say("two plus three").finishes();
    let name = until("a name", || {
        let name = session.stored()["name"].as_str()?.to_owned();
        (name != "New Chat").then_some(name)
    });
    assert_eq!(name, "two plus three");
}

/// The models of the requests that `is_meant`, and their efforts.
fn asked(model: &ModelServer, is_meant: &str) -> Vec<(String, Value)> {
    let bodies = model.bodies().into_iter();
    let meant = bodies.filter(|body| body.to_string().contains(is_meant));
    meant
        .map(|body| {
            let model = body["model"].as_str().unwrap().to_owned();
            (model, body["reasoning_effort"].clone())
        })
        .collect()
}

fn fast_server(model: &ModelServer, fast: &str) -> RunningServer {
    Server::new()
        .setting("GOOSE_PROVIDER", "openai")
        .setting("GOOSE_MODEL", "gpt-5.1")
        .setting("GOOSE_THINKING_EFFORT", "high")
        .setting("GOOSE_FAST_MODEL", fast)
        .setting("OPENAI_HOST", model.url.as_str())
        .start()
}

#[test]
fn names_and_summaries_are_made_by_the_fast_model_without_thinking() {
    let model = ModelServer::with(|seen| {
        let words = if seen.body.contains("You name chats") {
            "Small sums"
        } else if seen.body.contains("Sum up this conversation") {
            "They added."
        } else {
            "Five."
        };
        Reply::stream(says(&[words]))
    });
    let server = fast_server(&model, "gpt-5.1-nano");
    let session = server.session([]);
    session.say(&"two plus three ".repeat(200)).finishes();
    until("a name", || {
        (session.stored()["name"] == "Small sums").then_some(())
    });
    session.say("/compact").finishes();
    let fast = ("gpt-5.1-nano".to_owned(), json!("none"));
    assert_eq!(asked(&model, "You name chats"), std::slice::from_ref(&fast));
    assert_eq!(asked(&model, "Sum up this conversation"), [fast]);
    let turn = model.bodies()[0].clone();
    assert_eq!(turn["model"], "gpt-5.1");
    assert_eq!(turn["reasoning_effort"], "high");
}

#[test]
fn a_fast_model_that_is_refused_is_asked_once() {
    let model = ModelServer::with(|seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        if body["model"] == "nobody" {
            let error = json!({"error": {"message": "The model `nobody` does not exist",
                "type": "invalid_request_error", "code": "model_not_found"}});
            return Reply::json("404 Not Found", &error.to_string());
        }
        Reply::stream(says(&["Sums"]))
    });
    let server = fast_server(&model, "nobody");
    for _ in 0..2 {
        let session = server.session([]);
        session.say("two plus three").finishes();
        until("a name", || {
            (session.stored()["name"] == "Sums").then_some(())
        });
    }
    let models: Vec<String> = asked(&model, "You name chats")
        .into_iter()
        .map(|(model, _)| model)
        .collect();
    assert_eq!(models, ["nobody", "gpt-5.1", "gpt-5.1"]);
}

#[test]
fn another_server_than_the_vendors_is_asked_for_the_sessions_own_model() {
    let model = ModelServer::with(|_| Reply::stream(says(&["Sums"])));
    for fast in ["", "off"] {
        let server = fast_server(&model, fast);
        let session = server.session([]);
        session.say("two plus three").finishes();
        until("a name", || {
            (session.stored()["name"] == "Sums").then_some(())
        });
    }
    assert!(
        asked(&model, "You name chats")
            .iter()
            .all(|(model, _)| model == "gpt-5.1")
    );
}
