//! The builtin extension `developer`, in a session of a running server.
#![cfg(feature = "developer")]

#[path = "../support/mod.rs"]
mod support;

mod analyze;
mod fake_programs;
mod full_disk;
mod gooseignore;
mod image;
mod process_lifetime;
mod prompts;
mod refused_calls;
mod repair_session;
mod screen;
mod shell;
mod stdio_server;
mod text_editor;

use serde_json::{Value, json};
use stdio_server::StdioServer;
use support::client::Answer;
use support::server::{Extension, Server, Session};

/// Runs the test in a session with the extension.
fn with_developer(test: impl FnOnce(&Session<'_>)) {
    let server = Server::new();
    // Files that a killed server leaves behind are removed with the test.
    let temp = server.root().to_str().expect("Unicode").to_owned();
    let server = server.env("TMPDIR", &temp).start();
    let session = server.session([Extension::builtin("developer")]);
    test(&session);
}

/// The text for the model.
fn model_text(answer: &Answer) -> &str {
    part(answer, "assistant")
}

/// The text for the user.
fn user_text(answer: &Answer) -> &str {
    part(answer, "user")
}

fn part<'a>(answer: &'a Answer, audience: &str) -> &'a str {
    let parts = answer.body["content"].as_array().expect("content");
    let of = |part: &&Value| part["annotations"]["audience"] == json!([audience]);
    let part = parts.iter().find(of).expect("a part for this audience");
    part["text"].as_str().expect("a text")
}

#[test]
fn it_is_activated_by_name_and_an_unknown_one_is_told_the_known() {
    with_developer(|session| {
        let tools = session.tools();
        let known = [
            "analyze",
            "image_processor",
            "list_windows",
            "screen_capture",
            "shell",
            "text_editor",
        ];
        let known = known.map(|tool| format!("developer__{tool}"));
        assert_eq!(tools, known);
        let answer = session.add(Extension::builtin("nosuch")).is(500);
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.starts_with("Failed to add extension"), "{message}");
        answer.says("nosuch").says("developer");
        session.remove("developer").is(200);
        assert!(session.tools().is_empty());
    });
}

#[test]
fn metadata_counts_in_any_letter_case_and_nonsense_is_passed_over() {
    let mut server = StdioServer::start();
    let mut says = |meta: Value, expected: String| {
        let arguments = json!({"command": "pwd; echo \"id=$AGENT_SESSION_ID\""});
        let params = json!({"name": "shell", "arguments": arguments, "_meta": meta});
        server.send(json!({"id": 1, "method": "tools/call", "params": params}));
        let answer = server.next();
        assert_eq!(answer["result"]["content"][0]["text"], expected, "{meta}");
    };
    let here = support::temp_dir();
    let here = here.path().canonicalize().unwrap();
    let meta = json!({"Agent-Working-DIR": here, "AGENT-SESSION-ID": "s-1"});
    says(meta, format!("{}\nid=s-1\n", here.display()));
    let own = std::env::current_dir().unwrap();
    for nonsense in [
        json!(5),
        json!(""),
        json!("/no/such/place"),
        json!("src"),
        json!(null),
    ] {
        let meta = json!({"agent-working-dir": nonsense, "agent-session-id": ["x"], "other": {}});
        says(meta, format!("{}\nid=\n", own.display()));
    }
}
