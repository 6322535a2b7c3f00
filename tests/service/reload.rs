//! SIGHUP: files are read again, and nothing is dropped.

use crate::manager::Manager;
use crate::policy_file::PolicyFile;
use crate::support::server::{RunningServer, Server, gosling};
use crate::support::{TempDir, process, temp_dir, until};
use serde_json::json;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::thread;

/// A manager of a service, and the variable that tells the server of it.
fn manager() -> (Manager, String, TempDir) {
    let folder = temp_dir();
    let path = folder.path().join("notify");
    let manager = Manager::at(UnixDatagram::bind(&path).unwrap());
    (manager, path.to_str().unwrap().to_owned(), folder)
}

/// Sends SIGHUP, and returns the last message: that the server is ready again.
#[track_caller]
fn reload(server: &RunningServer, manager: &Manager) -> String {
    process::signal(server.pid(), "HUP");
    let begun = manager.hears("RELOADING=1");
    let at = begun
        .lines()
        .find_map(|it| it.strip_prefix("MONOTONIC_USEC="));
    let at: u64 = at.expect("the time").parse().unwrap();
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    // Not the same clock after a suspend, but never behind it.
    assert!(at > 0 && at as f64 / 1e6 <= uptime + 1.0, "{at} {uptime}");
    manager.hears("READY=1")
}

/// The log files of a server.
fn log_files(server: &RunningServer) -> Vec<PathBuf> {
    let days = fs::read_dir(server.root().join("state/logs/server"));
    let days = days.into_iter().flatten();
    let files = days.flat_map(|day| fs::read_dir(day.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_turn_goes_on_while_files_are_read_again() {
    let (manager, socket, _folder) = manager();
    let text = "one two three four five six seven eight nine ten";
    let script = json!({"turns": [{"steps": [{"text": text, "chunks": 40, "delay_ms": 25}]}]});
    let server = Server::scripted(script)
        .env("NOTIFY_SOCKET", &socket)
        .start();
    manager.hears("READY=1");
    let session = server.session([]);
    let mut turn = session.begin_turn("go");
    turn.wait_for_text("one");
    for _ in 0..5 {
        let ready = reload(&server, &manager);
        assert!(
            ready.contains("STATUS=serving") && !ready.contains(';'),
            "{ready}"
        );
    }
    let turn = turn.rest().finishes();
    assert_eq!(turn.text(), text);
    server.logs("files read again");
    server.is_alive();
    assert!(server.terminate().success());
}

#[test]
fn a_log_file_that_was_moved_is_begun_anew() {
    let (manager, socket, _folder) = manager();
    let server = Server::new().env("NOTIFY_SOCKET", &socket).start();
    manager.hears("READY=1");
    reload(&server, &manager);
    let file = until("a log file", || log_files(&server).pop());
    let moved = file.with_extension("moved");
    fs::rename(&file, &moved).unwrap();
    reload(&server, &manager);
    until("the new file", || {
        let text = fs::read_to_string(&file).ok()?;
        text.contains("files read again").then_some(())
    });
    let old = fs::read_to_string(&moved).unwrap();
    assert_eq!(old.matches("files read again").count(), 1, "{old}");
}

#[test]
fn a_policy_that_does_not_parse_leaves_the_old_one_in_force() {
    let Some(policy) = PolicyFile::new("default: allow\nclients: {configuration: deny}\n") else {
        return;
    };
    let (manager, socket, _folder) = manager();
    let server = policy.start(Server::new().env("NOTIFY_SOCKET", &socket));
    manager.hears("READY=1");
    let set = || {
        let body = json!({"key": "GOOSE_MODE", "value": "approve", "is_secret": false});
        server.post("/config/upsert", body).status
    };
    assert_eq!(set(), 403);
    policy.write("default: [\n");
    let ready = reload(&server, &manager);
    let told = "STATUS=serving; policy: refused, the earlier one holds:";
    assert!(ready.contains(told), "{ready}");
    server.logs("ERROR RELOAD FAILED policy: refused, the earlier one holds:");
    assert_eq!(set(), 403);
    policy.write("default: allow\n");
    let ready = reload(&server, &manager);
    assert!(ready.ends_with("STATUS=serving"), "{ready}");
    assert_eq!(set(), 200);
}

#[test]
fn keys_that_cannot_be_read_are_named() {
    let (manager, socket, _folder) = manager();
    let server = Server::new().env("NOTIFY_SOCKET", &socket).start();
    manager.hears("READY=1");
    let file = server.root().join("config/keys.yaml");
    let add = |name: &str| {
        let mut command = gosling();
        command.env("GOOSE_PATH_ROOT", server.root());
        let output = command
            .args(["keys", "add", name, "--role", "read"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let key = add("one");
    reload(&server, &manager);
    server.ask("GET", "/sessions", Some(&key), None).is(200);
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, good.clone() + "two: {role: king}\n").unwrap();
    let ready = reload(&server, &manager);
    assert!(ready.contains("; keys: two is not valid"), "{ready}");
    server.ask("GET", "/sessions", Some(&key), None).is(200);
    fs::write(&file, "[").unwrap();
    let ready = reload(&server, &manager);
    assert!(
        ready.contains("keys: no key but the server's is valid"),
        "{ready}"
    );
    server.is_alive();
    fs::write(&file, good).unwrap();
    reload(&server, &manager);
    server.ask("GET", "/sessions", Some(&key), None).is(200);
}

#[test]
fn many_at_once_and_one_during_the_stop_break_nothing() {
    let (manager, socket, _folder) = manager();
    let server = Server::new().env("NOTIFY_SOCKET", &socket).start();
    manager.hears("READY=1");
    // The queue of a manager that reads nothing is short.
    let heard = thread::spawn(move || manager.hears("STOPPING=1"));
    for _ in 0..200 {
        process::signal(server.pid(), "HUP");
    }
    server.is_alive();
    assert!(server.terminate().success());
    heard.join().unwrap();
}
