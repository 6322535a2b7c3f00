//! Names of sessions from models that reason before they answer.

use crate::model_server::{DONE, ModelServer, Reply, delta, finish, says};
use crate::support::server::Server;
use crate::support::until;
use serde_json::json;

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
