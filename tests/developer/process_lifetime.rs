//! The processes that a command starts end with the call or with the session, however these end. Orphaned
//! processes are recognized by an argument.

use crate::stdio_server::StdioServer;
use crate::support::process::{running, signal, unique_sleep, with_argument};
use crate::support::server::{GOSLING, Session};
use crate::support::until;
use crate::{model_text, with_developer};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

#[test]
fn a_client_that_hangs_up_leaves_nothing() {
    with_developer(|session| {
        for stubborn in ["", "trap '' TERM; "] {
            let nap = unique_sleep();
            let command = format!("{stubborn}sleep {nap} & setsid sleep {nap} & sleep {nap}");
            let call = session.begin_call("developer__shell", json!({"command": command}));
            running(&nap, 3);
            drop(call);
            running(&nap, 0);
        }
        let answer = session.call("developer__shell", json!({"command": "echo on"}));
        assert_eq!(model_text(&answer.is(200)), "on\n");
    });
}

#[test]
fn a_session_that_is_stopped_leaves_nothing_of_a_call_under_way() {
    with_developer(|session| {
        let nap = unique_sleep();
        let command = format!("trap '' TERM; sleep {nap} & sleep {nap}");
        let call = session.begin_call("developer__shell", json!({"command": command}));
        running(&nap, 2);
        session.stop();
        let left = with_argument(&nap);
        assert!(left.is_empty(), "when stop is answered: {left:?}");
        drop(call);
    });
}

#[test]
fn a_cancelled_call_leaves_nothing_and_the_server_goes_on() {
    let mut server = StdioServer::start();
    for (id, stubborn) in [(1, ""), (2, "trap '' TERM; ")] {
        let nap = unique_sleep();
        server.shell(id, &format!("{stubborn}sleep {nap} & sleep {nap}"));
        running(&nap, 2);
        server.cancel(id);
        running(&nap, 0);
    }
    server.shell(3, "echo on");
    let answer = server.next();
    assert_eq!(answer["id"], 3, "what is cancelled is not answered");
    assert_eq!(answer["result"]["content"][0]["text"], "on\n");
}

#[test]
fn a_client_that_leaves_takes_all_of_it_along() {
    let mut server = StdioServer::start();
    let nap = unique_sleep();
    server.shell(1, &format!("sleep {nap} & echo begun"));
    assert_eq!(server.next()["result"]["content"][0]["text"], "begun\n");
    server.shell(2, &format!("trap '' TERM; sleep {nap} & sleep {nap}"));
    running(&nap, 3);
    server.leave();
    running(&nap, 0);
    assert!(server.ended().success());
}

/// Clients end their servers with SIGTERM, and terminals with SIGINT.
#[test]
fn a_signal_is_an_end_as_well_as_any() {
    for name in ["TERM", "INT", "HUP"] {
        let mut server = StdioServer::start();
        let nap = unique_sleep();
        server.shell(1, &format!("sleep {nap} & seq 200"));
        assert_eq!(server.next()["id"], 1);
        assert_eq!(server.temporary(), 1, "the whole of what was shown in part");
        server.shell(2, &format!("sleep {nap}"));
        running(&nap, 2);
        signal(server.pid(), name);
        assert!(server.ended().success());
        running(&nap, 0);
        assert_eq!(server.temporary(), 0);
    }
}

/// `nohup`, and scripts that start the server in the background, make it ignore signals of the terminal. Its
/// commands must not ignore them.
#[test]
fn what_was_ignored_at_first_is_no_end() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' INT HUP; exec \"$0\" \"$@\"", GOSLING]);
    let mut server = StdioServer::start_by(command);
    for name in ["INT", "HUP"] {
        signal(server.pid(), name);
    }
    for (id, number) in [(1, 2), (2, 1)] {
        server.shell(id, &format!("kill -{number} $$; echo deaf"));
        let answer = server.next();
        assert_eq!(answer["result"]["structuredContent"]["signal"], number);
    }
    signal(server.pid(), "TERM");
    assert!(server.ended().success());
}

#[test]
fn what_is_in_the_background_may_see_to_its_affairs_when_the_session_ends() {
    with_developer(|session| {
        let nap = unique_sleep();
        // Two processes that clean up after SIGTERM, and one that ignores it.
        let tidy = |name: &str| {
            let trap = format!("trap \"sleep 0.05; echo tidy > {name}; exit\" TERM");
            format!(
                "setsid sh -c '{trap}; touch {name}.begun; while :; do sleep 0.02; done' {nap} &"
            )
        };
        let deaf =
            format!("sh -c 'trap \"\" TERM; touch c.begun; while :; do sleep 0.02; done' {nap} &");
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
        let left = with_argument(&nap);
        assert!(left.is_empty(), "when stop is answered: {left:?}");
    });
}

/// Kills the processes with this argument when dropped.
struct KillOnDrop(String);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        for process in with_argument(&self.0) {
            signal(process.pid, "KILL");
        }
    }
}

#[test]
fn what_cannot_be_found_and_holds_the_output_does_not_hold_up_the_end() {
    with_developer(|session| {
        let nap = unique_sleep();
        let _loose = KillOnDrop(nap.clone());
        let command = format!(
            "env -i $(command -v setsid) $(command -v prlimit) --locks=unlimited sleep {nap} & echo begun"
        );
        assert_eq!(call(session, &command)["content"][0]["text"], "begun\n");
        // Until then, it is one of the processes that hold the call up.
        let hidden = || {
            with_argument(&nap)
                .first()
                .is_some_and(|p| p.name() == "sleep")
        };
        until("it is hidden", || hidden().then_some(()));
        session.stop();
        let left = with_argument(&nap);
        assert_eq!(left.len(), 1, "otherwise this test tests nothing");
    });
}

#[test]
fn a_client_that_does_not_read_keeps_no_command_from_its_end() {
    let mut server = StdioServer::start();
    let limited = unique_sleep();
    let cancelled = unique_sleep();
    let gate = server.gate();
    let closed = gate.lock().unwrap();
    // Much more than a pipe holds.
    let command = |nap: &str| format!("sleep {nap} & yes | head -c 100000; sleep {nap}; :");
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
    server.ended();
}

#[test]
fn a_client_that_does_not_read_keeps_no_server_from_its_end() {
    for signalled in [false, true] {
        let mut server = StdioServer::start();
        let nap = unique_sleep();
        server.shell(1, &format!("sleep {nap} & seq 200"));
        assert_eq!(server.next()["id"], 1);
        let gate = server.gate();
        let closed = gate.lock().unwrap();
        server.shell(2, &format!("yes | head -c 1000000; sleep {nap}; :"));
        running(&nap, 2);
        if signalled {
            signal(server.pid(), "TERM")
        } else {
            server.leave()
        }
        assert!(server.ended().success());
        running(&nap, 0);
        assert_eq!(server.temporary(), 0);
        drop(closed);
    }
}

/// The memory that a flood of output may take, in bytes: that of a pipe and of the kept output.
const FLOOD: usize = 16 << 20;

#[test]
fn a_flood_of_output_is_counted_and_not_kept() {
    with_developer(|session| {
        let run = |command: &str| call(session, command);
        // The first call allocates memory that stays in use.
        run("seq 1 100000");
        let before = session.server.memory("VmHWM");
        // Many lines, and an endless line.
        for source in ["yes 'all work and no play'", "cat /dev/zero | tr '\\0' x"] {
            let answer = run(&format!("{source} | head -c 100000000; echo; echo the end"));
            assert_eq!(answer["is_error"], true);
            let text = answer["content"][0]["text"].as_str().expect("a text");
            let cap = "more than the limit of 400000";
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
