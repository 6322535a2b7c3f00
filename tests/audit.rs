//! The audit log of a real server: what is recorded of what its clients do, whichever way they come, and that the log
//! is whole.
#![cfg(all(feature = "audit", feature = "scripted", feature = "developer"))]

mod support;

use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use support::client::{Answer, KEY};
use support::server::{Extension, RunningServer, Server, gosling};
use support::{temp_dir, until};

/// Runs `gosling audit` on the files of this server.
fn audit(server: &RunningServer, arguments: &[&str]) -> Output {
    let mut command = gosling();
    command.env("GOOSE_PATH_ROOT", server.root());
    command.arg("audit").args(arguments).output().unwrap()
}

/// The records that fit these filters.
#[track_caller]
fn records(server: &RunningServer, filters: &[&str]) -> Vec<Value> {
    let output = audit(server, &[&["show", "--json"], filters].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The only record that fits these filters.
#[track_caller]
fn record(server: &RunningServer, filters: &[&str]) -> Value {
    let all = records(server, filters);
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0].clone()
}

#[track_caller]
fn is_whole(server: &RunningServer) -> Value {
    let output = audit(server, &["verify", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{report}");
    report
}

/// A script that runs this command whenever the user says something.
fn runs(command: &str) -> Value {
    let call = json!({"call": {"name": "developer__shell", "arguments": {"command": command}}});
    json!({"turns": [{"steps": [call, {"text": "done"}]}], "repeat": true})
}

#[test]
fn a_call_of_a_client_is_recorded_before_it_runs_and_at_its_end() {
    let server = Server::new().start();
    let session = server.session([Extension::builtin("developer")]);
    let running = session.begin_call("developer__shell", json!({"command": "sleep 30"}));
    let begun = until("the call is recorded", || {
        records(&server, &["--kind", "tool_call"]).pop()
    });
    assert_eq!(begun["extension"], "developer");
    assert_eq!(begun["subject"], "shell");
    assert_eq!(begun["session"], *session.id);
    assert_eq!(
        (&begun["front"], &begun["key"]),
        (&json!("http"), &json!("server"))
    );
    assert!(begun["address"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert_eq!(
        (&begun["decision"], &begun["by"]),
        (&json!("allowed"), &json!("client"))
    );
    assert_eq!(
        begun["arguments"]["shape"],
        json!({"command": "string of 8"})
    );
    assert!(!begun.to_string().contains("sleep"));
    // What is left of a crash is the attempt.
    let server = {
        let id = session.id.clone();
        drop(running);
        server.kill();
        let server = server.again();
        assert_eq!(
            records(&server, &["--kind", "tool_call", "--session", &id]).len(),
            1
        );
        server
    };
    let session = server.session([Extension::builtin("developer")]);
    session
        .call("developer__shell", json!({"command": "true"}))
        .is(200);
    let of_it = records(&server, &["--kind", "tool_call", "--session", &session.id]);
    assert_eq!(of_it.len(), 2);
    assert_eq!(
        (&of_it[1]["of"], &of_it[1]["outcome"]),
        (&of_it[0]["seq"], &json!("ok"))
    );
    assert!(of_it[1]["ms"].as_f64().unwrap() > 0.0);
    session.call("developer__shell", json!({"command": "exit 3"}));
    session.call("developer__shell", json!({}));
    let outcomes = records(&server, &["--kind", "tool_call", "--session", &session.id]);
    let outcomes: Vec<&Value> = outcomes.iter().map(|it| &it["outcome"]).collect();
    assert!(outcomes[2..].contains(&&json!("is_error")), "{outcomes:?}");
    is_whole(&server);
}

#[test]
fn a_client_that_takes_the_questions_away_is_seen() {
    let server = Server::scripted(runs("true"));
    let server = server.env("GOOSE_MODE", "approve").start();
    let session = server.session([Extension::builtin("developer")]);
    let mut turn = session.begin_turn("go");
    let question = turn.asks();
    session.confirm(&question, "allow_once");
    turn.rest().finishes();
    let approval = record(&server, &["--kind", "approval"]);
    assert_eq!(approval["request"], *question);
    assert_eq!(
        (&approval["decision"], &approval["outcome"]),
        (&json!("allowed"), &json!("once"))
    );
    let call = records(&server, &["--kind", "tool_call"]).swap_remove(0);
    assert_eq!(
        (&call["by"], &call["request"]),
        (&json!("user"), &json!(question))
    );
    let turns = records(&server, &["--kind", "turn"]);
    assert_eq!(call["turn"], turns[0]["seq"]);
    assert_eq!(turns[1]["outcome"], "ok");

    let mut turn = session.begin_turn("go");
    let question = turn.asks();
    session.confirm(&question, "deny_once");
    turn.rest();
    let denied = record(&server, &["--outcome", "denied"]);
    assert_eq!(
        (&denied["by"], &denied["subject"]),
        (&json!("user"), &json!("shell"))
    );

    session
        .post("/agent/update_session", json!({"goose_mode": "auto"}))
        .is(200);
    let changed = record(&server, &["--subject", "goose_mode"]);
    assert_eq!(changed["arguments"]["value"], "\"auto\"");
    assert_eq!(changed["session"], *session.id);
    session.say("go").finishes();
    let last = records(&server, &["--kind", "tool_call"]);
    let last = last.iter().rev().find(|it| it["of"].is_null()).unwrap();
    assert_eq!(last["by"], "mode");
    is_whole(&server);
}

#[test]
fn settings_refusals_and_sessions_are_recorded_and_secrets_are_not() {
    let server = Server::new().start();
    let set = |key: &str, value: &str, is_secret: bool| {
        let body = json!({"key": key, "value": value, "is_secret": is_secret});
        server.post("/config/upsert", body).is(200);
    };
    set("GOOSE_MODE", "chat", false);
    set("OPENAI_API_KEY", "sk-a-secret-of-a-test-123456", true);
    set("MY_PLAIN", "sk-a-secret-of-a-test-123456", false);
    let of = |subject: &str| record(&server, &["--kind", "setting", "--subject", subject]);
    assert_eq!(of("GOOSE_MODE")["arguments"]["value"], "\"chat\"");
    assert_eq!(of("OPENAI_API_KEY")["extension"], "secrets.yaml");
    assert_eq!(of("OPENAI_API_KEY")["arguments"], Value::Null);
    assert_eq!(of("MY_PLAIN")["outcome"], "set");
    let remove = json!({"key": "MY_PLAIN", "is_secret": false});
    server.post("/config/remove", remove).is(200);
    let last = records(&server, &["--subject", "MY_PLAIN"]).pop().unwrap();
    assert_eq!(last["outcome"], "removed");

    server
        .ask("GET", "/config", Some("a wrong key"), None)
        .is(401);
    let refused = record(&server, &["--kind", "refused"]);
    assert_eq!(refused["key"], Value::Null);
    assert_eq!(
        (&refused["subject"], &refused["outcome"]),
        (&json!("GET /config"), &json!("401"))
    );

    let session = server.session([Extension::builtin("developer")]);
    let id = session.id.clone();
    let allow = json!([{"tool_name": "developer__shell", "permission": "always_allow"}]);
    server
        .post("/config/permissions", json!({"tool_permissions": allow}))
        .is(200);
    let allowed = record(&server, &["--subject", "developer__shell"]);
    assert_eq!(allowed["subject"], "user.always_allow developer__shell");
    assert_eq!(
        (&allowed["extension"], &allowed["outcome"]),
        (&json!("permission.yaml"), &json!("added"))
    );
    server.get(&format!("/sessions/{id}/export")).is(200);
    server.delete(&format!("/sessions/{id}")).is(200);
    let of_it = |kind: &str| {
        let all = records(&server, &["--kind", kind, "--session", &id]);
        all.iter()
            .map(|it| it["outcome"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of_it("session"), ["created", "exported", "deleted"]);
    let extension = of_it("extension");
    assert_eq!(extension, [Value::Null, json!("started"), json!("stopped")]);
    server.refuses(Extension::dying("dead", "", 1));
    let dead = records(&server, &["--kind", "extension", "--extension", "dead"]);
    let outcomes: Vec<&Value> = dead.iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, [&Value::Null, &json!("initialize")]);
    // What is recorded by itself has no record of its request.
    assert!(records(&server, &["--kind", "request", "--subject", &id]).is_empty());
    server.post("/recipes/encode", json!({})).is(422);
    let request = record(&server, &["--kind", "request", "--subject", "/recipes"]);
    assert_eq!(
        (&request["subject"], &request["outcome"]),
        (&json!("POST /recipes/encode"), &json!("422"))
    );

    let all = fs::read_to_string(server.root().join("data/audit/1.jsonl")).unwrap();
    assert!(
        !all.contains("sk-a-secret") && !all.contains("a wrong key"),
        "{all}"
    );
    let shown = audit(&server, &["show", "--last", "3"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.lines().count(), 3, "{shown}");
    is_whole(&server);
}

#[test]
fn what_cannot_be_recorded_is_not_done_if_the_log_is_required() {
    let server = Server::scripted(runs("echo x> ran"));
    let server = server.env("GOOSE_AUDIT", "required").start();
    let session = server.session([Extension::builtin("developer")]);
    let id = session.id.clone();
    let folder = server.root().join("data/audit");
    let aside = server.root().join("aside");
    // File by file, as Windows does not rename a folder of open files.
    let move_all = |from: &Path, to: &Path| {
        fs::create_dir(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            fs::rename(from.join(&name), to.join(&name)).unwrap();
        }
        fs::remove_dir(from).unwrap();
    };
    move_all(&folder, &aside);
    fs::write(&folder, "in the way").unwrap();
    // The log looks for its files once a second.
    thread::sleep(Duration::from_millis(1_100));
    let mode = server.post(
        "/config/read",
        json!({"key": "GOOSE_MODE", "is_secret": false}),
    );
    assert_eq!(mode.status, 503);
    let set =
        |key: &str, is_secret: bool| json!({"key": key, "value": "chat", "is_secret": is_secret});
    for (path, body) in [
        (
            "/agent/call_tool",
            json!({"session_id": id, "name": "developer__shell",
            "arguments": {"command": "echo x> ran"}}),
        ),
        ("/config/upsert", set("GOOSE_MODE", false)),
        ("/config/upsert", set("SOME_KEY", true)),
        ("/reply", json!({"session_id": id, "messages": []})),
        ("/agent/start", json!({"working_dir": server.work()})),
        (
            "/agent/update_session",
            json!({"session_id": id, "goose_mode": "chat"}),
        ),
        (
            "/agent/check_extension",
            json!({"type": "stdio", "name": "x", "cmd": "touch",
            "args": [server.work().join("ran")]}),
        ),
        ("/config/permissions", json!({"tool_permissions": []})),
    ] {
        let answer = server.post(path, body);
        assert!(
            answer.status == 503,
            "{path}: {} {}",
            answer.status,
            answer.text
        );
        answer.says("audit log");
    }
    let export = server.get(&format!("/sessions/{id}/export"));
    assert!(export.status >= 400, "{}", export.text);
    assert_eq!(server.delete(&format!("/sessions/{id}")).status, 503);
    assert!(!server.work().join("ran").exists());
    let config = fs::read_to_string(server.root().join("config/config.yaml")).unwrap_or_default();
    assert!(!config.contains("chat"), "{config}");
    server.logs("nothing is recorded in the audit log");
    // It goes on as soon as it can.
    fs::remove_file(&folder).unwrap();
    move_all(&aside, &folder);
    session.say("go").finishes();
    assert!(server.work().join("ran").exists());
    server
        .post("/config/upsert", set("GOOSE_MODE", false))
        .is(200);
    is_whole(&server);
}

/// The size of the files of a process is limited, which looks like a full disk to it.
#[test]
#[cfg(target_os = "linux")]
fn half_a_record_on_a_full_disk_is_taken_back() {
    let server = Server::new().env("GOOSE_AUDIT", "required").start();
    let session = server.session([Extension::builtin("developer")]);
    let call = || session.call("developer__shell", json!({"command": "echo ran"}));
    call().is(200).says("ran");
    let path = server.root().join("data/audit/1.jsonl");
    let size = fs::metadata(&path).unwrap().len();
    let limit = |most: &str| {
        let done = std::process::Command::new("prlimit")
            .args([
                "--pid",
                &server.pid().to_string(),
                &format!("--fsize={most}:"),
            ])
            .status();
        assert!(done.unwrap().success());
    };
    limit(&(size + 100).to_string());
    call().says("audit log").says("File too large");
    assert_eq!(fs::metadata(&path).unwrap().len(), size);
    limit("unlimited");
    call().is(200).says("ran");
    let report = is_whole(&server);
    assert_eq!(report["cut"], 0);
}

#[test]
fn a_user_may_do_without_the_log_and_see_arguments_in_it() {
    let server = Server::new().env("GOOSE_AUDIT", "off").start();
    let session = server.session([Extension::builtin("developer")]);
    session
        .call("developer__shell", json!({"command": "true"}))
        .is(200);
    assert!(!server.root().join("data/audit").exists());
    let verified = audit(&server, &["verify"]);
    assert!(verified.status.success());
    drop(session);

    let server = Server::new().env("GOOSE_AUDIT_ARGUMENTS", "values").start();
    let session = server.session([Extension::builtin("developer")]);
    let command = "printf '\\033[2J' # Bearer abcdefgh12345678";
    session
        .call("developer__shell", json!({ "command": command }))
        .is(200);
    let told = records(&server, &["--subject", "shell"]).swap_remove(0);
    let told = told["arguments"]["value"].as_str().unwrap().to_owned();
    assert!(
        told.contains("printf") && !told.contains("abcdefgh"),
        "{told}"
    );
}

#[test]
fn two_servers_share_a_log_that_survives_the_death_of_one() {
    let server = Server::new().start();
    let beside = server.beside();
    let at = |server: &RunningServer, count: usize| {
        for _ in 0..count {
            server.post("/config/read", json!({"key": "X", "is_secret": false}));
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| at(&server, 100));
        scope.spawn(|| at(&beside, 100));
    });
    beside.kill();
    at(&server, 5);
    let report = is_whole(&server);
    assert!(report["records"].as_u64().unwrap() >= 205, "{report}");
    let pids = records(&server, &["--kind", "request"]);
    let mut pids: Vec<u64> = pids.iter().map(|it| it["pid"].as_u64().unwrap()).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 2);
    // A changed record is found.
    let path = server.root().join("data/audit/1.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replacen("POST /config/read", "POST /config/open", 1),
    )
    .unwrap();
    let verified = audit(&server, &["verify"]);
    assert_eq!(verified.status.code(), Some(1));
    let said = String::from_utf8(verified.stdout).unwrap();
    assert!(
        said.contains("1.jsonl, line") && said.contains("THE LOG WAS CHANGED"),
        "{said}"
    );
}

/// Lets a server record many things, one after the other, until `work` is done. Each of them has to be recorded.
fn under_load<T>(server: &RunningServer, work: impl FnOnce() -> T) -> T {
    /// Also where the work fails.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                read_setting(server).is(200);
            }
        });
        let _done = Done(&is_done);
        work()
    })
}

fn read_setting(server: &RunningServer) -> Answer {
    server.post("/config/read", json!({"key": "X", "is_secret": false}))
}

/// Whether a process holds the lock of the log.
fn is_locked(server: &RunningServer) -> bool {
    let lock = fs::File::open(server.root().join("data/audit/lock"));
    lock.is_ok_and(|lock| lock.try_lock().is_err())
}

#[test]
#[cfg(feature = "chat")]
fn a_busy_server_lets_other_processes_record() {
    let server = Server::scripted(runs("true")).env("GOOSE_AUDIT", "required");
    let server = server.start();
    let beside = server.beside();
    let command = |arguments: &[&str]| {
        let mut command = gosling();
        command
            .env("GOOSE_PATH_ROOT", server.root())
            .env("GOOSE_AUDIT", "required")
            .env("GOOSE_SCRIPT", server.root().join("script.json"))
            .env("HOME", server.root())
            .current_dir(server.work())
            .stdin(Stdio::null());
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    under_load(&server, || {
        until("the server keeps the lock", || {
            is_locked(&server).then_some(())
        });
        for _ in 0..50 {
            read_setting(&beside).is(200);
        }
        command(&["extensions", "add", "mine", "--", "/bin/true"]);
        command(&["chat", "--provider", "scripted", "--message", "go"]);
    });
    is_whole(&server);
    assert_eq!(records(&server, &["--kind", "gap"]), [] as [Value; 0]);
    let pid = u64::from(beside.pid());
    let requests = records(&server, &["--kind", "request"]);
    let of_it = requests
        .iter()
        .filter(|it| it["pid"] == pid && it["of"].is_null());
    assert_eq!(of_it.count(), 50);
    assert!(!records(&server, &["--front", "chat", "--kind", "turn"]).is_empty());
}

#[test]
fn a_server_that_is_killed_while_it_keeps_the_lock_blocks_none() {
    let server = Server::new().env("GOOSE_AUDIT", "required").start();
    let beside = server.beside();
    thread::scope(|scope| {
        scope.spawn(|| {
            let body = r#"{"key": "X", "is_secret": false}"#;
            let head = format!(
                "POST /config/read HTTP/1.1\r\nHost: localhost\r\nX-Secret-Key: {KEY}\r\nContent-Type: \
                 application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            while let Ok(mut stream) = TcpStream::connect(server.address()) {
                let sent = stream.write_all((head.clone() + body).as_bytes());
                let _ = sent.and_then(|()| stream.read_to_end(&mut Vec::new()));
            }
        });
        until("the server keeps the lock", || {
            is_locked(&server).then_some(())
        });
        server.kill();
    });
    assert!(!is_locked(&beside));
    under_load(&beside, || {
        until("the other one keeps the lock", || {
            is_locked(&beside).then_some(())
        });
    });
    is_whole(&beside);
}

#[test]
fn a_busy_server_that_is_terminated_has_written_how_each_call_has_ended() {
    let server = Server::new().start();
    let session = server.session([Extension::builtin("todo")]);
    for _ in 0..200 {
        let call = session.call("todo__todo_write", json!({"content": "x"}));
        call.is(200);
    }
    server.terminate();
    let calls = records(&server, &["--kind", "tool_call"]);
    let ends = calls.iter().filter(|it| it["outcome"] == "ok").count();
    assert_eq!((calls.len(), ends), (400, 200));
    is_whole(&server);
}

#[test]
fn a_server_that_is_stopped_while_it_keeps_the_lock_goes_on_with_it() {
    let server = Server::new().start();
    let beside = server.beside();
    under_load(&server, || {
        until("the server is stopped while it keeps the lock", || {
            server.signal("STOP");
            let is_stopped = is_locked(&server);
            if !is_stopped {
                server.signal("CONT");
            }
            is_stopped.then_some(())
        });
        // The other one works without the log.
        read_setting(&beside).is(200);
        server.signal("CONT");
        until("the other one records again", || {
            read_setting(&beside).is(200);
            let gaps = records(&server, &["--kind", "gap"]);
            (!gaps.is_empty()).then_some(())
        });
    });
    is_whole(&server);
}

#[test]
#[cfg(feature = "acp")]
fn an_editor_is_told_apart_from_a_client() {
    let mut client = support::acp_client::Acp::new(runs("true"))
        .configured(support::acp_client::developer())
        .env("GOOSE_MODE", "approve")
        .start();
    client.permits("reject_once");
    let session = client.session();
    client.prompt(&session, "go");
    let log = fs::read_to_string(client.root().join("data/audit/1.jsonl")).unwrap();
    let all: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |kind: &str| {
        all.iter()
            .filter(|it| it["kind"] == *kind)
            .cloned()
            .collect::<Vec<_>>()
    };
    for (kind, outcome) in [("approval", "once"), ("tool_call", "denied")] {
        let records = of(kind);
        assert_eq!(records.len(), 1, "{records:?}");
        assert_eq!(
            (&records[0]["front"], &records[0]["decision"]),
            (&json!("acp"), &json!("denied"))
        );
        assert_eq!(records[0]["outcome"], outcome);
    }
    let requests = of("request");
    let methods: Vec<&str> = requests
        .iter()
        .map(|it| it["subject"].as_str().unwrap())
        .collect();
    assert_eq!(methods, ["session/new", "session/prompt"]);
}

#[test]
#[cfg(feature = "chat")]
fn a_command_is_a_front() {
    let root = temp_dir();
    let run = |arguments: &[&str]| {
        let mut command = gosling();
        command
            .env("GOOSE_PATH_ROOT", root.path())
            .env("HOME", root.path());
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let server = format!("{} mcp developer", env!("CARGO_BIN_EXE_gosling"));
    run(&[
        "call",
        "--server",
        &server,
        "shell",
        r#"{"command": "true"}"#,
    ]);
    run(&["extensions", "add", "mine", "--", "/bin/true"]);
    let log = fs::read_to_string(root.path().join("data/audit/1.jsonl")).unwrap();
    let front = |kind: &str| {
        let mut all = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.find(|it| it["kind"] == *kind)
            .unwrap_or_else(|| panic!("no {kind}"))["front"]
            .clone()
    };
    assert_eq!(front("tool_call"), "call");
    assert_eq!(front("setting"), "extensions");
}

#[test]
#[cfg(feature = "schedules")]
fn a_schedule_is_a_front() {
    let server = Server::scripted(runs("true")).start();
    let recipe = json!({"title": "T", "description": "D", "prompt": "go"});
    let body = json!({"id": "s", "recipe": recipe, "cron": "0 0 0 29 2 *"});
    server.post("/schedule/create", body).is(200);
    server.post("/schedule/s/run_now", json!({})).is(200);
    until("the run has ended", || {
        let turns = records(&server, &["--kind", "turn", "--front", "schedule"]);
        (turns.len() == 2).then_some(())
    });
    let session = record(&server, &["--outcome", "created"]);
    assert_eq!(
        (&session["front"], &session["key"]),
        (&json!("schedule"), &json!("server"))
    );
}
