//! The builtin extension `developer`, in a session of a real server.

#[path = "../support/mod.rs"]
mod support;

mod analyze;
mod editor;
mod ending;
mod guard;
mod image;
mod on_stdio;
mod programs;
mod prompts;
mod repair;
mod screen;
mod shell;

use gosling::mcp::client::{Call, Client, Deaf, Options};
use gosling::mcp::transport::stdio::{StdioOptions, StdioTransport};
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::sync::Arc;
use support::client::Answer;
use support::server::{Extension, GOSLING, Server, Session};

/// Runs the test in a session that has the extension, in its working directory.
fn with_developer(test: impl FnOnce(&Session<'_>)) {
    let server = Server::new();
    // What it leaves there when it is killed goes with the test.
    let temp = server.root().to_str().expect("Unicode").to_owned();
    let server = server.env("TMPDIR", &temp).start();
    let session = server.session([builtin("developer")]);
    test(&session);
}

fn builtin(name: &str) -> Extension {
    Extension(json!({"type": "builtin", "name": name, "bundled": true, "timeout": 300}))
}

/// What the assistant is told.
fn said(answer: &Answer) -> &str {
    part(answer, "assistant")
}

/// What the user is shown.
fn shown(answer: &Answer) -> &str {
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
        let answer = session.add(builtin("nosuch")).is(500);
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.starts_with("Failed to add extension"), "{message}");
        answer.says("nosuch").says("developer");
        session.remove("developer").is(200);
        assert!(session.tools().is_empty());
    });
}

/// What one of its tools gives over stdio, to a client that sends this `_meta`.
fn on_stdio(meta: Value, tool: &str, arguments: Value) -> Value {
    let mut command = std::process::Command::new(GOSLING);
    command.args(["mcp", "developer"]);
    let options = StdioOptions {
        name: "developer".to_owned(),
        max_line: 1 << 20,
        secrets: Vec::new(),
    };
    let transport = Arc::new(StdioTransport::spawn(command, options).unwrap());
    let mut options = Options::new("developer");
    options.meta = meta.as_object().unwrap().clone();
    let cancel = Cancel::new();
    let client = Client::connect(transport, options, Arc::new(Deaf), &cancel).unwrap();
    let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
    let result = client.call_tool(tool, &arguments, Call::default(), &cancel);
    serde_json::from_str(result.unwrap().content[0].as_json()).unwrap()
}

#[test]
fn metadata_counts_in_any_letter_case_and_nonsense_is_passed_over() {
    let here = support::temp_dir();
    let here = here.path().canonicalize().unwrap();
    let command = json!({"command": "pwd; echo \"id=$AGENT_SESSION_ID\""});
    let meta = json!({"Agent-Working-DIR": here, "AGENT-SESSION-ID": "s-1"});
    let said = on_stdio(meta, "shell", command.clone());
    assert_eq!(said["text"], format!("{}\nid=s-1\n", here.display()));
    for nonsense in [
        json!(5),
        json!(""),
        json!("/no/such/place"),
        json!("src"),
        json!(null),
    ] {
        let meta = json!({"agent-working-dir": nonsense, "agent-session-id": ["x"], "other": {}});
        let said = on_stdio(meta, "shell", command.clone());
        let own = std::env::current_dir().unwrap();
        assert_eq!(said["text"], format!("{}\nid=\n", own.display()));
    }
}
