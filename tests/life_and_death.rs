//! Nothing that a server has started outlives it, whichever way it ends.
#![cfg(target_os = "linux")]

mod support;

use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};
use support::process::{GUARDIAN, Proc};
use support::scripted::{Action, Script};
use support::server::{Extension, Live, Record, Server, Session, as_argument, scripted_mcp};
use support::until;

/// Ignores signals and the end of its stdin, has a child of its own and one that left its group.
fn stubborn(name: &str) -> Extension {
    let mcp = scripted_mcp();
    let script = as_argument(&Script::new());
    let command = "trap '' TERM HUP INT; setsid sleep 300 & sleep 300 & \"$0\" \"$1\"; \
                   while :; do sleep 1; done";
    Extension::stdio(name, "sh", &["-c", command, &mcp, &script])
}

/// A session with two of them, and all processes of the server.
fn stubborn_session(server: &Live) -> (Session<'_>, Vec<Proc>) {
    let session = server.session([stubborn("one"), stubborn("two")]);
    session.echoes("one");
    session.echoes("two");
    // The shell, its two children, the MCP server, twice; and the guardian.
    let all = until("all processes", || {
        let all = server.descendants();
        let sleeping = all.iter().filter(|p| p.name() == "sleep").count();
        (all.len() == 9 && sleeping == 4).then_some(all)
    });
    (session, all)
}

#[track_caller]
fn all_gone(processes: &[Proc]) {
    let left = || processes.iter().filter(|process| process.is_alive());
    let start = Instant::now();
    while left().count() > 0 {
        let names: Vec<_> = left().map(|process| (process, process.name())).collect();
        assert!(start.elapsed() < support::PATIENCE, "left: {names:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn stop_leaves_nothing() {
    let server = Server::new().start();
    let (session, all) = stubborn_session(&server);
    session.stop();
    let (guardian, others): (Vec<Proc>, Vec<Proc>) =
        all.into_iter().partition(|p| p.name() == GUARDIAN);
    let left: Vec<_> = others.iter().filter(|process| process.is_alive()).collect();
    assert!(
        left.is_empty(),
        "when stop is answered, all are gone but {left:?}"
    );
    all_gone(&guardian);
    server.is_alive();
}

#[test]
fn removing_an_extension_leaves_nothing_of_it() {
    let server = Server::new().start();
    let (session, all) = stubborn_session(&server);
    session.remove("one").is(200);
    assert_eq!(all.iter().filter(|process| process.is_alive()).count(), 5);
    session.echoes("two");
}

#[test]
fn sigterm_leaves_nothing() {
    ends_well("TERM");
}

#[test]
fn sigint_leaves_nothing() {
    ends_well("INT");
}

fn ends_well(signal: &str) {
    let server = Server::new().start();
    let (_, all) = stubborn_session(&server);
    let begin = Instant::now();
    server.signal(signal);
    let status = server.ended();
    assert_eq!(status.code(), Some(0), "{status}");
    // 5 s are promised; the rest is for a busy machine.
    assert!(
        begin.elapsed() < Duration::from_secs(8),
        "{:?}",
        begin.elapsed()
    );
    all_gone(&all);
}

#[test]
fn sigkill_leaves_nothing() {
    let server = Server::new().start();
    let (_, all) = stubborn_session(&server);
    server.kill();
    all_gone(&all);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let server = Server::new().start();
    let (_, all) = stubborn_session(&server);
    server.signal("TERM");
    server.logs("stopping");
    thread::sleep(Duration::from_millis(200));
    server.signal("TERM");
    let status = server.ended();
    assert_eq!(status.code(), Some(128 + 15), "{status}");
    all_gone(&all);
}

#[test]
fn sigterm_ends_calls_and_activations_under_way() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool("never", []);
    let silent = Script::new().recorded(&record.path()).on("initialize", []);
    let server = Server::new().start();
    let calling = server.session([Extension::scripted("one", &script)]);
    let _stream = calling.begin_call("one__never", json!({}));
    record.heard("tools/call");
    server.begin_session([Extension::scripted("silent", &silent)]);
    until("both initialize", || {
        (record.all("initialize").len() == 2).then_some(())
    });
    let all = server.descendants();
    let status = server.terminate();
    assert_eq!(status.code(), Some(0), "{status}");
    all_gone(&all);
}

#[test]
fn an_idle_server_ends_at_once() {
    let server = Server::new().start();
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn a_guardian_that_was_killed_is_replaced() {
    let server = Server::new().start();
    server.session([stubborn("one")]).echoes("one");
    let guardian = || {
        let mut all = server.descendants().into_iter();
        all.find(|process| process.name() == GUARDIAN)
    };
    let first = until("a guardian", guardian);
    support::process::signal(first.pid, "KILL");
    // With no other child in between.
    let another = || guardian().filter(|now| *now != first);
    until("another guardian", another);
    let all = server.descendants();
    server.kill();
    all_gone(&all);
}

#[test]
fn a_server_that_ends_by_itself_is_reported_and_takes_its_children_along() {
    ends_by_itself("setsid sleep 300 >&- 2>&- & sleep 300 >&- 2>&-");
}

#[test]
fn a_server_that_ends_is_reported_though_its_children_hold_its_output() {
    ends_by_itself("setsid sleep 300 & sleep 300");
}

fn ends_by_itself(children: &str) {
    let mcp = scripted_mcp();
    let script = Script::new().tool("leave", [Action::Err("bye\n".into(), 1), Action::Exit(9)]);
    let command = format!("{children} & exec \"$0\" \"$1\"");
    let extension = Extension::stdio("one", "sh", &["-c", &command, &mcp, &as_argument(&script)]);
    let server = Server::new().start();
    let session = server.session([extension]);
    let all = until("all processes", || {
        let all = server.descendants();
        let sleeping = all.iter().filter(|p| p.name() == "sleep").count();
        (sleeping == 2).then_some(all)
    });
    session
        .call("one__leave", json!({}))
        .is(500)
        .says("exit status: 9")
        .says("bye");
    session.stop();
    all_gone(&all);
}

#[test]
fn a_server_that_a_signal_ends_is_reported() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool("never", []);
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    let stream = session.begin_call("one__never", json!({}));
    record.heard("tools/call");
    let pid = record.starts()[0]["pid"].as_u64().unwrap();
    support::process::signal(pid.try_into().unwrap(), "KILL");
    let answer = support::client::Answer::read("the call".to_owned(), stream).is(500);
    answer.says("signal: 9");
}

#[test]
fn sessions_come_and_go_without_a_trace() {
    let server = Server::new().start();
    let rest = server.at_rest();
    for _ in 0..20 {
        let session = server.session([
            Extension::demo(),
            Extension::scripted("one", &Script::new()),
        ]);
        session.echoes("one");
        server.delete(&format!("/sessions/{}", session.id)).is(200);
    }
    server.returns_to(rest);
}
