//! A program that does not start, or blocks before it runs, does not block anything else.
#![cfg(target_os = "linux")]
// Some tests, and what only they use, need optional features.
#![cfg_attr(not(feature = "developer"), allow(dead_code, unused_imports))]

mod support;

use gosling::sys::cancel::Cancel;
use gosling::sys::process::{Command, Grace, Process};
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::TEST_TIMEOUT;
use support::process::{running, unique_sleep};
use support::scripted::Script;
use support::server::{Extension, RunningServer, Server};

/// A script whose interpreter does not exist: it is found and executable, but exec fails.
fn without_interpreter(server: &RunningServer) -> Extension {
    let path = server.work().join("broken");
    support::system::script(&path, "#!/does/not/exist\n");
    Extension::stdio("broken", path.to_str().unwrap(), &[])
}

#[cfg(feature = "developer")]
#[test]
fn a_server_that_was_started_with_sigchld_ignored_survives_a_failed_exec() {
    let server = Server::new().ignoring(&[libc::SIGCHLD]).start();
    let before = server.session([Extension::scripted("one", &Script::new())]);
    let all = server.descendants();
    let error = server.refuses(without_interpreter(&server));
    assert!(error.contains("No such file"), "{error}");
    let after = server.session([
        Extension::scripted("two", &Script::new()),
        Extension::builtin("developer"),
    ]);
    after.echoes("two");
    let shell = after.call("developer__shell", json!({"command": "exit 3"}));
    shell.is(200).says("exit code 3");
    before.echoes("one");
    assert!(
        all.iter().all(support::process::Proc::is_alive),
        "the first one was not started again"
    );
    server.never_logs("internal error");
}

/// Which signal is sent to the holder of a lease; the crate `libc` does not define it.
const F_SETSIG: i32 = 10;

/// Blocks every other process that opens the file, for example to run it, like a file on a mount that hangs:
/// for 45 seconds, or until it is dropped.
struct Lease(File);

impl Lease {
    fn on(path: &Path) -> Lease {
        let file = File::open(path).unwrap();
        let fd = file.as_raw_fd();
        // SAFETY: plain integers. Who breaks the lease is told by a signal that is ignored by default.
        let lease = || unsafe {
            libc::fcntl(fd, F_SETSIG, libc::SIGURG) == 0
                && libc::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK) == 0
        };
        // Processes that were forked while the file was written have it open until exec.
        support::until("a lease", || lease().then_some(()));
        Lease(file)
    }

    /// Whether a process waits for the end of the lease.
    fn is_waited_for(&self) -> bool {
        // SAFETY: plain integers. A lease that is being broken shows what it is to become.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE) != libc::F_WRLCK }
    }
}

/// A program that does not run while the lease on it is held.
fn program(server: &RunningServer, name: &str) -> (PathBuf, Lease) {
    let path = server.work().join(name);
    std::fs::copy(support::server::scripted_mcp(), &path).unwrap();
    let lease = Lease::on(&path);
    (path, lease)
}

/// Three such programs.
fn programs(server: &RunningServer) -> Vec<(PathBuf, Lease)> {
    let names = (0..3).map(|n| format!("held{n}"));
    names.map(|name| program(server, &name)).collect()
}

#[cfg(feature = "developer")]
#[test]
fn a_program_that_does_not_come_to_run_holds_up_no_other() {
    let server = Server::new().start();
    let rest = server.at_rest();
    let script = support::server::as_argument(&Script::new());
    let held = programs(&server);
    let begun = held.iter().map(|(path, _)| {
        let held = Extension::stdio("held", path.to_str().unwrap(), &[&script]);
        server.begin_session([held.with("timeout", 3600)])
    });
    let waiting: Vec<_> = begun.collect();
    support::until("all of them are held", || {
        held.iter()
            .all(|(_, lease)| lease.is_waited_for())
            .then_some(())
    });
    let begin = Instant::now();
    let session = server.session([
        Extension::scripted("one", &Script::new()),
        Extension::builtin("developer"),
    ]);
    session.echoes("one");
    let shell = session.call("developer__shell", json!({"command": "echo hi"}));
    assert_eq!(shell.is(200).content(), "hi\n");
    // One of them runs later, one is removed before it runs, and one session is stopped.
    let mut held = held.into_iter();
    drop(held.next());
    waiting[0].echoes("held");
    waiting[1].remove("held").is(200);
    for session in waiting.iter().chain([&session]) {
        session.stop();
    }
    server.returns_to(rest);
    // Otherwise the lease has expired.
    assert!(begin.elapsed() < Duration::from_secs(40));
    drop(held);
}

/// The extensions of a session start in parallel: the server's descriptors for one are open in the processes
/// that become the others.
#[test]
fn a_program_that_does_not_come_to_run_holds_up_none_that_starts_at_the_same_time() {
    let server = Server::new().start();
    let rest = server.at_rest();
    let script = support::server::as_argument(&Script::new());
    let held = programs(&server);
    let mut all = Vec::new();
    for (n, (path, _)) in held.iter().enumerate() {
        all.push(Extension::scripted(&format!("first{n}"), &Script::new()));
        let held = Extension::stdio(&format!("held{n}"), path.to_str().unwrap(), &[&script]);
        all.push(held.with("timeout", 3600));
        all.push(Extension::scripted(&format!("second{n}"), &Script::new()));
    }
    let begin = Instant::now();
    let session = server.begin_session(all);
    support::until("all of them are held", || {
        held.iter()
            .all(|(_, lease)| lease.is_waited_for())
            .then_some(())
    });
    // A call of an extension that is not active yet would also wait for the blocked ones.
    let path = format!("/agent/extensions?session_id={}", session.id);
    support::until("all others are active", || {
        let status = server.get(&path).is(200);
        let all = status.body["extensions"].as_array().unwrap();
        let active = all
            .iter()
            .filter(|extension| extension["state"] == "active");
        (active.count() == 2 * held.len()).then_some(())
    });
    for n in 0..held.len() {
        session.echoes(&format!("first{n}"));
        session.echoes(&format!("second{n}"));
        // It sees the end of its input, although another process may have the pipe open.
        session.remove(&format!("first{n}")).is(200);
    }
    // Otherwise a lease has expired.
    assert!(begin.elapsed() < Duration::from_secs(40));
    drop(held);
    session.echoes("held0");
    session.stop();
    server.returns_to(rest);
}

/// Whatever the limit: the program does not run after its caller was told that it does not.
#[test]
fn a_program_that_did_not_start_in_time_does_not_run_later() {
    let mut late = 0;
    for limit in (0..40).map(|n| Duration::from_micros(n * 25)) {
        let nap = unique_sleep();
        let mut command = Command::new("sleep");
        command.arg(&nap);
        match Process::spawn(command, Some(limit), &Cancel::new()) {
            Ok((process, _)) => process.end(Grace::SHORT),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{error}");
                late += 1;
            }
        }
        running(&nap, 0);
    }
    assert!(late > 0, "all of them started in time");
}

#[test]
fn a_program_is_looked_up_in_the_path_that_it_is_given() {
    let folder = support::temp_dir();
    let [first, second] = ["first", "second"].map(|name| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    });
    let spawn = |name: &str| {
        let mut command = Command::new(name);
        let folders = [Path::new("/does/not/exist"), &first, &second];
        command.env("PATH", std::env::join_paths(folders).unwrap());
        Process::spawn(command, Some(TEST_TIMEOUT), &Cancel::new())
    };
    let kind = |name: &str| spawn(name).err().unwrap().kind();
    assert_eq!(kind("program"), std::io::ErrorKind::NotFound);
    assert_eq!(kind(""), std::io::ErrorKind::NotFound);
    // A file that is not executable is skipped, but is the reason if there is no other.
    std::fs::write(first.join("program"), "exit 1").unwrap();
    assert_eq!(kind("program"), std::io::ErrorKind::PermissionDenied);
    std::fs::create_dir(first.join("folder")).unwrap();
    assert_eq!(kind("folder"), std::io::ErrorKind::PermissionDenied);
    // A script without an interpreter line is run as shells run it.
    support::system::script(&second.join("program"), "echo $0");
    let (process, mut pipes) = spawn("program").unwrap();
    let mut text = String::new();
    pipes.stdout.read_to_string(&mut text).unwrap();
    assert_eq!(Path::new(text.trim()), second.join("program"));
    process.end(Grace::SHORT);
}

#[test]
fn a_program_that_does_not_come_to_run_has_a_deadline() {
    let server = Server::new().start();
    let (path, lease) = program(&server, "held");
    let script = support::server::as_argument(&Script::new());
    let extension = Extension::stdio("held", path.to_str().unwrap(), &[&script]);
    let error = server.refuses(extension.clone().with_short_timeout());
    assert!(error.contains("did not start within 1 s"), "{error}");
    assert!(lease.is_waited_for());
    drop(lease);
    server.session([extension]).echoes("held");
}

/// A server and a folder on a file system that does not respond; `None`, with the reason printed, where that
/// cannot be set up. The folder is the first one in the server's `PATH`.
fn with_hung_folder() -> Option<(RunningServer, PathBuf)> {
    let server = Server::new();
    let folder = server.root().join("hung");
    std::fs::create_dir(&folder).unwrap();
    // The process behind the mount answers no request.
    let mount = format!(
        "exec 9<>/dev/fuse && \
         mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hung {folder:?}"
    );
    let tried = std::process::Command::new("unshare")
        .args(["-mr", "sh", "-c", &mount])
        .output();
    if !tried.as_ref().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: no file system can be made to hang here: {tried:?}");
        return None;
    }
    let line = format!("{mount} && PATH={folder:?}:$PATH exec \"$0\" \"$@\"");
    let server = server.through("unshare", &["-mr", "sh", "-c", &line]);
    Some((server.start(), folder))
}

#[test]
fn a_program_on_a_file_system_that_hangs_has_a_deadline() {
    let Some((server, folder)) = with_hung_folder() else {
        return;
    };
    let rest = server.at_rest();
    let program = folder.join("program");
    for command in ["sh", program.to_str().unwrap()] {
        let extension = Extension::stdio("held", command, &[]);
        let error = server.refuses(extension.with_short_timeout());
        assert!(error.contains("did not start within 1 s"), "{error}");
    }
    server
        .session([Extension::scripted("one", &Script::new())])
        .stop();
    server.returns_to(rest);
}

/// The working directory may be on the mount that hangs, too; a deleted folder is the simple case.
#[test]
fn a_working_directory_that_is_gone_is_named() {
    let server = Server::new().start();
    let folder = server.work().join("gone");
    std::fs::create_dir(&folder).unwrap();
    let session = server.start(json!({
        "working_dir": folder,
        "extension_overrides": [Extension::builtin("developer").0],
    }));
    session.resume();
    std::fs::remove_dir(&folder).unwrap();
    let added = session.add(Extension::scripted("one", &Script::new()));
    assert_ne!(added.status, 200);
    added.says("working directory").says("gone");
}

/// So that it cannot open the terminal of `gosling chat`.
#[test]
fn a_server_leads_a_session_of_its_own() {
    let server = Server::new().start();
    let _session = server.session([Extension::scripted("one", &Script::new())]);
    let mut all = server.descendants();
    all.retain(|process| process.name() != support::process::GUARDIAN);
    assert_eq!(all.len(), 1, "{all:?}");
    let pid = all[0].pid.to_string();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    let (group, session, terminal) = (fields[2], fields[3], fields[4]);
    assert_eq!([group, session, terminal], [&pid, &pid, "0"]);
}

/// Descriptors that a parent process left open in gosling are not open in gosling's children.
#[test]
fn a_server_inherits_no_descriptor_but_its_pipes() {
    let line = "exec 9< /dev/null && exec \"$0\" \"$@\"";
    let server = Server::new().through("sh", &["-c", line]).start();
    // Only root may look.
    if let Ok(file) = std::fs::read_link(format!("/proc/{}/fd/9", server.pid())) {
        assert_eq!(file, Path::new("/dev/null"), "gosling has it");
    }
    let command = "for fd in /proc/$$/fd/*; do echo \"<${fd##*/}>\"; done >&2; exit 1";
    let error = server.refuses(Extension::shell("spy", command));
    assert!(error.contains("<2>") && !error.contains("<9>"), "{error}");
}

/// As a shell runs it.
#[test]
fn a_script_that_does_not_name_its_interpreter_runs() {
    let server = Server::new().start();
    let path = server.work().join("plain");
    support::system::script(&path, "exec \"$1\" \"$2\"\n");
    let (path, mcp) = (path.to_str().unwrap(), support::server::scripted_mcp());
    let script = support::server::as_argument(&Script::new());
    let extension = Extension::stdio("plain", path, &[&mcp, &script]);
    server.session([extension]).echoes("plain");
}
