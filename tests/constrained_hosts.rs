//! Hosts with little memory, without `/proc`, with a root that cannot be written to, and with old kernels: what can work
//! does, and what cannot is said.
#![cfg(target_os = "linux")]
// Some tests, and what only they use, need optional features.
#![cfg_attr(not(feature = "info"), allow(dead_code, unused_imports))]

mod support;

use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use support::client::{Answer, KEY};
use support::process::children;
use support::scripted::{Action, Script};
use support::server::{Extension, RunningServer, Server, Session, gosling};
use support::until;

const MEMORY: u64 = 64 << 20;

fn checked(result: i64) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// This much memory for each process, besides its code.
fn little_memory() -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: MEMORY as _,
        rlim_max: MEMORY as _,
    };
    // SAFETY: a system call with plain data that outlives it.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) }.into())
}

/// A kernel whose newest system call has this number. All processors number the calls alike that are newer than those of
/// Linux 5.0.
fn kernel_up_to(newest: u32) -> io::Result<()> {
    const JUMP_GREATER: u16 = 0x25;
    without_calls(JUMP_GREATER, newest, libc::ENOSYS)
}

/// A system call that is refused, as filters of containers do.
fn without_sysinfo() -> io::Result<()> {
    const JUMP_EQUAL: u16 = 0x15;
    let call = u32::try_from(libc::SYS_sysinfo).expect("a small number");
    without_calls(JUMP_EQUAL, call, libc::EPERM)
}

/// Has the calls refused for which this jump is taken.
fn without_calls(jump: u16, number: u32, error: i32) -> io::Result<()> {
    const LOAD: u16 = 0x20;
    const RETURN: u16 = 0x06;
    let no_such_call = libc::SECCOMP_RET_ERRNO | error.cast_unsigned();
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(LOAD, 0, 0, 0),
        step(jump, 0, 1, number),
        step(RETURN, 0, 0, no_such_call),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: 4,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: system calls with plain data that outlives them.
    unsafe {
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        let mode = libc::PR_SET_SECCOMP;
        checked(libc::prctl(mode, libc::SECCOMP_MODE_FILTER, &raw const program).into())
    }
}

/// Linux 5.4, without `close_range`, `openat2`, `pidfd_getfd` and Landlock.
fn linux_5_4() -> io::Result<()> {
    kernel_up_to(435)
}

/// Linux 5.0, also without `pidfd_open` and `clone3`.
fn linux_5_0() -> io::Result<()> {
    kernel_up_to(423)
}

/// Starts the server after this line of a shell, which has mounts of its own; `None`, with the reason printed, where that
/// cannot be set up.
fn with_mounts(server: Server, line: &str) -> Option<RunningServer> {
    let tried = Command::new("unshare")
        .args(["-mr", "sh", "-c", line])
        .output();
    if !tried.as_ref().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: no mounts of its own here: {tried:?}");
        return None;
    }
    let line = format!("{line} && exec \"$0\" \"$@\"");
    Some(
        server
            .through("unshare", &["-mr", "sh", "-c", &line])
            .start(),
    )
}

/// A server with a model that calls a tool of an MCP server.
fn server() -> Server {
    let call = json!({"name": "one__echo", "arguments": {"message": "a small host"}});
    let steps = json!([{"call": call}, {"text": "It says {{last_result}}."}]);
    let script = json!({"repeat": true, "turns": [{"steps": steps}]});
    Server::scripted(script).setting("GOOSE_MODE", "auto")
}

fn session(server: &RunningServer) -> Session<'_> {
    server.session([Extension::scripted("one", &Script::new())])
}

/// A turn with a call of a tool, in a session of its own whose processes end with it.
#[track_caller]
fn turn_works(server: &RunningServer) {
    let session = session(server);
    let turn = session.say("go on");
    turn.says("It says a small host.").finishes();
    session.echoes("one");
    session.stop();
    server.never_logs("internal error");
}

/// What `gosling info` says of such a host.
#[cfg(feature = "info")]
fn info(confine: fn() -> io::Result<()>) -> Value {
    let root = support::temp_dir();
    let mut command = gosling();
    command.env("GOOSE_PATH_ROOT", root.path());
    // SAFETY: it makes system calls alone.
    unsafe { command.pre_exec(confine) };
    let output = command.args(["info", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["system"].take()
}

#[test]
fn turns_take_little_memory() {
    let server = server().confined(little_memory).start();
    for _ in 0..3 {
        turn_works(&server);
    }
    // Several at a time, and much text.
    let much = "x".repeat(1 << 20);
    let sessions = [(); 4].map(|()| session(&server));
    for session in &sessions {
        let call = session.call("one__echo", json!({"message": much}));
        assert_eq!(call.is(200).content().len(), much.len());
    }
    for session in &sessions {
        session.say("go on").says("a small host").finishes();
    }
}

#[test]
fn what_takes_too_much_memory_is_refused_and_the_server_lives() {
    let server = server().confined(little_memory).start();
    let session = session(&server);
    // A sixteenth of the memory is as much as a message may have, in either direction. It is refused by its length.
    for mebibytes in [5, 20, 45] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let length = mebibytes << 20;
        let head = format!(
            "POST /agent/call_tool HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Secret-Key: {KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        Answer::read(head, stream).is(413);
    }
    let much = Script::new().tool("much", [Action::Text("x".into(), 5 << 20)]);
    let large = server.session([Extension::scripted("large", &much)]);
    let answer = large.call("large__much", json!({}));
    answer.is(500).says("a message of more than 4194304 bytes");
    session.echoes("one");
    turn_works(&server);
}

#[test]
fn without_proc_a_turn_works() {
    let Some(server) = with_mounts(server(), "mount -t tmpfs none /proc") else {
        return;
    };
    turn_works(&server);
    server.logs("/proc cannot be used");
}

/// Whether a child of this process has ended and was not reaped.
#[cfg(feature = "developer")]
fn has_zombie(of: u32) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut states =
        entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    states.any(|stat| stat.contains(&format!(") Z {of} ")))
}

/// The first process of a container is the parent of all that lose theirs.
#[cfg(feature = "developer")]
#[test]
fn as_the_first_process_it_reaps_what_others_leave() {
    const OF_ITS_OWN: [&str; 5] = ["-rpf", "--mount-proc", "--kill-child", "sh", "-c"];
    let tried = Command::new("unshare")
        .args(OF_ITS_OWN)
        .arg("true")
        .output();
    if !tried.as_ref().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: no processes of its own here: {tried:?}");
        return;
    }
    let mut line = OF_ITS_OWN.to_vec();
    line.push("(sleep 0.2 &) ; exec \"$0\" \"$@\"");
    let server = server().through("unshare", &line).start();
    // Also while gosling has no child of its own.
    let [first] = children(server.pid())[..] else {
        panic!("unshare has one child");
    };
    std::thread::sleep(std::time::Duration::from_millis(500));
    until("what it found is reaped", || {
        (!has_zombie(first.pid)).then_some(())
    });
    let developer = server.session([Extension::builtin("developer")]);
    let shell = |command: &str| {
        let answer = developer.call("developer__shell", json!({"command": command}));
        answer.is(200).content().to_owned()
    };
    assert!(shell("cat /proc/1/comm").contains("gosling"));
    let zombies = || -> usize {
        let found = shell("cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' ; true");
        found.trim().parse().unwrap()
    };
    // An idle MCP server stays beside, whose end nothing waits for.
    let session = session(&server);
    for _ in 0..5 {
        shell("for i in 1 2 3 4; do (sleep 0.1 &) ; done");
    }
    until("all are reaped", || (zombies() == 0).then_some(()));
    // Also where no child of gosling's ends any more.
    shell("(setsid sh -c '(sleep 0.3 &) ; sleep 0.6' >/dev/null 2>&1 &)");
    std::thread::sleep(std::time::Duration::from_secs(1));
    until("these too", || (zombies() == 0).then_some(()));
    turn_works(&server);
    session.echoes("one");
}

/// Half of the descriptors are for connections: those that do not know the key cannot take the others.
#[test]
fn with_few_descriptors_silent_clients_keep_nobody_out() {
    fn few_descriptors() -> io::Result<()> {
        let limit = libc::rlimit {
            rlim_cur: 64,
            rlim_max: 4096,
        };
        // SAFETY: a system call with plain data that outlives it.
        checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }.into())
    }
    let server = server().confined(few_descriptors).start();
    turn_works(&server);
    let silent = [(); 100].map(|()| TcpStream::connect(server.address()).unwrap());
    turn_works(&server);
    server.get("/sessions").is(200);
    server.never_logs("No file descriptors");
    drop(silent);
}

/// A filter of system calls may refuse the question for the memory.
#[test]
fn with_unknown_memory_requests_have_bodies() {
    let server = server().confined(without_sysinfo).start();
    turn_works(&server);
}

#[test]
fn with_a_root_that_is_read_only_a_turn_works() {
    let server = server();
    let root = server.root().display().to_string();
    let line = format!("mount --bind {root} {root} && mount -o remount,bind,ro /");
    let Some(server) = with_mounts(server, &line) else {
        return;
    };
    turn_works(&server);
}

#[test]
fn with_data_that_cannot_be_written_it_says_so_and_ends() {
    let root = support::temp_dir();
    let path = root.path().display().to_string();
    let line = format!("mount --bind {path} {path} && mount -o remount,bind,ro {path}");
    let run = format!("{line} && exec \"$0\" agent --port 0");
    let mut command = Command::new("unshare");
    command.args(["-mr", "sh", "-c", &run, support::server::GOSLING]);
    command.env("GOOSE_PATH_ROOT", root.path());
    let output = command.env("GOOSE_SERVER__SECRET_KEY", KEY).output();
    let output = output.expect("unshare of util-linux");
    let error = String::from_utf8_lossy(&output.stderr);
    if error.starts_with("unshare") || error.contains("mount:") {
        eprintln!("skipped: no mounts of its own here: {error}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(error.contains("Read-only file system"), "{error}");
    assert!(error.contains("GOOSE_PATH_ROOT"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn with_old_kernels_a_turn_works_and_nothing_is_left() {
    for kernel in [linux_5_4, linux_5_0] {
        let server = server().confined(kernel).start();
        turn_works(&server);
        server.without_descendants();
        let session = session(&server);
        session.echoes("one");
        let started = server.descendants();
        assert!(!started.is_empty());
        // The guardian ends them.
        server.kill();
        until("nothing is left", || {
            let mut started = started.iter();
            (!started.any(support::process::Proc::is_alive)).then_some(())
        });
    }
}

#[cfg(feature = "sandbox")]
#[test]
fn with_an_old_kernel_walls_are_refused_and_the_reason_told() {
    let server = server().confined(linux_5_4).start();
    let walls = Extension::scripted("one", &Script::new()).with("sandbox", "workspace");
    let error = server.refuses(walls);
    assert!(error.contains("Landlock"), "{error}");
    turn_works(&server);
}

#[cfg(feature = "info")]
#[test]
fn what_a_host_lacks_is_told() {
    let missing = |host: &Value| -> Vec<String> {
        let missing = host["missing"].as_array().unwrap().iter();
        missing.map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let here = info(|| Ok(()));
    assert_eq!(here["bits"], usize::BITS);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(here["kernel"], release.trim());
    assert!(here["memory"].as_u64().unwrap() > MEMORY, "{here}");
    let less = info(linux_5_4);
    for name in ["openat2", "close_range", "landlock"] {
        assert!(missing(&less).iter().any(|it| it == name), "{less}");
    }
    assert!(!missing(&less).iter().any(|it| it == "pidfd_open"));
    let least = info(linux_5_0);
    assert!(missing(&least).iter().any(|it| it == "pidfd_open"));
    assert!(missing(&here).len() < missing(&least).len());
    let small = info(little_memory);
    assert!(small["memory_limit"].as_u64().unwrap() <= MEMORY, "{small}");
}
