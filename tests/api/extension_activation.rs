//! Activation of extensions: in the background, in parallel, once; and the types that are not supported.

use crate::http_peer::{Peer, answer};
use crate::support::scripted::{Action, Script};
use crate::support::server::{Extension, Record, Server};
use crate::support::system::exit_status;
use crate::support::until;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// A server that answers `initialize` after a delay.
fn slow(name: &str, record: &Record, ms: u64) -> Extension {
    let result = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": name, "version": "1"},
    });
    let script = Script::new()
        .recorded(&record.path())
        .on("initialize", [Action::Sleep(ms), Action::Result(result)]);
    Extension::scripted(name, &script)
}

#[test]
fn start_does_not_wait_and_resume_does() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.begin_session([slow("slow", &record, 2_000)]);
    assert!(record.all("tools/list").is_empty(), "start waited");
    assert_eq!(session.resume(), [json!({"name": "slow", "success": true})]);
    assert_eq!(record.all("tools/list").len(), 1);
    session.echoes("slow");
}

#[test]
fn a_call_waits_for_the_activation() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.begin_session([slow("slow", &record, 500)]);
    session.echoes("slow");
    assert_eq!(session.tools(), ["slow__echo"]);
}

#[cfg(feature = "developer")]
#[test]
fn a_timeout_beyond_every_clock_is_a_long_one() {
    let forever = i64::MAX;
    let mut server = Server::new();
    for setting in [
        "GOOSE_MCP_MAX_TIMEOUT",
        "GOOSE_APPROVAL_TIMEOUT",
        "GOOSE_ELICITATION_TIMEOUT",
        "GOOSE_FRONTEND_TIMEOUT",
        "GOOSE_SESSION_IDLE_SECS",
    ] {
        server = server.setting(setting, u64::MAX);
    }
    let server = server.start();
    let script = Script::new();
    let session = server.begin_session([
        Extension::scripted("healthy", &script),
        Extension::scripted("patient", &script).with("timeout", forever),
        Extension::builtin("developer").with("timeout", u64::MAX),
    ]);
    let mut results = session.resume();
    results.sort_by_key(|result| result["name"].to_string());
    let expected = ["developer", "healthy", "patient"];
    assert_eq!(
        results,
        expected.map(|name| json!({"name": name, "success": true}))
    );
    session.echoes("healthy");
    session.echoes("patient");
    let command = json!({"command": "echo done", "timeout_secs": 1e300});
    let answer = session.call("developer__shell", command).is(200);
    assert!(answer.content().contains("done"), "{}", answer.text);
    let added = Extension::scripted("late", &script).with("timeout", u64::MAX);
    session.add(added).is(200);
    session.echoes("late");
    server.never_logs("panicked");
}

#[test]
fn extensions_come_up_side_by_side() {
    let records: Vec<Record> = (0..5).map(|_| Record::new()).collect();
    let server = Server::new().start();
    let extensions = records
        .iter()
        .enumerate()
        .map(|(n, record)| slow(&format!("s{n}"), record, 1_000));
    let begin = Instant::now();
    server.session(extensions);
    assert!(
        begin.elapsed() < Duration::from_secs(4),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn stop_does_not_wait_for_the_activation() {
    let record = Record::new();
    let silent = Script::new().recorded(&record.path()).on("initialize", []);
    let server = Server::new().start();
    let session = server.begin_session([Extension::scripted("silent", &silent)]);
    record.wait_for_message("initialize");
    let results = thread::scope(|scope| {
        let resume = scope.spawn(|| session.resume());
        thread::sleep(Duration::from_millis(100));
        session.stop();
        resume.join().unwrap()
    });
    assert_eq!(results[0]["success"], false, "{results:?}");
    let alive = || {
        server
            .descendants()
            .into_iter()
            .any(|p| p.name().starts_with("scripted"))
    };
    assert!(!alive());
    session.call("silent__echo", json!({})).is(424);
    assert!(
        record.all("notifications/cancelled").is_empty(),
        "initialize is never cancelled"
    );
}

#[test]
fn a_client_that_no_longer_waits_does_not_stop_the_activation() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.begin_session([slow("slow", &record, 1_000)]);
    let body = json!({"session_id": session.id, "load_model_and_extensions": true});
    drop(server.begin("/agent/resume", body));
    assert_eq!(session.resume(), [json!({"name": "slow", "success": true})]);
    assert_eq!(record.starts().len(), 1);
}

#[test]
fn two_resumes_at_once_make_one_child() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([slow("slow", &record, 300)]);
    session.stop();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let expected = json!({"name": "slow", "success": true});
                assert_eq!(session.resume(), [expected]);
            });
        }
    });
    assert_eq!(record.starts().len(), 2);
}

#[test]
fn two_restarts_at_once_leave_one_child() {
    let record = Record::new();
    let server = Server::new().start();
    let session = server.session([slow("slow", &record, 200)]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| session.restart());
        }
    });
    session.resume();
    session.echoes("slow");
    if cfg!(target_os = "linux") {
        let servers = server.descendants().into_iter();
        assert_eq!(
            servers.filter(|p| p.name().starts_with("scripted")).count(),
            1
        );
    }
}

#[test]
fn an_extension_is_added_once_and_remembered() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let extension = || Extension::scripted("one", &script);
    let server = Server::new().start();
    let session = server.session([]);
    let stored = || {
        let path = format!("/sessions/{}/extensions", session.id);
        server.get(&path).is(200).body["extensions"].clone()
    };
    for _ in 0..2 {
        session.add(extension()).is(200).says_nothing();
        session.echoes("one");
        assert_eq!(stored().as_array().unwrap().len(), 1);
    }
    assert_eq!(record.starts().len(), 1, "the same again is nothing new");
    session.add(extension().with("timeout", 77)).is(200);
    session.echoes("one");
    assert_eq!(record.starts().len(), 2, "a changed one takes its place");
    assert_eq!(stored()[0]["timeout"], 77);
    session.stop();
    assert_eq!(session.resume(), [json!({"name": "one", "success": true})]);
    session.remove("One").is(200).says_nothing();
    assert_eq!(stored(), json!([]));
    session.stop();
    assert_eq!(session.resume(), [Value::Null; 0]);
}

#[test]
fn an_extension_that_fails_is_not_remembered() {
    let server = Server::new().start();
    let session = server.session([]);
    let dies = Extension::dying("dies", "boom", 3);
    session
        .add(dies)
        .is(500)
        .says("Failed to add extension: extension \"dies\", initialize")
        .says(&exit_status(3))
        .says("boom");
    let nothing = Extension::stdio("nocmd", "definitely-not-a-command", &[]);
    session
        .add(nothing)
        .is(500)
        .says("\"definitely-not-a-command\"");
    let path = format!("/sessions/{}/extensions", session.id);
    server.get(&path).is(200).gives(json!({"extensions": []}));
}

#[cfg(feature = "developer")]
#[test]
fn types_that_cannot_run_fail_at_once_and_say_why() {
    let server = Server::new().start();
    let file = server.root().join("file");
    fs::write(&file, "").unwrap();
    for (config, reason) in [
        (
            json!({"type": "sse", "name": "x", "uri": "http://127.0.0.1:9/sse"}),
            "streamable_http",
        ),
        (
            json!({"type": "frontend", "name": "x", "tools": [{"name": " "}]}),
            "has no name",
        ),
        (
            json!({"type": "frontend", "name": "x", "tools": [{"name": "t"}, {"name": "t"}]}),
            "two tools with the name \"t\"",
        ),
        (
            json!({"type": "frontend", "name": "x", "tools": [{"title": "t"}]}),
            "missing field `name`",
        ),
        (
            json!({"type": "builtin", "name": "x"}),
            "no builtin extension of this name, only demo, developer, memory, todo",
        ),
        (
            json!({"type": "stdio", "name": "x", "cmd": " "}),
            "`cmd` is empty",
        ),
        (
            json!({"type": "stdio", "name": "x", "cmd": file}),
            if cfg!(unix) {
                "not an executable"
            } else {
                "not a program"
            },
        ),
    ] {
        let error = server.refuses(Extension(config.clone()));
        assert!(
            error.contains("extension \"x\"") && error.contains(reason),
            "{error}"
        );
        let answer = server.session([]).add(Extension(config)).is(500);
        answer.says("Failed to add extension: ").says(reason);
    }
}

#[test]
fn platform_entries_are_kept_and_skipped() {
    let server = Server::new()
        .config("extensions:\n  tom:\n    enabled: true\n    type: platform\n    name: tom\n")
        .start();
    let session = server.start(json!({"working_dir": server.work()}));
    assert_eq!(session.resume(), [Value::Null; 0]);
    let path = format!("/sessions/{}/extensions", session.id);
    let kept = server.get(&path).is(200).body;
    assert_eq!(kept["extensions"][0]["name"], "tom");
    assert_eq!(kept["extensions"][0]["type"], "platform");
}

/// What Goose Desktop writes: its five builtin extensions, here all enabled, and parts of the agent.
const OF_DESKTOP: &str = "extensions:
  developer: {enabled: true, type: builtin, name: developer, description: General development tools, display_name: Developer, timeout: 300, bundled: true, available_tools: []}
  computercontroller: {enabled: true, type: builtin, name: computercontroller, description: Computer control, display_name: Computer Controller, timeout: 300, bundled: true, available_tools: []}
  autovisualiser: {enabled: true, type: builtin, name: autovisualiser, description: Data visualization, display_name: Auto Visualiser, timeout: 300, bundled: true, available_tools: []}
  tutorial: {enabled: true, type: builtin, name: tutorial, description: Interactive tutorials, display_name: Tutorial, timeout: null, bundled: true, available_tools: []}
  memory: {enabled: true, type: builtin, name: memory, description: Preferences, display_name: Memory, timeout: 300, bundled: true, available_tools: []}
  todo: {enabled: true, type: platform, name: todo, description: A list, display_name: Todo, bundled: true, available_tools: []}
  extensionmanager: {enabled: true, type: platform, name: Extension Manager, description: Extensions, display_name: Extension Manager, bundled: true, available_tools: []}
  chatrecall: {enabled: true, type: platform, name: chatrecall, description: Search, display_name: Chat Recall, bundled: true, available_tools: []}
  tom: {enabled: true, type: platform, name: tom, description: Top Of Mind, display_name: Top Of Mind, bundled: true, available_tools: []}
  code_execution: {enabled: true, type: platform, name: code_execution, description: Code Mode, display_name: Code Mode, bundled: true, available_tools: []}
  skills: {enabled: true, type: platform, name: skills, description: Skills, display_name: Skills, bundled: true, available_tools: []}
  summon: {enabled: true, type: platform, name: summon, description: Subagents, display_name: Summon, bundled: true, available_tools: []}
";

#[cfg(feature = "developer")]
#[test]
fn what_desktop_enables_is_active_or_said_not_to_be_shipped() {
    let server = Server::new().config(OF_DESKTOP).start();
    let session = server.start(json!({"working_dir": server.work()}));
    let results = session.resume();
    let active = ["developer", "memory", "todo"];
    let missing = ["autovisualiser", "computercontroller", "tutorial"];
    assert_eq!(results.len(), active.len() + missing.len(), "{results:?}");
    let result = |name: &str| {
        let mut found = results.iter().filter(|result| result["name"] == name);
        found
            .next()
            .unwrap_or_else(|| panic!("no result of {name}"))
    };
    for name in active {
        assert_eq!(result(name), &json!({"name": name, "success": true}));
    }
    for name in missing {
        assert_eq!(result(name)["success"], false);
        let error = result(name)["error"].as_str().unwrap();
        for part in [
            &format!("extension \"{name}\", config: gosling does not ship this extension of Goose"),
            "disable it",
            &format!("args: [mcp, {name}]"),
        ] {
            assert!(error.contains(part), "{error} lacks {part}");
        }
        assert!(!error.contains("there is no builtin"), "{error}");
    }
    assert_eq!(session.restart(), results);
    let owners: HashSet<String> = session
        .tools()
        .iter()
        .map(|tool| tool.split("__").next().unwrap().to_owned())
        .collect();
    assert_eq!(owners, HashSet::from(active.map(str::to_owned)));

    // A part of later releases' agent that gosling has as a builtin extension.
    session.remove("developer").is(200);
    let part = |name: &str| Extension(json!({"type": "platform", "name": name}));
    session.add(part("developer")).is(200);

    // Logged once for all sessions.
    for words in ["mcp, tutorial]", "chatrecall", "Extension Manager"] {
        assert_eq!(server.log().matches(words).count(), 1, "{}", server.log());
    }

    // A request that adds one gets the error, too.
    let builtin = |name: &str| Extension(json!({"type": "builtin", "name": name}));
    let answer = session.add(builtin("tutorial")).is(500);
    answer
        .says("Failed to add extension: ")
        .says("does not ship");
    let answer = session.add(builtin("tutorials")).is(500);
    answer.says("there is no builtin extension of this name, only ");
    let answer = session.add(part("Extension Manager")).is(500);
    answer
        .says("a part of Goose's own agent")
        .says("/agent/add_extension");
    let answer = session.add(part("nosuch")).is(500);
    answer.says("there is no platform extension of this name");
}

#[test]
#[cfg(unix)] // The standard folders are those of Unix.
fn a_program_is_found_where_path_is_poor() {
    let server = Server::new().env("PATH", "/nowhere").start();
    // The shell is in one of the standard folders, and finds its programs there.
    let error = server.refuses(Extension::shell("poor", "sleep 0; echo found >&2; exit 1"));
    assert!(
        error.contains("found") && !error.contains("not found"),
        "{error}"
    );
}

#[test]
fn sessions_do_not_share_their_servers() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = Server::new().start();
    let one = server.session([Extension::scripted("same", &script)]);
    let two = server.session([Extension::scripted("same", &script)]);
    assert_eq!(record.starts().len(), 2);
    one.stop();
    two.echoes("same");
    until("both are recorded", || {
        (record.all("initialize").len() == 2).then_some(())
    });
}

#[cfg_attr(
    not(feature = "streamable-http"),
    ignore = "its server is reached over HTTP"
)]
#[test]
fn a_server_that_wants_a_sign_in_says_where_and_what_to_do() {
    let peer = Peer::new(|seen, stream| {
        let error = match seen.header("authorization") {
            Some(_) => ", error=\"invalid_token\"",
            None => "",
        };
        let head = format!(
            "401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"https://a.b/m\"{error}"
        );
        answer(stream, &head, "")
    });
    let extension = |headers: Value| {
        Extension(json!({
            "type": "streamable_http", "name": "shut", "description": "", "uri": peer.url,
            "headers": headers,
        }))
    };
    let server = Server::new().start();
    assert_eq!(
        server.refuses(extension(json!({}))),
        "extension \"shut\", initialize: the server answered HTTP 401: the server needs a sign-in \
         (Bearer, resource_metadata https://a.b/m); set a header such as `Authorization: Bearer …` in \
         the extension's `headers`; signing in by OAuth is not supported yet"
    );
    let refused = server.refuses(extension(json!({"Authorization": "Bearer hunter2hunter2"})));
    for expected in [
        "refused the `Authorization` header",
        "error \"invalid_token\"",
    ] {
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(!refused.contains("hunter2"), "{refused}");
}

#[test]
fn the_end_that_was_asked_for_is_no_loss() {
    let server = Server::new().start();
    let session = server.session([
        Extension::demo(),
        Extension::scripted("one", &Script::new()),
    ]);
    session.remove("one").is(200);
    session.stop();
    server.never_logs("connection lost");
}
