//! The builtin extension `developer`, in a session of a running server.
#![cfg(feature = "developer")]
#![cfg_attr(not(unix), allow(dead_code, unused_imports))] // Commands of a Unix shell are in some tests.

#[path = "../support/mod.rs"]
mod support;

#[cfg(feature = "analyze")]
mod analyze;
#[cfg(all(feature = "image", unix))] // The programs are scripts.
mod fake_programs;
#[cfg(unix)] // Limits and users.
mod full_disk;
mod gooseignore;
#[cfg(all(feature = "image", unix))]
mod image;
#[cfg(unix)] // Signals, and commands of a Unix shell.
mod process_lifetime;
mod prompts;
mod refused_calls;
#[cfg(feature = "analyze")]
mod repair_session;
#[cfg(all(feature = "screen", unix))]
mod screen;
#[cfg(unix)] // Commands of a Unix shell.
mod shell;
mod stdio_server;
mod text_editor;
mod working_directory;

use serde_json::{Value, json};
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
            #[cfg(feature = "analyze")]
            "analyze",
            #[cfg(feature = "image")]
            "image_processor",
            #[cfg(feature = "screen")]
            "list_windows",
            #[cfg(feature = "screen")]
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
