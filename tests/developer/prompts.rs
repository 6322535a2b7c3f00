//! Prompts: the built-in ones and those of the user.

use crate::support::server::{Extension, Server, Session, gosling};
use crate::support::{temp_dir, until};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

#[test]
fn on_stdio_too_it_is_said_which_are_broken() {
    let root = temp_dir();
    let folder = root.path().join("config/prompts/developer");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("broken.json"), "{").unwrap();
    let mut server = gosling()
        .args(["mcp", "developer"])
        .env("GOOSE_PATH_ROOT", root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let mut stdin = server.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/list"}),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    let answers = BufReader::new(server.stdout.take().unwrap()).lines();
    assert_eq!(answers.take(2).filter(Result::is_ok).count(), 2);
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("broken.json"), "{said}");
    assert!(!root.path().join("state").exists());
}

/// The listed prompts of the extension.
fn listed(session: &Session<'_>) -> Vec<Value> {
    let path = format!("/agent/prompts?session_id={}", session.id);
    let answer = session.server.get(&path).is(200);
    answer.body["prompts"].as_array().unwrap().clone()
}

fn names(session: &Session<'_>) -> Vec<String> {
    let listed = listed(session);
    let names = listed.iter().map(|prompt| prompt["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

fn folder(session: &Session<'_>) -> PathBuf {
    let folder = session.server.root().join("config/prompts/developer");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn scripted() -> Server {
    Server::scripted(
        json!({"repeat": true, "turns": [{"steps": [{"text": "I heard: {{last_user}}"}]}]}),
    )
}

const OWN: [&str; 4] = [
    "fix_failing_test",
    "review_changes",
    "explain_code",
    "plan_change",
];

#[test]
fn there_are_some_and_they_are_filled_in() {
    let server = scripted().start();
    let session = server.session([Extension::builtin("developer")]);
    assert_eq!(names(&session), OWN);
    let said = session
        .say("/prompt plan_change goal=\"no more waiting\"")
        .text();
    assert!(said.contains("I want this: no more waiting"), "{said}");
    assert!(!said.contains("must stay"), "{said}");
    let said = session
        .say("/prompt plan_change goal=speed limits=memory")
        .text();
    assert!(said.contains("This must stay as it is: memory"), "{said}");
}

#[test]
fn those_of_the_user_are_read_anew_and_broken_ones_are_left_out() {
    let server = scripted().start();
    let session = server.session([Extension::builtin("developer")]);
    let folder = folder(&session);
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("greet.md", "Say hello to {{WHO}}.");
    write(
        "talk.json",
        r#"{"name": "small_talk", "description": "Talks", "arguments": [{"name": "about", "description": "What"}],
            "messages": [{"role": "user", "content": "About {{about}}?"},
                         {"role": "assistant", "content": {"type": "text", "text": "Yes, {{about}}."}},
                         {"role": "user", "content": "Go on."}]}"#,
    );
    write("plan_change.md", "Our own way to plan.");
    write("broken.json", "{\"template\": ");
    write("ignored.txt", "x");
    write(".hidden.md", "x");
    fs::create_dir(folder.join("folder.md")).unwrap();
    fs::write(folder.join("binary.md"), b"\xff\xfe\x00").unwrap();
    fs::write(folder.join("large.md"), "x".repeat(70_000)).unwrap();
    let expected: Vec<&str> = OWN[..3]
        .iter()
        .copied()
        .chain(["greet", "plan_change", "small_talk"])
        .collect();
    assert_eq!(names(&session), expected);
    for name in ["broken.json", "binary.md", "large.md", "folder.md"] {
        server.logs(name);
    }
    let all = listed(&session);
    let greet = all.iter().find(|prompt| prompt["name"] == "greet").unwrap();
    assert_eq!(greet["description"], "Say hello to {{WHO}}.");
    assert_eq!(greet["arguments"][0]["name"], "WHO");
    assert_eq!(greet["arguments"][0]["required"], true);

    let said = session.say("/prompt greet WHO={{WHO}}").text();
    assert!(said.contains("Say hello to {{WHO}}."), "{said}");
    let said = session.say("/prompt plan_change").text();
    assert!(said.contains("Our own way"), "{said}");

    write("greet.md", "Say goodbye to {{WHOM}}, who leaves.");
    fs::remove_file(folder.join("plan_change.md")).unwrap();
    until("the change counts", || {
        let said = session.say("/prompt greet WHOM=Ada").text();
        said.contains("Say goodbye to Ada, who leaves.")
            .then_some(())
    });
    let said = session.say("/prompt plan_change goal=peace").text();
    assert!(said.contains("I want this: peace"), "{said}");
}
