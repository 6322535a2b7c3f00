//! Named pipes and devices in place of files that the server reads: each request ends at once, with an error where
//! the file is needed.

use crate::diagnostics::fetch;
use crate::support::server::{RunningServer, Server};
use crate::support::system::symlink;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn put_pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn put_device(path: &Path) {
    let _ = fs::remove_file(path);
    symlink("/dev/zero", path).unwrap();
}

fn session_file(server: &RunningServer, id: &str, name: &str) -> PathBuf {
    server.root().join("data/sessions").join(id).join(name)
}

#[test]
fn backups_and_copies_of_the_configuration() {
    let server = Server::new().config("a: 1\n").start();
    let beside = |end: &str| server.root().join(format!("config/config.yaml{end}"));
    for (n, put) in [put_pipe as fn(&Path), put_device].into_iter().enumerate() {
        fs::write(beside(""), format!("a: {n}\n")).unwrap();
        put(&beside(".bak"));
        server.post("/config/backup", json!({})).is(200);
        assert_eq!(
            fs::read_to_string(beside(".bak")).unwrap(),
            format!("a: {n}\n")
        );
        put(&beside(".broken"));
        fs::write(beside(""), "a: [\n").unwrap();
        server.post("/config/recover", json!({})).is(200);
        assert_eq!(fs::read_to_string(beside(".broken")).unwrap(), "a: [\n");
        put(&beside(""));
        let refused = server.get("/config/validate");
        refused.is(422).says("not a regular file");
        fs::remove_file(beside("")).unwrap();
    }
}

#[test]
fn secrets_in_a_report() {
    let server = Server::new().start();
    let session = server.session([]);
    for put in [put_pipe as fn(&Path), put_device] {
        put(&server.root().join("config/secrets.yaml"));
        fetch(&server, &session.id);
    }
}

#[test]
fn files_of_a_session() {
    let server = Server::scripted(json!({"turns": [{"steps": [{"text": "hello"}]}]})).start();
    for name in [".turn", ".lock", "messages.jsonl", "session.json"] {
        for put in [put_pipe as fn(&Path), put_device] {
            let session = server.session([]);
            let file = session_file(&server, &session.id, name);
            put(&file);
            session.say("hi").fails("not a regular file");
            server.get(&format!("/sessions/{}", session.id));
            server.get("/sessions").is(200);
            fetch(&server, &session.id);
            server.delete(&format!("/sessions/{}", session.id)).is(200);
        }
    }
    let session = server.session([]);
    put_pipe(&session_file(&server, &session.id, ".turn"));
    session.say("hi").fails("not a regular file");
    assert!(server.terminate().success());
}
