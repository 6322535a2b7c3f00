//! What a command has started ends with its call, or with the session, whichever way those end.
//! The processes look for nobody and belong to nobody in the end, so they are known by an argument.

use crate::on_stdio::OnStdio;
use crate::support::process::{signal, with_argument};
use crate::support::server::Session;
use crate::support::until;
use crate::{said, with_developer};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// How long a `sleep` takes that no other test has.
fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1000);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("1{:07}{n}", std::process::id())
}

#[track_caller]
fn running(mark: &str, count: usize) {
    until(&format!("{count} processes run"), || {
        (with_argument(mark).len() == count).then_some(())
    });
}

#[test]
fn a_client_that_hangs_up_leaves_nothing() {
    with_developer(|session| {
        for stubborn in ["", "trap '' TERM; "] {
            let mark = mark();
            let command = format!("{stubborn}sleep {mark} & setsid sleep {mark} & sleep {mark}");
            let call = session.begin_call("developer__shell", json!({"command": command}));
            running(&mark, 3);
            drop(call);
            running(&mark, 0);
        }
        let answer = session.call("developer__shell", json!({"command": "echo on"}));
        assert_eq!(said(&answer.is(200)), "on\n");
    });
}

#[test]
fn a_session_that_is_stopped_leaves_nothing_of_a_call_under_way() {
    with_developer(|session| {
        let mark = mark();
        let command = format!("trap '' TERM; sleep {mark} & sleep {mark}");
        let call = session.begin_call("developer__shell", json!({"command": command}));
        running(&mark, 2);
        session.stop();
        let left = with_argument(&mark);
        assert!(left.is_empty(), "when stop is answered: {left:?}");
        drop(call);
    });
}

#[test]
fn a_cancelled_call_leaves_nothing_and_the_server_goes_on() {
    let mut server = OnStdio::start();
    for (id, stubborn) in [(1, ""), (2, "trap '' TERM; ")] {
        let mark = mark();
        server.shell(id, &format!("{stubborn}sleep {mark} & sleep {mark}"));
        running(&mark, 2);
        server.cancel(id);
        running(&mark, 0);
    }
    server.shell(3, "echo on");
    let answer = server.next();
    assert_eq!(answer["id"], 3, "what is cancelled is not answered");
    assert_eq!(answer["result"]["content"][0]["text"], "on\n");
}

#[test]
fn a_client_that_leaves_takes_all_of_it_along() {
    let mut server = OnStdio::start();
    let mark = mark();
    server.shell(1, &format!("sleep {mark} & echo begun"));
    assert_eq!(server.next()["result"]["content"][0]["text"], "begun\n");
    server.shell(2, &format!("trap '' TERM; sleep {mark} & sleep {mark}"));
    running(&mark, 3);
    server.leave();
    running(&mark, 0);
}

#[test]
fn what_is_in_the_background_may_see_to_its_affairs_when_the_session_ends() {
    with_developer(|session| {
        let mark = mark();
        // Two that clean up in their own time, and one that does not listen.
        let tidy = |name: &str| {
            let trap = format!("trap \"sleep 0.05; echo tidy > {name}; exit\" TERM");
            format!(
                "setsid sh -c '{trap}; touch {name}.begun; while :; do sleep 0.02; done' {mark} &"
            )
        };
        let deaf =
            format!("sh -c 'trap \"\" TERM; touch c.begun; while :; do sleep 0.02; done' {mark} &");
        call(session, &format!("{} {} {deaf}", tidy("a"), tidy("b")));
        let work = session.server.work();
        for name in ["a", "b", "c"] {
            let file = work.join(format!("{name}.begun"));
            until("it has begun", || file.exists().then_some(()));
        }
        session.stop();
        for name in ["a", "b"] {
            assert_eq!(fs::read_to_string(work.join(name)).unwrap(), "tidy\n");
        }
        let left = with_argument(&mark);
        assert!(left.is_empty(), "when stop is answered: {left:?}");
    });
}

/// Kills what has this argument when dropped: nobody else finds it.
struct Loose(String);

impl Drop for Loose {
    fn drop(&mut self) {
        for process in with_argument(&self.0) {
            signal(process.pid, "KILL");
        }
    }
}

#[test]
fn what_cannot_be_found_and_holds_the_output_does_not_hold_up_the_end() {
    with_developer(|session| {
        let mark = mark();
        let _loose = Loose(mark.clone());
        let command = format!(
            "env -i $(command -v setsid) $(command -v prlimit) --locks=unlimited sleep {mark} & echo begun"
        );
        assert_eq!(call(session, &command)["content"][0]["text"], "begun\n");
        running(&mark, 1);
        session.stop();
        let left = with_argument(&mark);
        assert_eq!(left.len(), 1, "otherwise this test tests nothing");
    });
}

#[test]
fn a_client_that_does_not_read_keeps_no_command_from_its_end() {
    let mut server = OnStdio::start();
    let (limited, cancelled) = (mark(), mark());
    let gate = server.gate();
    let closed = gate.lock().unwrap();
    // Far more than fits into a pipe.
    let command = |mark: &str| format!("sleep {mark} & yes | head -c 100000; sleep {mark}; :");
    let arguments = json!({"command": command(&limited), "timeout_secs": 1});
    server.call(1, "shell", arguments);
    server.shell(2, &command(&cancelled));
    running(&cancelled, 2);
    server.cancel(2);
    running(&cancelled, 0);
    running(&limited, 0);
    drop(closed);
    let answer = server.next();
    assert_eq!(answer["id"], 1);
    let text = answer["result"]["content"][0]["text"].as_str();
    assert!(
        text.expect("a text")
            .ends_with("\n[ended after 1 s, as `timeout_secs` says]\n")
    );
    server.leave();
}

/// The memory that a flood of output may take, in bytes: a pipe and what of the output is kept.
const FLOOD: usize = 16 << 20;

#[test]
fn a_flood_of_output_is_counted_and_not_kept() {
    with_developer(|session| {
        let run = |command: &str| call(session, command);
        // Whatever is made by the first call is there.
        run("seq 1 100000");
        let before = session.server.memory("VmHWM");
        // Lines, and one that has no end.
        for source in ["yes 'all work and no play'", "cat /dev/zero | tr '\\0' x"] {
            let answer = run(&format!("{source} | head -c 100000000; echo; echo the end"));
            assert_eq!(answer["is_error"], true);
            let text = answer["content"][0]["text"].as_str().expect("a text");
            let cap = "more than the 400000 that fit into an answer";
            assert!(text.contains(cap) && text.contains("the end"), "{text}");
            assert!(text.len() < 8_000, "{text}");
            assert_eq!(answer["structured_content"]["truncated"], true);
        }
        let grown = session.server.memory("VmHWM").saturating_sub(before);
        assert!(grown < FLOOD, "{grown}");
    });
}

fn call(session: &Session<'_>, command: &str) -> Value {
    let answer = session.call("developer__shell", json!({"command": command}));
    answer.is(200).body
}
