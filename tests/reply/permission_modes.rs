//! Which tool calls need approval: modes, questions to the user, and stored permissions.

use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, RunningServer, Server, Session, scripted_mcp};
use crate::support::system;
use serde_json::{Value, json};

/// A model that calls `one__act` for each message and repeats the result.
fn caller() -> Value {
    json!({"repeat": true, "turns": [{"steps": [
        {"call": {"name": "one__act", "arguments": {"n": 1}}},
        {"text": "It says {{last_result}}."},
    ]}]})
}

fn approving(mode: &str) -> RunningServer {
    Server::scripted(caller())
        .setting("GOOSE_MODE", mode)
        .start()
}

fn tool(record: &Record) -> Extension {
    let script = Script::new().recorded(&record.path());
    Extension::scripted("one", &script.tool("act", [Action::text("done")]))
}

/// Sends a message, answers the one question, and returns the answer of the model.
fn say_and_answer(session: &Session<'_>, action: &str) -> String {
    let mut turn = session.begin_turn("go");
    let id = turn.asks();
    session.confirm(&id, action);
    turn.rest().finishes().text()
}

fn permissions(server: &RunningServer) -> String {
    std::fs::read_to_string(server.root().join("config/permission.yaml")).unwrap_or_default()
}

#[test]
fn the_user_is_asked_and_what_is_allowed_once_is_asked_again() {
    let record = Record::new();
    let server = approving("approve");
    let session = server.session([tool(&record)]);
    let mut turn = session.begin_turn("go");
    let call = turn.calls();
    let id = turn.asks();
    assert_eq!(id, call);
    let event = turn.events.last().unwrap();
    let part = &event["message"]["content"][0]["data"];
    assert_eq!(part["toolName"], "one__act");
    assert_eq!(part["arguments"], json!({"n": 1}));
    assert!(
        record.all("tools/call").is_empty(),
        "called before the answer"
    );
    session.confirm(&id, "allow_once");
    turn.rest().finishes().says("It says done.");
    assert_eq!(record.all("tools/call").len(), 1);
    assert!(say_and_answer(&session, "allow_once").contains("It says done."));
    assert_eq!(permissions(&server), "");
}

#[test]
fn the_server_gets_the_arguments_that_the_user_approves() {
    let record = Record::new();
    let call =
        json!({"name": "one__act", "arguments_text": r#"{"n": {"a": 1, "a": 2}, "m": 1, "m": 2}"#});
    let server = Server::scripted(json!({"turns": [{"steps": [{"raw_call": call}]}]}))
        .setting("GOOSE_MODE", "approve")
        .start();
    let session = server.session([tool(&record)]);
    let mut turn = session.begin_turn("go");
    let id = turn.asks();
    session.confirm(&id, "allow_once");
    turn.rest().finishes();
    let received = std::fs::read_to_string(record.path()).unwrap();
    let approved = r#""arguments":{"n":{"a":2},"m":2}"#;
    assert!(received.contains(approved), "{received}");
}

#[test]
fn what_is_always_allowed_is_not_asked_again() {
    let record = Record::new();
    let server = approving("approve");
    let session = server.session([tool(&record)]);
    assert!(say_and_answer(&session, "always_allow").contains("It says done."));
    let turn = session.say("again").finishes().says("It says done.");
    assert!(turn.parts_of("actionRequired").is_empty());
    assert!(permissions(&server).contains("one__act"));
    let server = server.restart();
    let session = server.session([tool(&record)]);
    let turn = session.say("again").finishes().says("It says done.");
    assert!(turn.parts_of("actionRequired").is_empty());
}

/// Whether the user is asked about the call of the next turn; it is not made then.
fn is_asked(session: &Session<'_>) -> bool {
    let mut turn = session.begin_turn("again");
    let id = turn.calls();
    let asked = turn.until("a question or a result", |event| {
        let kind = event["message"]["content"][0]["type"].as_str()?;
        match kind {
            "actionRequired" => Some(true),
            "toolResponse" => Some(false),
            _ => None,
        }
    });
    if asked {
        session.confirm(&id, "deny_once");
    }
    turn.rest().finishes();
    asked
}

#[test]
fn always_does_not_hold_for_another_program_of_the_same_name() {
    let record = Record::new();
    let server = approving("approve");
    let session = server.session([tool(&record)]);
    assert!(say_and_answer(&session, "always_allow").contains("It says done."));
    assert!(!is_asked(&session));
    session.stop();
    for other in [
        tool(&Record::new()),
        tool(&record).with("envs", json!({"MORE": "1"})),
        tool(&record).with("cwd", "own"),
    ] {
        let session = server.session([other]);
        assert!(is_asked(&session));
        session.stop();
    }
    server.logs("asking again, because always was for another tool or launch tool=\"one__act\"");
    let session = server.session([tool(&record).with("timeout", 9)]);
    assert!(!is_asked(&session));
    assert!(permissions(&server).contains("one__act"), "Goose reads it");
}

#[test]
fn always_does_not_hold_for_the_same_words_in_another_folder_or_for_other_values() {
    let record = Record::new();
    let server = approving("approve");
    let folders = ["one", "two"].map(|name| server.work().join(name));
    let place = |folder: &std::path::Path| {
        std::fs::create_dir_all(folder).unwrap();
        system::symlink(scripted_mcp(), folder.join("server")).unwrap();
    };
    folders.iter().for_each(|folder| place(folder));
    let begin = |folder: &std::path::Path, secret: &str, values: Value| {
        let key = json!({"key": "TOKEN", "value": secret, "is_secret": true});
        server.post("/config/upsert", key).is(200);
        let extension = tool(&record)
            .with("cmd", "./server")
            .with("envs", values)
            .with("env_keys", ["TOKEN"]);
        let session =
            server.start(json!({"working_dir": folder, "extension_overrides": [extension.0]}));
        session.resume();
        session
    };
    let [one, two] = &folders;
    let values = || json!({"ACCOUNT": "sesame"});
    let session = begin(one, "old", values());
    assert!(say_and_answer(&session, "always_allow").contains("It says done."));
    assert!(!is_asked(&session));
    assert!(!is_asked(&begin(one, "rotated", values())));
    assert!(is_asked(&begin(two, "old", values())));
    assert!(is_asked(&begin(one, "old", json!({"ACCOUNT": "other"}))));
    let kept = std::fs::read_to_string(server.root().join("config/permission_launches.yaml"));
    assert!(!kept.unwrap().contains("sesame"));
}

#[test]
fn always_does_not_hold_for_a_file_of_another_folder_that_is_gone_once_it_runs() {
    let record = Record::new();
    let server = approving("approve");
    let program = server.work().join("server");
    system::symlink(scripted_mcp(), &program).unwrap();
    let mut args = vec![json!("./server")];
    args.extend(tool(&record).0["args"].as_array().unwrap().iter().cloned());
    let extension = tool(&record).with("cmd", "env").with("args", args.clone());
    let launch = json!({"type": "stdio", "cmd": "env", "args": args, "variables": []});
    let origin = json!({"extension": "one", "tool": "act", "launch": launch.to_string()});
    for (name, content) in [
        (
            "permission_launches.yaml",
            json!({"always_allow": [origin]}),
        ),
        (
            "permission.yaml",
            json!({"user": {"always_allow": ["one__act"]}}),
        ),
    ] {
        std::fs::write(server.root().join("config").join(name), content.to_string()).unwrap();
    }
    let session = server.session([extension]);
    std::fs::remove_file(&program).unwrap();
    assert!(is_asked(&session));
}

#[test]
fn always_of_a_version_that_did_not_know_the_values_is_asked_once() {
    let record = Record::new();
    let server = approving("approve");
    let extension = || tool(&record).with("envs", json!({"ACCOUNT": "1"}));
    let config = extension().0;
    let launch = json!({"type": "stdio", "cmd": config["cmd"], "args": config["args"], "variables": ["ACCOUNT"]});
    let origin = json!({"extension": "one", "tool": "act", "launch": launch.to_string()});
    let write = |name: &str, text: String| {
        std::fs::write(server.root().join("config").join(name), text).unwrap();
    };
    write(
        "permission_launches.yaml",
        json!({"always_allow": [origin]}).to_string(),
    );
    write(
        "permission.yaml",
        json!({"user": {"always_allow": ["one__act"]}}).to_string(),
    );
    let session = server.session([extension()]);
    assert!(say_and_answer(&session, "always_allow").contains("It says done."));
    assert!(!is_asked(&session));
    // What that version knew whole still holds.
    let launch =
        json!({"type": "stdio", "cmd": config["cmd"], "args": config["args"], "variables": []});
    let origin = json!({"extension": "one", "tool": "act", "launch": launch.to_string()});
    write(
        "permission_launches.yaml",
        json!({"always_allow": [origin]}).to_string(),
    );
    assert!(!is_asked(&server.session([tool(&record)])));
}

#[test]
fn always_holds_for_one_of_two_tools_with_the_same_full_name() {
    let extension = |name: &str, tool: &str| {
        let script = Script::new().tool(tool, [Action::text("done")]);
        Extension::scripted(name, &script)
    };
    let calls = json!({"repeat": true, "turns": [{"steps": [
        {"call": {"name": "a__b__c", "arguments": {}}}, {"text": "It says {{last_result}}."},
    ]}]});
    let server = Server::scripted(calls)
        .setting("GOOSE_MODE", "approve")
        .start();
    let session = server.session([extension("a", "b__c")]);
    assert!(say_and_answer(&session, "always_allow").contains("It says done."));
    assert!(!is_asked(&session));
    assert!(is_asked(&server.session([extension("a__b", "c")])));
}

#[test]
fn an_answer_without_an_origin_holds_for_the_first_program() {
    let record = Record::new();
    let server = approving("approve");
    let text = "user:\n  always_allow: [one__act]\n  ask_before: []\n  never_allow: []\n";
    std::fs::write(server.root().join("config/permission.yaml"), text).unwrap();
    let session = server.session([tool(&record)]);
    assert!(!is_asked(&session));
    server.logs("always allowed from now on as it is launched now tool=\"one__act\"");
    session.stop();
    let key = json!({"key": "TOKEN", "value": "secret", "is_secret": true});
    server.post("/config/upsert", key).is(200);
    let other = tool(&record).with("env_keys", ["TOKEN"]);
    assert!(is_asked(&server.session([other])));
    let allow =
        json!({"tool_permissions": [{"tool_name": "one__act", "permission": "always_allow"}]});
    server.post("/config/permissions", allow).is(200);
    let other = tool(&record).with("env_keys", ["TOKEN"]);
    assert!(!is_asked(&server.session([other])));
}

#[test]
fn never_holds_for_every_program() {
    let record = Record::new();
    let server = approving("approve");
    let session = server.session([tool(&record)]);
    say_and_answer(&session, "always_deny");
    session.stop();
    let session = server.session([tool(&record).with("envs", json!({"MORE": "1"}))]);
    session.say("again").finishes().says("forbidden");
}

#[test]
fn what_is_denied_is_not_called_and_the_model_learns_it() {
    let record = Record::new();
    let server = approving("approve");
    let session = server.session([tool(&record)]);
    for action in ["deny_once", "cancel", "deny_once"] {
        let said = say_and_answer(&session, action);
        assert!(said.contains("does not want this tool"), "{said}");
    }
    assert_eq!(permissions(&server), "");
    let said = say_and_answer(&session, "always_deny");
    assert!(said.contains("does not want this tool"), "{said}");
    let turn = session.say("again").finishes().says("forbidden");
    assert!(turn.parts_of("actionRequired").is_empty());
    assert!(record.all("tools/call").is_empty());
    server.set("GOOSE_MODE", "auto");
    session.say("again").finishes().says("forbidden");
    assert!(record.all("tools/call").is_empty());
}

#[test]
fn what_only_reads_may_run_unasked() {
    let record = Record::new();
    let listed = |name: &str, reads: bool| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": reads}});
    let tools = json!({"tools": [listed("look", true), listed("act", false)]});
    let script = Script::new().recorded(&record.path());
    let script = script
        .on("tools/list", [Action::Result(tools)])
        .tool("look", [Action::text("seen")])
        .tool("act", [Action::text("done")]);
    let calls = json!({"turns": [{"steps": [
        {"calls": [{"name": "one__look"}, {"name": "one__act"}]}, {"text": "{{last_result}}"},
    ]}]});
    let server = Server::scripted(calls)
        .setting("GOOSE_MODE", "smart_approve")
        .start();
    let session = server.session([Extension::scripted("one", &script)]);
    let mut turn = session.begin_turn("go");
    let id = turn.asks();
    record.wait_for_message("tools/call");
    session.confirm(&id, "allow_once");
    let turn = turn.rest().finishes().gives(&["seen", "done"]);
    let asked = turn.parts_of("actionRequired");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["data"]["toolName"], "one__act");
}

#[test]
fn in_chat_mode_there_are_no_tools() {
    let record = Record::new();
    let script = json!({"repeat": true, "turns": [{"steps": [
        {"text": "I have [{{tools}}]. "}, {"call": {"name": "one__act"}}, {"text": "{{last_result}}"},
    ]}]});
    let server = Server::scripted(script)
        .setting("GOOSE_MODE", "chat")
        .start();
    let session = server.session([tool(&record)]);
    session
        .say("go")
        .finishes()
        .says("I have [].")
        .says("switched off");
    assert!(record.all("tools/call").is_empty());
    server.set("GOOSE_MODE", "auto");
    session.say("go").finishes().says("one__act").says("done");
}

#[test]
fn a_change_of_mode_holds_from_the_next_turn_on() {
    let record = Record::new();
    let server = approving("auto");
    let session = server.session([tool(&record)]);
    session.say("go").finishes().says("It says done.");
    server.set("GOOSE_MODE", "approve");
    assert!(say_and_answer(&session, "allow_once").contains("It says done."));
    server.set("GOOSE_MODE", "auto");
    session.say("go").finishes().says("It says done.");
}

#[test]
fn answers_that_nobody_waits_for_do_nothing() {
    let record = Record::new();
    let server = approving("approve");
    let session = server.session([tool(&record)]);
    session.confirm("nobody", "always_allow");
    let mut turn = session.begin_turn("go");
    let id = turn.asks();
    session.confirm("nobody", "always_allow");
    server.session([]).confirm(&id, "always_allow");
    session.confirm(&id, "deny_once");
    session.confirm(&id, "always_allow");
    turn.rest().finishes().says("does not want");
    session.confirm(&id, "always_allow");
    assert_eq!(permissions(&server), "");
    assert!(record.all("tools/call").is_empty());
    let body = json!({"id": "x", "action": "allow_once", "sessionId": "20000101_1"});
    let path = "/action-required/tool-confirmation";
    server.post(path, body).is(200).gives(json!({}));
    let body = json!({"id": "x", "action": "perhaps", "sessionId": session.id});
    server.post(path, body).is(422);
}

#[test]
fn two_questions_may_be_answered_in_any_order() {
    let one = Script::new().tool("a", [Action::text("A")]);
    let one = one.tool("b", [Action::text("B")]);
    let calls = json!({"turns": [{"steps": [
        {"calls": [{"name": "one__a"}, {"name": "one__b"}]}, {"text": "So."},
    ]}]});
    let server = Server::scripted(calls)
        .setting("GOOSE_MODE", "approve")
        .start();
    let session = server.session([Extension::scripted("one", &one)]);
    let mut turn = session.begin_turn("go");
    let (first, second) = (turn.asks(), turn.asks());
    session.confirm(&second, "allow_once");
    session.confirm(&first, "deny_once");
    let turn = turn.rest().finishes();
    let results = turn.results();
    assert!(results[0].contains("does not want"), "{results:?}");
    assert_eq!(results[1], "B");
    let ids: Vec<_> = turn
        .parts_of("toolResponse")
        .iter()
        .map(|r| r["id"].clone())
        .collect();
    assert_eq!(ids, [first, second]);
}

#[test]
fn a_file_of_permissions_that_cannot_be_read_is_no_leave_to_call() {
    let record = Record::new();
    let server = approving("auto");
    let session = server.session([tool(&record)]);
    std::fs::write(server.root().join("config/permission.yaml"), "user: [").unwrap();
    session.say("go").finishes().says("permission.yaml");
    assert!(record.all("tools/call").is_empty());
    server.set("GOOSE_MODE", "approve");
    assert!(say_and_answer(&session, "allow_once").contains("It says done."));
}

#[test]
fn chat_mode_offers_tools_only_where_the_conversation_has_calls_and_runs_none() {
    let record = Record::new();
    let server = Server::scripted(json!({"repeat": true, "turns": [
        {"when": {"user": "call"}, "steps": [
            {"call": {"name": "one__act", "arguments": {}}},
            {"text": "It says {{last_result}}."},
        ]},
        {"when": {"user": "list"}, "steps": [{"text": "I have: {{tools}}."}]},
    ]}))
    .setting("GOOSE_MODE", "chat")
    .start();
    let session = server.session([tool(&record)]);
    session.say("list").says("I have: .");
    server.set("GOOSE_MODE", json!("auto"));
    session.say("call").says("It says done.");
    server.set("GOOSE_MODE", json!("chat"));
    session.say("list").says("I have: one__act");
    session.say("call").never_says("It says done.");
    assert_eq!(record.all("tools/call").len(), 1);
}

#[test]
fn a_question_that_is_not_answered_in_time_is_no_approval() {
    let record = Record::new();
    let server = Server::scripted(caller())
        .setting("GOOSE_MODE", "approve")
        .setting("GOOSE_APPROVAL_TIMEOUT", 1)
        .start();
    let session = server.session([tool(&record)]);
    let mut turn = session.begin_turn("go");
    turn.asks();
    turn.rest().finishes().says("did not answer in time");
    assert!(record.all("tools/call").is_empty());
    assert_eq!(permissions(&server), "");
}

#[test]
fn where_permissions_cannot_be_read_a_tool_that_only_reads_is_asked_about_too() {
    let record = Record::new();
    let tools = json!({"tools": [{
        "name": "act", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
    }]});
    let script = Script::new()
        .recorded(&record.path())
        .on("tools/list", [Action::Result(tools)])
        .tool("act", [Action::text("done")]);
    let server = approving("smart_approve");
    let session = server.session([Extension::scripted("one", &script)]);
    std::fs::write(server.root().join("config/permission.yaml"), "user: [").unwrap();
    let mut turn = session.begin_turn("go");
    let id = turn.asks();
    assert!(record.all("tools/call").is_empty());
    session.confirm(&id, "deny_once");
    turn.rest().finishes().says("does not want this tool");
    assert!(record.all("tools/call").is_empty());
}

#[test]
fn a_running_turn_follows_a_stricter_mode_from_its_next_calls_on() {
    let record = Record::new();
    let form = json!({"message": "name?", "requestedSchema": {"type": "object", "properties": {}}});
    let script = Script::new()
        .recorded(&record.path())
        .tool(
            "wait",
            [
                Action::AskWith("elicitation/create".into(), form),
                Action::text("over"),
            ],
        )
        .tool("act", [Action::text("done")]);
    let calls = json!({"turns": [{"steps": [
        {"call": {"name": "one__wait"}}, {"call": {"name": "one__act"}}, {"text": "{{last_result}}"},
    ]}]});
    let server = Server::scripted(calls)
        .setting("GOOSE_MODE", "auto")
        .start();
    let session = server.session([Extension::scripted("one", &script)]);
    let mut turn = session.begin_turn("go");
    let (question, _) = turn.elicits();
    let stricter = json!({"goose_mode": "approve"});
    session.post("/agent/update_session", stricter).is(200);
    session.fills_in(&question, json!({}));
    let id = turn.asks();
    assert_eq!(record.all("tools/call").len(), 1);
    session.confirm(&id, "deny_once");
    turn.rest().finishes().says("does not want this tool");
    assert_eq!(record.all("tools/call").len(), 1);
}

#[test]
fn an_empty_mode_is_none() {
    let record = Record::new();
    let server = Server::scripted(caller()).env("GOOSE_MODE", "").start();
    let session = server.session([tool(&record)]);
    session.say("go").finishes().says("It says done.");
}
