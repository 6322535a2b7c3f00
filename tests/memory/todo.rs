//! `todo`.

use crate::support::server::{Extension, Server, Session};
use serde_json::{Value, json};

fn write(session: &Session<'_>, list: &str) -> String {
    let answer = session.call("todo__todo_write", json!({"content": list}));
    answer.is(200).content().to_owned()
}

fn read(session: &Session<'_>) -> String {
    let answer = session.call("todo__todo_read", json!({}));
    answer.is(200).content().to_owned()
}

fn platform() -> Extension {
    Extension(json!({"type": "platform", "name": "todo", "bundled": true}))
}

#[test]
fn the_list_is_kept_with_its_session() {
    let server = Server::new().env("GOOSE_TODO_MAX_CHARS", "100").start();
    let session = server.session([Extension::builtin("todo")]);
    let other = server.session([Extension::builtin("todo")]);
    assert_eq!(read(&session), "The list is empty.");
    let said = write(&session, "- [x] a\n- [ ] b\n");
    assert_eq!(said, "The list is stored: 1 done, 1 open.");
    write(&other, "- [ ] other");
    assert_eq!(read(&session), "- [x] a\n- [ ] b\n");
    assert_eq!(read(&other), "- [ ] other");
    // The format of Goose.
    let stored = session.stored();
    assert_eq!(
        stored["extension_data"]["todo.v0"],
        json!({"content": "- [x] a\n- [ ] b\n"})
    );
    let id = session.id.clone();
    let server = server.restart();
    let session = server.known(&id);
    session.resume();
    assert_eq!(read(&session), "- [x] a\n- [ ] b\n");
    let answer = session.call("todo__todo_write", json!({"content": "x".repeat(101)}));
    let answer = answer.is(200);
    assert!(
        answer.content().contains("more than the limit of 100"),
        "{}",
        answer.content()
    );
    assert_eq!(answer.body["is_error"], true);
    assert_eq!(read(&session), "- [x] a\n- [ ] b\n");
}

#[test]
fn an_entry_of_goose_s_own_agent_activates_it() {
    let server = Server::new()
        .config("extensions:\n  todo:\n    enabled: true\n    type: platform\n    name: todo\n")
        .start();
    let session = server.start(json!({"working_dir": server.work()}));
    let results = session.resume();
    assert_eq!(results, [json!({"name": "todo", "success": true})]);
    assert_eq!(session.tools(), ["todo__todo_read", "todo__todo_write"]);
    write(&session, "- [ ] a");
    session.restart();
    assert_eq!(read(&session), "- [ ] a");
    let kept = server.get(&format!("/sessions/{}/extensions", session.id));
    assert_eq!(kept.is(200).body["extensions"][0]["type"], "platform");
    let session = server.session([]);
    session.add(platform()).is(200);
    assert_eq!(read(&session), "The list is empty.");
}

#[test]
fn the_model_sees_the_list_also_when_it_has_forgotten_the_conversation() {
    let list = "- [ ] tell Ada";
    let script = json!({"repeat": true, "turns": [
        {"when": {"user": "work"}, "steps": [
            {"call": {"name": "todo__todo_write", "arguments": {"content": list}}},
            {"text": "noted"},
        ]},
        {"when": {"user": "note"}, "steps": [{"text": "[{{news}}]"}]},
    ]});
    let server = Server::scripted(script).start();
    let session = server.session([Extension::builtin("todo")]);
    session.say("note").finishes().says("[]");
    session.say("work").finishes();
    session.say("/clear").finishes();
    let shown = "<checklist>\n- [ ] tell Ada\n</checklist>";
    session.say("note").finishes().says(shown);
    session.remove("todo").is(200);
    session.say("note").finishes().says("[]");
    let stored: Value = session.stored();
    assert_eq!(stored["extension_data"]["todo.v0"]["content"], list);
}
