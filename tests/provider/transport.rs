//! What happens on the way, whatever is said.

use crate::harness::{KEY, Question, brief, openai, with};
use crate::model_server::{ModelServer, Reply, delta, event, says};
use gosling::provider::{Class, Provider};
use gosling::sys::cancel::Cancel;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn an_answer_comes_in_pieces_and_whole() {
    let server = ModelServer::new(vec![Reply::stream(says(&["hel", "lo"]))]);
    let (answer, heard) = Question::default().ask(&openai(&server.url));
    let answer = answer.unwrap();
    assert_eq!(heard.all, ["begin chatcmpl-1", "text hel", "text lo"]);
    assert_eq!(brief(&answer), ["text hello"]);
    assert_eq!(answer.id.as_deref(), Some("chatcmpl-1"));
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(
        seen.header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
}
