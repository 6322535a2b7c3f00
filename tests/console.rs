//! The console's files and the routes that exist for it: pages of the list of sessions, a tool's schema, what a server
//! wrote to stderr, the restart of one extension, the end of the audit log.
#![cfg(all(feature = "console", feature = "audit", feature = "scripted"))]

mod support;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};
use support::client::{Answer, KEY, send};
use support::scripted::{Action, Script};
use support::server::{Extension, RunningServer, Server};
use support::turns::user;
use support::{TEST_TIMEOUT, temp_dir, until};

const FILES: &str = "src/console/page";

/// A server whose model answers everything.
fn talking() -> RunningServer {
    Server::scripted(json!({"turns": [{"steps": [{"text": "fine"}]}], "repeat": true})).start()
}

/// The id of a session with messages: others are not in the list.
fn said(server: &RunningServer) -> String {
    let session = server.session([]);
    session.say("hello");
    let path = format!("/sessions/{}/name", session.id);
    let name = Some(r#"{"name": "One"}"#);
    server.ask("PUT", &path, Some(KEY), name).is(200);
    session.id.clone()
}

/// The ids of a page of the sessions.
#[track_caller]
fn page(server: &RunningServer, query: &str) -> Vec<String> {
    ids_of(&server.get(&format!("/sessions?{query}")).is(200))
}

fn ids_of(list: &Answer) -> Vec<String> {
    let sessions = list.body["sessions"].as_array().unwrap();
    let ids = sessions
        .iter()
        .map(|it| it["id"].as_str().unwrap().to_owned());
    ids.collect()
}

/// The state and the process of an extension.
#[track_caller]
fn state(server: &RunningServer, session: &str, name: &str) -> (String, Option<i64>) {
    let answer = server.get(&format!("/agent/extensions?session_id={session}"));
    let all = answer.is(200).body["extensions"]
        .as_array()
        .unwrap()
        .clone();
    let found = all.iter().find(|it| it["name"] == name).unwrap();
    (
        found["state"].as_str().unwrap().to_owned(),
        found["pid"].as_i64(),
    )
}

#[test]
fn the_page_is_all_that_it_loads_and_runs_nothing_else() {
    let server = Server::new().start();
    let page = server.ask("GET", "/console", None, None).is(200);
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(page.head.contains(part), "{part}: {}", page.head);
    }
    for word in ["unsafe", "http:", "https:", "*;"] {
        let policy = page
            .head
            .lines()
            .find(|it| it.starts_with("Content-Security"));
        assert!(!policy.unwrap().contains(word), "{policy:?}");
    }
    let mut served = BTreeSet::new();
    for entry in fs::read_dir(FILES).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let content = fs::read_to_string(&path).unwrap();
        if name == "console.html" {
            assert_eq!(page.text, content);
        } else {
            let answer = server.ask("GET", &format!("/console/{name}"), None, None);
            assert_eq!(answer.is(200).text, content, "{name}");
        }
        // Neither markup from text nor code from text, and nothing that outlives the page.
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "srcdoc",
            "localStorage",
            "sessionStorage",
            "document.cookie",
            "indexedDB",
            " style=",
            " onclick=",
            "javascript:",
        ] {
            assert!(!content.contains(word), "{name}: {word}");
        }
        served.insert(name);
    }
    assert!(served.len() > 10, "{served:?}");
    for unknown in ["console.html", "..%2flib.rs", "x", "Console.js"] {
        server
            .ask("GET", &format!("/console/{unknown}"), None, None)
            .is(404);
    }
    server.ask("POST", "/console", None, None).is(405);
}

#[test]
fn the_page_stays_short_enough_to_be_read() {
    let mut lines = 0;
    for entry in fs::read_dir(FILES).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "js") {
            lines += fs::read_to_string(path).unwrap().lines().count();
        }
    }
    assert!((500..2_500).contains(&lines), "{lines} lines of JavaScript");
}

#[test]
fn a_page_of_the_sessions_is_a_part_of_the_list() {
    let server = talking();
    let started: Vec<String> = (0..7).map(|_| said(&server)).collect();
    let whole = server.get("/sessions").is(200);
    assert_eq!(
        whole.body.as_object().unwrap().len(),
        1,
        "as goosed answers"
    );
    let all = whole.body["sessions"].as_array().unwrap();
    let all: Vec<String> = all
        .iter()
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(all.len(), started.len());
    let pages = ["limit=3", "limit=3&offset=3", "limit=3&offset=6"];
    let pages = pages.map(|query| page(&server, query));
    assert_eq!(pages.concat(), all);
    assert_eq!(page(&server, "offset=5"), all[5..]);
    assert_eq!(page(&server, "limit=0"), [""; 0]);
    assert_eq!(page(&server, "offset=18446744073709551615"), [""; 0]);
    for query in [
        "limit=x",
        "limit=-1",
        "offset=1.5",
        "limit=18446744073709551616",
    ] {
        server
            .get(&format!("/sessions?{query}"))
            .is(400)
            .says("not a number of sessions");
    }
    assert_eq!(
        server.get("/sessions?limit=&offset=").is(200).text,
        whole.text
    );
}

/// More sessions than the server holds in memory, as many as `GOSLING_TEST_SESSIONS` says: 25,000 are three times as many
/// as are cached.
#[test]
fn a_list_of_more_sessions_than_memory_holds_is_whole_and_in_order() {
    let many = std::env::var("GOSLING_TEST_SESSIONS").map_or(25_000, |text| text.parse().unwrap());
    let server = talking();
    let last = said(&server);
    let folder = server.root().join("data/sessions");
    let id = |number: usize| format!("20200101_{number}");
    let file = |id: &str, name: &str| folder.join(id).join(name);
    let read = |name| fs::read_to_string(file(&last, name)).unwrap();
    let (session, messages) = (read("session.json"), read("messages.jsonl"));
    let mut fields: Value = serde_json::from_str(&session).unwrap();
    fields["updated_at"] = json!("2020-01-01T00:00:00Z");
    fields["total_tokens"] = json!(3);
    fields["accumulated_total_tokens"] = json!(7);
    let changed = id(many / 3);
    let own = [id(1), id(2), id(3), changed.clone()];
    for number in 1..=many {
        let name = id(number);
        if own.contains(&name) {
            fs::create_dir(folder.join(&name)).unwrap();
            fs::write(file(&name, "session.json"), fields.to_string()).unwrap();
            fs::write(file(&name, "messages.jsonl"), &messages).unwrap();
        } else {
            // Files of their own would take minutes to remove.
            support::system::symlink(id(1), folder.join(name)).unwrap();
        }
    }
    let ids = |numbers: std::ops::RangeInclusive<usize>| numbers.rev().map(id).collect::<Vec<_>>();
    let start = Instant::now;
    let measured = |what: &str, since: Instant| {
        let memory = server.memory("VmRSS") >> 20;
        println!(
            "{what} of {many} sessions: {:?}, {memory} MiB",
            since.elapsed()
        );
    };
    let get = |path: &str| {
        let stream = send(server.address(), "GET", path, Some(KEY), None);
        let patience = TEST_TIMEOUT + Duration::from_millis(many as u64);
        stream.set_read_timeout(Some(patience)).unwrap();
        Answer::read(path.to_owned(), stream).is(200)
    };
    let page = |query: &str| ids_of(&get(&format!("/sessions?{query}")));
    let before = server.memory("VmHWM");
    let since = start();
    let first = page("limit=3&offset=0");
    measured("the first page", since);
    assert_eq!(first, [vec![last.clone()], ids(many - 1..=many)].concat());
    let answer = get("/sessions?limit=50&offset=9").text;
    assert!(answer.len() < 50_000, "{} bytes", answer.len());
    for _ in 0..2 {
        let since = start();
        let middle = page(&format!("limit=3&offset={}", many / 2));
        measured("a page in the middle", since);
        let number = many + 1 - many / 2;
        assert_eq!(middle, ids(number - 2..=number));
    }
    let since = start();
    let totals = get("/sessions/insights").body;
    measured("the sums", since);
    assert_eq!(totals["totalSessions"], many + 1);
    let tokens = get(&format!("/sessions/{last}")).body["total_tokens"].clone();
    let all = 7 * many as i64 + tokens.as_i64().unwrap_or(0);
    assert_eq!(totals["totalTokens"], all);
    let since = start();
    let found = get("/sessions/search?query=hello&limit=50");
    measured("a search", since);
    let found = found.body.as_array().unwrap().clone();
    assert_eq!(
        (found.len(), &found[0]["id"], &found[49]["id"]),
        (50, &json!(last), &json!(id(many - 48)))
    );
    let later = "/sessions/search?query=hello&after_date=2020-01-02";
    assert_eq!(get(later).body.as_array().unwrap().len(), 1);

    // What changes, comes and goes is seen, whatever is cached.
    fields["updated_at"] = json!("2099-01-01T00:00:00Z");
    let beside = file(&changed, "new");
    fs::write(&beside, fields.to_string()).unwrap();
    fs::rename(&beside, file(&changed, "session.json")).unwrap();
    fs::remove_dir_all(folder.join(id(2))).unwrap();
    let broken = file(&id(3), "session.json");
    fs::remove_file(&broken).unwrap();
    fs::write(broken, "{").unwrap();
    let first = [changed, last];
    assert_eq!(page("limit=2&offset=0"), first);
    let end = page(&format!("limit=9&offset={}", many - 3));
    assert_eq!(end, [id(4), id(1)]);
    let grown = server.memory("VmHWM").saturating_sub(before);
    println!("{grown} bytes for {many} sessions: {} each", grown / many);
    assert!(grown < (40 << 20) + 500 * many, "{grown} bytes");
}

#[test]
fn a_tool_is_shown_with_its_schema() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    let at = |name: &str| format!("/agent/tools/{name}?session_id={}", session.id);
    let tool = server.get(&at("demo__add")).is(200).body;
    assert_eq!(tool["name"], "demo__add");
    assert_eq!(tool["extension"], "demo");
    assert_eq!(tool["permission"], Value::Null);
    let properties = tool["input_schema"]["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["a", "b"]);
    let permission =
        json!({"tool_permissions": [{"tool_name": "demo__add", "permission": "ask_before"}]});
    server.post("/config/permissions", permission).is(200);
    let tool = server.get(&at("demo__add")).is(200).body;
    assert_eq!(tool["permission"], "ask_before");
    server.get(&at("demo__nothing")).is(404).says("has no tool");
    server
        .get(&at("demo%e2%80%ae"))
        .is(404)
        .never_says("\u{202e}");
    server.get("/agent/tools/demo__add").is(400);
    session.stop();
    server.get(&at("demo__add")).is(424);
}

#[test]
fn what_a_server_wrote_to_stderr_is_told_without_secrets_and_starts_nothing() {
    let server = Server::new().start();
    let script = Script::new().tool(
        "act",
        [
            Action::Err("it is s3cr3t-value-1, \u{1b}[2Jand wide\n".to_owned(), 1),
            Action::text("done"),
        ],
    );
    let extension =
        Extension::scripted("one", &script).with("envs", json!({"A_TOKEN": "s3cr3t-value-1"}));
    let session = server.session([extension]);
    let at = |name: &str| format!("/agent/extensions/{name}/log?session_id={}", session.id);
    let before = server.get(&at("one")).is(200).body;
    assert_eq!(
        (&before["state"], &before["stderr"]),
        (&json!("active"), &json!(""))
    );
    session.call("one__act", json!({})).is(200);
    let shown = until("the log has the line", || {
        let answer = server.get(&at("one")).is(200);
        (answer.body["stderr"] != "").then_some(answer)
    });
    let text = shown.body["stderr"].as_str().unwrap();
    assert!(text.contains("and wide"), "{text}");
    shown.never_says("s3cr3t-value-1").never_says("\u{1b}");
    server.get(&at("two")).is(404).says("has no extension");
    server.get("/agent/extensions/one/log").is(400);
}

#[test]
fn one_extension_is_restarted_and_the_others_go_on() {
    let server = Server::new().start();
    let script = Script::new();
    let session = server.session([
        Extension::scripted("one", &script),
        Extension::scripted("two", &script),
    ]);
    let (one, two) = (
        state(&server, &session.id, "one"),
        state(&server, &session.id, "two"),
    );
    session
        .post("/agent/extensions/restart", json!({"name": "one"}))
        .is(200);
    let (state_after, process) = state(&server, &session.id, "one");
    assert_eq!(state_after, "active");
    assert_ne!(process, one.1);
    assert_eq!(state(&server, &session.id, "two"), two);
    session.echoes("one");
    session.echoes("two");
    session
        .post("/agent/extensions/restart", json!({"name": "three"}))
        .is(404)
        .says("has no extension");
    session.post("/agent/extensions/restart", json!({})).is(422);
    let stranger = json!({"session_id": "20990101_1", "name": "one"});
    server.post("/agent/extensions/restart", stranger).is(404);
}

#[test]
fn an_extension_whose_restart_fails_stays_and_its_next_use_tries_again() {
    let server = Server::new().start();
    let folder = temp_dir();
    let program = folder.path().join("program");
    let away = folder.path().join("away");
    fs::copy(support::server::scripted_mcp(), &program).unwrap();
    let argument = support::server::as_argument(&Script::new());
    let session = server.session([Extension::stdio(
        "one",
        program.to_str().unwrap(),
        &[&argument],
    )]);
    fs::rename(&program, &away).unwrap();
    let failed = session.post("/agent/extensions/restart", json!({"name": "one"}));
    failed.is(500).says("Failed to restart extension");
    let (after, process) = state(&server, &session.id, "one");
    assert_ne!(after, "active");
    assert_eq!(process, None);
    session.call("one__echo", json!({"message": "x"})).is(500);
    fs::rename(&away, &program).unwrap();
    session
        .post("/agent/extensions/restart", json!({"name": "one"}))
        .is(200);
    session.echoes("one");
}

#[test]
fn no_extension_is_restarted_during_a_turn() {
    let model = json!({"turns": [{"steps": [{"call": {"name": "one__act", "arguments": {}}}, {"text": "x"}]}]});
    let server = Server::scripted(model).start();
    let script = Script::new().tool("act", []);
    let session = server.session([Extension::scripted("one", &script)]);
    let before = state(&server, &session.id, "one");
    let mut turn = session.begin_turn("go");
    turn.calls();
    session
        .post("/agent/extensions/restart", json!({"name": "one"}))
        .is(409);
    assert_eq!(state(&server, &session.id, "one"), before);
}

#[test]
fn the_end_of_the_audit_log_is_told_in_its_order() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    session.call("demo__add", json!({"a": 1, "b": 2})).is(200);
    let answer = server.get("/audit/tail").is(200).body;
    assert_eq!(answer["mode"], "on");
    let records = answer["records"].as_array().unwrap();
    let last = records.last().unwrap();
    assert_eq!(
        (&last["kind"], &last["subject"]),
        (&json!("tool_call"), &json!("add"))
    );
    assert_eq!(last["outcome"], "ok");
    let numbers: Vec<u64> = records
        .iter()
        .map(|it| it["seq"].as_u64().unwrap())
        .collect();
    assert!(numbers.is_sorted() && numbers.len() > 2, "{numbers:?}");
    let two = server.get("/audit/tail?limit=2").is(200).body;
    assert_eq!(
        two["records"].as_array().unwrap()[..],
        records[records.len() - 2..]
    );
    for limit in ["0", "1001", "-1", "x"] {
        server
            .get(&format!("/audit/tail?limit={limit}"))
            .is(400)
            .says("from 1 to 1000");
    }
}

#[test]
fn the_end_of_the_audit_log_may_be_in_several_files_and_skips_what_is_no_record() {
    let server = Server::new()
        .setting("GOOSE_AUDIT_FILE_SIZE", 65_536)
        .start();
    let session = server.session([Extension::demo()]);
    let folder = server.root().join("data/audit");
    for _ in 0..40 {
        session.call("demo__add", json!({"a": 1, "b": "x".repeat(2_000)}));
    }
    while fs::read_dir(&folder).unwrap().count() < 4 {
        session.call("demo__add", json!({"a": 1, "b": 2})).is(200);
    }
    let answer = server.get("/audit/tail?limit=1000").is(200).body;
    let numbers: Vec<u64> = answer["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["seq"].as_u64().unwrap())
        .collect();
    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
    assert_eq!(numbers, (first..=last).collect::<Vec<_>>(), "no gap");
    assert!(numbers.len() > 100, "{}", numbers.len());
    // A line of another program, and one that is being written.
    let newest = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path());
    let newest = newest.filter(|it| it.extension().is_some_and(|end| end == "jsonl"));
    let newest = newest.max_by_key(|it| {
        it.file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .parse::<u64>()
            .ok()
    });
    let newest = newest.unwrap();
    let mut text = fs::read(&newest).unwrap();
    text.extend(b"<script>alert(1)</script>\n\xff\xfe\n{\"seq\":1");
    fs::write(&newest, text).unwrap();
    let after = server.get("/audit/tail?limit=5").is(200);
    assert_eq!(after.body["records"].as_array().unwrap().len(), 5);
    after.never_says("script");
}

#[test]
fn an_audit_log_that_is_off_has_no_end() {
    let server = Server::new().setting("GOOSE_AUDIT", "off").start();
    let answer = server.get("/audit/tail").is(200);
    answer.gives(json!({"mode": "off", "records": []}));
}

#[test]
fn hostile_text_comes_to_the_page_as_data() {
    let hostile = "<img src=x onerror=alert(1)>\u{202e}\u{2066}</script>";
    let model = json!({"turns": [{"steps": [{"text": hostile}]}]});
    let server = Server::scripted(model).start();
    let session = server.session([]);
    session
        .reply(json!({"user_message": user("hello")}))
        .rest()
        .finishes();
    let answer = server.get(&format!("/sessions/{}", session.id)).is(200);
    assert!(answer.head.contains("application/json"), "{}", answer.head);
    let said = answer.body["conversation"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(said["content"][0]["text"], hostile);
}
