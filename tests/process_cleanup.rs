//! No process that a server has started outlives it, however the server ends.
#![cfg(target_os = "linux")]
// Some tests, and what only they use, need optional features.
#![cfg_attr(not(feature = "developer"), allow(dead_code, unused_imports))]

mod support;

use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use support::process::{
    GUARDIAN, Proc, children, descendants, running, signal, unique_sleep, with_argument,
};
use support::scripted::{Action, Script};
use support::server::{
    Extension, GOSLING, Record, RunningServer, Server, Session, as_argument, gosling, scripted_mcp,
};
use support::until;
use support::watchdog::LIMIT_VARIABLE;

/// A daemon that its group, its parents and its environment do not reveal; the test finds it by `$2`.
const DAEMON: &str = "env -i setsid sh -c '(sleep 300; :) &' \"$2\" &";

/// Ignores signals and the end of its stdin, and starts a child, one that leaves its group, and a daemon.
fn stubborn(server: &RunningServer, name: &str) -> Extension {
    let (mcp, script) = (scripted_mcp(), as_argument(&Script::new()));
    let command = format!(
        "trap '' TERM HUP INT; setsid sleep 300 & sleep 300 & {DAEMON} \"$0\" \"$1\"; \
         while :; do sleep 1; done"
    );
    let args = ["-c", &command, &mcp, &script, &daemon(server)];
    Extension::stdio(name, "sh", &args)
}

/// The argument by which a test finds the daemons of a server.
fn daemon(server: &RunningServer) -> String {
    format!("daemon of {}", server.root().display())
}

/// Waits for this many `sleep`s, daemons included, and processes in all; returns all processes of a server.
#[track_caller]
fn processes(server: &RunningServer, sleeps: usize, wanted: usize) -> Vec<Proc> {
    let deadline = Instant::now() + support::TEST_TIMEOUT;
    loop {
        let mut all = server.descendants();
        for process in with_argument(&daemon(server)) {
            if !all.contains(&process) {
                all.push(process);
            }
        }
        let sleeping = all.iter().filter(|p| p.name() == "sleep").count();
        if (sleeping, all.len()) == (sleeps, wanted) {
            return all;
        }
        let names: Vec<_> = all.iter().map(|p| (p.pid, p.name())).collect();
        assert!(
            Instant::now() < deadline,
            "{} are there: {names:?}",
            all.len()
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// The processes of one stubborn server: the shell, its two children, the MCP server, the daemon and its child.
const STUBBORN: usize = 6;

/// A session with two stubborn servers, and all processes of the server, the guardian included.
fn stubborn_session(server: &RunningServer) -> (Session<'_>, Vec<Proc>) {
    let session = server.session([stubborn(server, "one"), stubborn(server, "two")]);
    session.echoes("one");
    session.echoes("two");
    let all = processes(server, 6, 2 * STUBBORN + 1);
    (session, all)
}

fn guardian(server: &RunningServer) -> Option<Proc> {
    let mut all = server.descendants().into_iter();
    all.find(|process| process.name() == GUARDIAN)
}

#[track_caller]
fn all_gone(processes: &[Proc]) {
    let left = || processes.iter().filter(|process| process.is_alive());
    let start = Instant::now();
    while left().count() > 0 {
        let names: Vec<_> = left().map(|process| (process, process.name())).collect();
        assert!(start.elapsed() < support::TEST_TIMEOUT, "left: {names:?}");
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
    let left = all.iter().filter(|process| process.is_alive()).count();
    assert_eq!(left, STUBBORN + 1);
    session.echoes("two");
}

/// The server blocks its ending signals to wait for them; its children must not inherit that.
#[test]
fn a_server_hears_every_signal() {
    let server = Server::new().start();
    let _session = server.session([Extension::scripted("one", &Script::new())]);
    // The guardian sets its name after it has started.
    let child = until("the guardian and one child run", || {
        let mut all = server.descendants();
        all.retain(|process| process.name() != GUARDIAN);
        let pids: Vec<u32> = all.iter().map(|process| process.pid).collect();
        <[u32; 1]>::try_from(pids).ok()
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", child[0])).unwrap();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    assert_eq!(blocked.map(str::trim), Some("0000000000000000"));
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
    soon_gone(begin, &all);
}

/// The documented limit is four seconds, five for the whole server; the rest is tolerance for a busy machine.
#[track_caller]
fn soon_gone(begin: Instant, processes: &[Proc]) {
    all_gone(processes);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
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
    record.wait_for_message("tools/call");
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
    let session = server.session([stubborn(&server, "one")]);
    session.echoes("one");
    let first = until("a guardian", || guardian(&server));
    signal(first.pid, "KILL");
    // Without another child in between.
    let another = || guardian(&server).filter(|now| *now != first);
    until("another guardian", another);
    let all = processes(&server, 3, STUBBORN + 1);
    server.kill();
    all_gone(&all);
}

/// The session's other commands still see the background process of a command that ended long ago.
#[cfg(feature = "developer")]
#[test]
fn background_jobs_go_with_a_server_that_was_killed() {
    for unguarded in [false, true] {
        let server = Server::new().start();
        let session = server.session([Extension::builtin("developer")]);
        let nap = unique_sleep();
        let jobs = format!("(trap '' TERM HUP; exec sleep {nap}) & setsid sleep {nap} &");
        let command = json!({"command": jobs});
        session.call("developer__shell", command).is(200);
        running(&nap, 2);
        // Longer than the guardian of a server without children stays.
        thread::sleep(Duration::from_millis(1500));
        let first = guardian(&server).expect("a guardian");
        if unguarded {
            signal(first.pid, "KILL");
            let another = || guardian(&server).filter(|now| *now != first);
            until("another guardian", another);
        }
        server.kill();
        running(&nap, 0);
    }
}

/// The search for a command uses its own mark only, since others of its family go on.
#[cfg(feature = "developer")]
#[test]
fn what_hid_from_the_end_of_its_command_goes_with_a_server_that_was_killed() {
    let server = Server::new().start();
    let session = server.session([Extension::builtin("developer")]);
    // Also runs the login shell, which stays.
    session
        .call("developer__shell", json!({"command": "true"}))
        .is(200);
    until("the first guardian leaves", || {
        guardian(&server).is_none().then_some(())
    });
    let nap = unique_sleep();
    let hides = "env -i $(command -v setsid) $(command -v sleep)";
    let command = format!("{hides} {nap} > /dev/null 2>&1 & sleep {nap}");
    let call = session.begin_call("developer__shell", json!({"command": command}));
    until("it is hidden", || {
        let both = with_argument(&nap);
        let sleep = both.iter().filter(|process| process.name() == "sleep");
        (both.len() == 2 && sleep.count() == 2).then_some(())
    });
    drop(call);
    running(&nap, 1);
    thread::sleep(Duration::from_millis(1500));
    server.kill();
    running(&nap, 0);
}

/// If the guardian cannot start, the server retries, although nothing else happens.
#[cfg(feature = "developer")]
#[test]
fn a_guardian_that_could_not_be_replaced_is_replaced_later() {
    let server = Server::new().start();
    let session = server.session([Extension::builtin("developer")]);
    let nap = unique_sleep();
    let command = json!({"command": format!("setsid sleep {nap} > /dev/null 2>&1 &")});
    session.call("developer__shell", command).is(200);
    running(&nap, 1);
    let descriptors = |most: &str| {
        let (pid, most) = (server.pid().to_string(), format!("--nofile={most}:"));
        let set = Command::new("prlimit")
            .args(["--pid", &pid, &most])
            .status();
        assert!(set.expect("prlimit runs").success());
    };
    descriptors("3");
    let first = until("a guardian", || guardian(&server));
    signal(first.pid, "KILL");
    thread::sleep(Duration::from_millis(1500));
    assert!(
        guardian(&server).is_none(),
        "otherwise this test tests nothing"
    );
    descriptors("1000");
    until("another guardian", || guardian(&server));
    server.kill();
    running(&nap, 0);
}

#[cfg(feature = "developer")]
#[test]
fn a_guardian_stays_no_longer_than_background_jobs() {
    let server = Server::new().start();
    let session = server.session([Extension::builtin("developer")]);
    let nap = unique_sleep();
    let command = json!({"command": format!("sleep {nap} &")});
    session.call("developer__shell", command).is(200);
    running(&nap, 1);
    thread::sleep(Duration::from_millis(1500));
    assert!(guardian(&server).is_some());
    for job in with_argument(&nap) {
        signal(job.pid, "KILL");
    }
    until("the guardian leaves", || {
        guardian(&server).is_none().then_some(())
    });
    server.is_alive();
}

#[test]
fn a_guardian_that_was_stopped_holds_up_nobody() {
    let server = Server::new().start();
    let session = server.session([Extension::demo()]);
    let stopped = until("a guardian", || guardian(&server));
    signal(stopped.pid, "STOP");
    session.stop();
    // The server dismisses it, but it does not read that.
    all_gone(&[stopped]);
    let (_, all) = stubborn_session(&server);
    server.kill();
    all_gone(&all);
}

#[test]
fn without_a_guardian_the_kernel_ends_the_direct_children() {
    let server = Server::new().start();
    let (_, all) = stubborn_session(&server);
    // So that it cannot be replaced.
    signal(server.pid(), "STOP");
    let direct = children(server.pid());
    assert_eq!(direct.len(), 3);
    signal(until("a guardian", || guardian(&server)).pid, "KILL");
    server.kill();
    all_gone(&direct);
    for left in all {
        signal(left.pid, "KILL");
    }
}

/// Ten sessions with a stubborn server each, and all processes.
fn ten_sessions(server: &RunningServer) -> (Vec<Session<'_>>, Vec<Proc>) {
    let begin = |_| server.begin_session([stubborn(server, "one")]);
    let sessions: Vec<Session> = (0..10).map(begin).collect();
    for session in &sessions {
        assert_eq!(session.resume()[0]["success"], true);
        session.echoes("one");
    }
    let all = processes(server, 30, 10 * STUBBORN + 1);
    (sessions, all)
}

#[test]
fn ten_sessions_stop_at_once_and_leave_nothing() {
    let server = Server::new().start();
    let (sessions, all) = ten_sessions(&server);
    let begin = Instant::now();
    thread::scope(|scope| {
        for session in &sessions {
            scope.spawn(|| session.stop());
        }
    });
    soon_gone(begin, &all);
    server.is_alive();
}

#[test]
fn ten_sessions_leave_nothing_after_sigterm() {
    let server = Server::new().start();
    let (_, all) = ten_sessions(&server);
    let begin = Instant::now();
    assert_eq!(server.terminate().code(), Some(0));
    soon_gone(begin, &all);
}

#[test]
fn ten_sessions_leave_nothing_after_sigkill() {
    let server = Server::new().start();
    let (_, all) = ten_sessions(&server);
    let begin = Instant::now();
    server.kill();
    soon_gone(begin, &all);
}

/// A server with two hundred children, half of them as hard to find as daemons.
fn prolific() -> Extension {
    let (mcp, script) = (scripted_mcp(), as_argument(&Script::new()));
    let command = "for n in $(seq 100); do sleep 300 & env -i setsid sleep 300 & done; \
                   exec \"$0\" \"$1\"";
    Extension::stdio("one", "sh", &["-c", command, &mcp, &script])
}

#[test]
fn two_hundred_children_of_one_server_go_with_it() {
    let server = Server::new().start();
    for stopped in [true, false] {
        let session = server.session([prolific()]);
        let mut all = processes(&server, 200, 202);
        if stopped {
            session.stop();
            all.retain(|process| process.name() != GUARDIAN);
        } else {
            server.kill()
        }
        all_gone(&all);
    }
}

#[test]
fn two_hundred_servers_at_once_go_with_gosling() {
    for how in ["TERM", "KILL"] {
        let server = Server::new().start();
        let sleeping = |n| Extension::shell(&format!("s{n}"), "exec sleep 300");
        // So many start in parallel, and never finish starting.
        for _ in 0..20 {
            server.begin_session((0..10).map(sleeping));
        }
        let all = processes(&server, 200, 201);
        server.signal(how);
        server.ended();
        all_gone(&all);
    }
}

#[test]
fn stopped_processes_end_too() {
    for how in ["stop", "TERM", "KILL"] {
        let server = Server::new().start();
        let (session, all) = stubborn_session(&server);
        for process in all.iter().filter(|process| process.name() != GUARDIAN) {
            signal(process.pid, "STOP");
        }
        match how {
            "stop" => session.stop(),
            signal => {
                server.signal(signal);
                server.ended();
            }
        }
        all_gone(&all);
    }
}

#[test]
fn a_server_that_closes_its_output_is_ended_and_started_again() {
    let mcp = scripted_mcp();
    let script = as_argument(&Script::new().tool("close", [Action::text("bye")]));
    // Only `sed` holds the output, until it has passed it on.
    let command = "exec 3<&0; { \"$0\" \"$1\" <&3 | sed -u /bye/q; } & exec >&- 3<&-; \
                   trap '' TERM HUP INT; while :; do sleep 1; done";
    let server = Server::new().start();
    let session = server.session([Extension::stdio(
        "one",
        "sh",
        &["-c", command, &mcp, &script],
    )]);
    let mut all = server.descendants();
    all.retain(|process| process.name() != GUARDIAN);
    assert!(all.len() >= 4, "{all:?}");
    assert_eq!(
        session.call("one__close", json!({})).is(200).content(),
        "bye"
    );
    all_gone(&all);
    session.echoes("one");
}

#[test]
fn what_starts_itself_again_and_again_is_caught() {
    // Each generation exists for a moment: in no group, under no parent, with no mark in its environment.
    let hopper = "echo $1 >> \"$2\"; [ $1 -gt 0 ] && env -i sh -c \"$0\" \"$0\" $(($1-1)) \"$2\" &";
    let command = "env -i setsid sh -c \"$2\" \"$2\" 100000 \"$3\" & exec \"$0\" \"$1\"";
    let (mcp, script) = (scripted_mcp(), as_argument(&Script::new()));
    for stopped in [true, false] {
        let server = Server::new().start();
        let trace = server.work().join("trace");
        let file = trace.to_str().unwrap();
        let args = ["-c", command, &mcp, &script, hopper, file];
        let session = server.session([Extension::stdio("one", "sh", &args)]);
        let generations = || std::fs::metadata(&trace).map_or(0, |file| file.len());
        until("ten generations", || (generations() > 70).then_some(()));
        if stopped {
            session.stop()
        } else {
            server.kill()
        }
        until("the last generation", || {
            let before = generations();
            thread::sleep(Duration::from_millis(500));
            (generations() == before).then_some(())
        });
        let trace = std::fs::read_to_string(&trace).unwrap();
        assert!(!trace.ends_with("\n0\n"), "it was never caught");
    }
}

#[cfg(feature = "chat")]
#[test]
fn a_server_inside_a_server_goes_with_all_it_has() {
    // Waits for a server that never responds and has started a daemon.
    let inner = format!("{DAEMON} exec sleep 300");
    let command = "\"$2\" call --server \"sh $3 . '$4'\" >/dev/null 2>&1 & exec \"$0\" \"$1\"";
    let (mcp, script) = (scripted_mcp(), as_argument(&Script::new()));
    for stopped in [true, false] {
        let server = Server::new().start();
        let file = server.work().join("inner.sh");
        std::fs::write(&file, &inner).unwrap();
        let (file, daemon) = (file.to_str().unwrap(), daemon(&server));
        let args = ["-c", command, &mcp, &script, GOSLING, file, &daemon];
        let session = server.session([Extension::stdio("one", "sh", &args)]);
        // The server, gosling, its server, the daemon and its child, two guardians.
        let all = processes(&server, 2, 7);
        let guardians = all.iter().filter(|process| process.name() == GUARDIAN);
        assert_eq!(guardians.count(), 2);
        if stopped {
            session.stop()
        } else {
            server.kill()
        }
        all_gone(&all);
    }
}

#[test]
fn an_extension_that_is_removed_while_it_starts_leaves_nothing() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).on("initialize", []);
    let command = format!("trap '' TERM; {DAEMON} \"$0\" \"$1\"; while :; do sleep 1; done");
    let server = Server::new().start();
    let daemon = daemon(&server);
    let args = [
        "-c",
        &command,
        &scripted_mcp(),
        &as_argument(&script),
        &daemon,
    ];
    let session = server.begin_session([Extension::stdio("one", "sh", &args)]);
    record.wait_for_message("initialize");
    let all = processes(&server, 1, 5);
    session.remove("one").is(200);
    let left: Vec<_> = all.iter().filter(|p| p.is_alive()).collect();
    assert!(left.iter().all(|p| p.name() == GUARDIAN), "{left:?}");
    let result = &session.resume()[0];
    assert_eq!(result["success"], false);
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("it was removed"), "{error}");
}

#[test]
fn an_extension_that_is_removed_before_its_turn_never_starts() {
    let record = Record::new();
    let script = Script::new().recorded(&record.path());
    let server = Server::new().start();
    // As many as start at the same time, and one more.
    let names: Vec<_> = (0..16).map(|n| format!("slow{n}")).collect();
    let slow = names
        .iter()
        .map(|name| Extension::shell(name, "exec sleep 300"));
    let last = Extension::scripted("last", &script);
    let session = server.begin_session(slow.chain([last.clone()]));
    until("the slow ones", || {
        let all = server.descendants();
        (all.iter().filter(|p| p.name() == "sleep").count() == 16).then_some(())
    });
    session.remove("last").is(200);
    for name in &names {
        session.remove(name).is(200);
    }
    assert_eq!(session.resume().len(), 17);
    assert!(record.starts().is_empty());
    // It can be added again.
    session.add(last).is(200);
    session.echoes("last");
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
    record.wait_for_message("tools/call");
    let pid = record.starts()[0]["pid"].as_u64().unwrap();
    signal(pid.try_into().unwrap(), "KILL");
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

/// A guardian without a server, which gets these commands and the end of its pipe, and has then ended.
fn guardian_of(mark: &str, commands: &str) {
    let mut guardian = gosling()
        .args(["__guardian", mark])
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = guardian.stdin.take().expect("its pipe");
    stdin.write_all(commands.as_bytes()).expect("it reads");
    drop(stdin);
    until("the guardian ends", || guardian.try_wait().unwrap());
}

/// The mark of a server that has never run.
fn foreign_mark() -> String {
    format!("{:0>32}", unique_sleep())
}

/// Processes that sleep, each in a group of its own. Dropping it ends them.
struct Nap(String);

impl Nap {
    fn new() -> Nap {
        Nap(unique_sleep())
    }

    fn spawn(&self, command: &mut Command) -> Child {
        command.process_group(0).spawn().expect("it starts")
    }

    /// The leader of a group.
    fn leader(&self) -> Child {
        self.spawn(Command::new("sleep").arg(&self.0))
    }

    /// The group of a leader that has ended.
    fn orphaned_group(&self) -> u32 {
        let background = format!("sleep {} & :", self.0);
        let mut leader = self.spawn(Command::new("sh").args(["-c", &background]));
        leader.wait().unwrap();
        self.is(1);
        leader.id()
    }

    /// Waits until this many processes sleep.
    #[track_caller]
    fn is(&self, count: usize) {
        running(&self.0, count);
    }
}

impl Drop for Nap {
    fn drop(&mut self) {
        for process in with_argument(&self.0) {
            signal(process.pid, "KILL");
        }
    }
}

#[test]
fn a_guardian_kills_the_groups_that_it_knows_and_no_others() {
    let naps = [Nap::new(), Nap::new(), Nap::new(), Nap::new()];
    let [known, ended, reused, unknown] = &naps;
    let groups = [known.orphaned_group(), ended.orphaned_group()];
    // The leader of this group runs without the mark: its id has been assigned again.
    let mut leaders = [reused.leader(), unknown.leader()];
    let commands = format!(
        "+{}\n+{}\n+{}\n-{}\nnonsense\n+1\n",
        groups[0],
        groups[1],
        leaders[0].id(),
        groups[1]
    );
    guardian_of(&foreign_mark(), &format!("{commands}bye\n"));
    naps.iter().for_each(|nap| nap.is(1));
    guardian_of(&foreign_mark(), &commands);
    known.is(0);
    [ended, reused, unknown].iter().for_each(|nap| nap.is(1));
    drop(naps);
    leaders.iter_mut().for_each(|it| drop(it.wait()));
}

#[test]
fn a_guardian_searches_for_marked_processes_beside_the_groups() {
    let (nap, mark) = (Nap::new(), foreign_mark());
    let mut command = Command::new("sleep");
    command.env("GOSLING_PROCESS_MARK", format!("{mark}.1."));
    let mut marked = nap.spawn(command.arg(&nap.0));
    nap.is(1);
    guardian_of(&mark, "bye\n");
    nap.is(1);
    guardian_of(&mark, "");
    until("it is killed", || marked.try_wait().unwrap());
}

/// A test process whose one test, with a server, does not end.
fn hanging_test(limit: u32) -> Child {
    let program = std::env::current_exe().unwrap();
    let test = Command::new(program)
        .args(["plays_a_test_that_hangs", "--exact"])
        .env(HANGS, "1")
        .env(LIMIT_VARIABLE, limit.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    test.expect("it starts")
}

const HANGS: &str = "GOSLING_TEST_HANGS";

#[test]
fn plays_a_test_that_hangs() {
    if std::env::var_os(HANGS).is_none() {
        return;
    }
    let server = Server::new().start();
    let _session = server.session([Extension::scripted("one", &Script::new())]);
    loop {
        thread::sleep(support::TEST_TIMEOUT);
    }
}

/// Waits until the folders of a test process are removed.
#[track_caller]
fn folders_are_gone(pid: u32) {
    let prefix = format!("gosling-test-{pid}-");
    until("its folders are removed", || {
        let names = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let mut names = names.map(|entry| entry.file_name());
        (!names.any(|name| name.to_string_lossy().starts_with(&prefix))).then_some(())
    });
}

#[test]
fn a_test_process_that_is_killed_leaves_no_server_and_no_folder() {
    let mut test = hanging_test(600);
    let all = until("the server and its child run", || {
        let all = descendants(test.id());
        all.iter()
            .any(|process| process.name() == "scripted-mcp")
            .then_some(all)
    });
    test.kill().unwrap();
    test.wait().unwrap();
    all_gone(&all);
    folders_are_gone(test.id());
}

#[test]
fn a_test_that_hangs_ends_its_process_and_is_named() {
    let mut test = hanging_test(1);
    let pid = test.id();
    let status = until("its end", || test.try_wait().unwrap());
    assert_eq!(status.code(), Some(101));
    let mut said = String::new();
    test.stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(
        said.contains("the test plays_a_test_that_hangs hangs"),
        "{said}"
    );
    folders_are_gone(pid);
}
