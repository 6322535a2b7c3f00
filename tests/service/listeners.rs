//! Unix sockets with a path, several addresses, and sockets that a service manager has opened.

use crate::support::client::{Answer, KEY};
use crate::support::server::{Extension, Server, gosling};
use crate::support::{TempDir, process, temp_dir, until};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Sends a request to a Unix socket.
#[track_caller]
fn ask(path: &Path, target: &str, key: Option<&str>) -> Answer {
    let mut stream = UnixStream::connect(path).expect("the server listens");
    let key = key.map_or(String::new(), |key| format!("X-Secret-Key: {key}\r\n"));
    let head =
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{key}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // The stream of the other kind reads the same way.
    Answer::read(target.to_owned(), TcpStream::from(OwnedFd::from(stream)))
}

fn socket_in(folder: &TempDir) -> PathBuf {
    folder.path().join("gosling.sock")
}

fn place(path: &Path) -> String {
    format!("unix:{}", path.display())
}

/// How a start with this place fails.
#[track_caller]
fn refusal(place: &str) -> String {
    let root = temp_dir();
    let mut command = gosling();
    command
        .args(["agent", "--listen", place])
        .env("GOOSE_PATH_ROOT", root.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn it_listens_at_several_places_at_once() {
    let folder = temp_dir();
    let (first, second) = (socket_in(&folder), folder.path().join("other"));
    let with_mode = place(&first) + ",mode=0660";
    let server = Server::new().start_as(&[
        "agent",
        "--port",
        "0",
        "--listen",
        &with_mode,
        "--listen",
        &place(&second),
        "--listen",
        "127.0.0.1:0",
    ]);
    until("the last place", || {
        (server.log().matches(" listens on ").count() == 4).then_some(())
    });
    server.is_alive();
    let log = server.log();
    let (_, last) = log.trim_end().rsplit_once(" listens on http://").unwrap();
    let last = last.lines().next().unwrap().parse().unwrap();
    assert_ne!(server.address(), last);
    let stream = crate::support::client::send(last, "GET", "/sessions", Some(KEY), None);
    Answer::read("/sessions".into(), stream).is(200);
    for (path, mode) in [(&first, 0o660), (&second, 0o600)] {
        ask(path, "/health/live", None).is(200);
        // The key is demanded here, too.
        ask(path, "/sessions", None).is(401);
        ask(path, "/sessions", Some("wrong")).is(401);
        ask(path, "/sessions", Some(KEY)).is(200);
        let found = fs::symlink_metadata(path).unwrap();
        assert!(found.file_type().is_socket());
        assert_eq!(found.permissions().mode() & 0o777, mode);
    }
    server.logs(&format!("listens on {}", place(&second)));
    assert!(server.terminate().success());
    for path in [first, second] {
        assert!(!path.exists(), "{path:?} is left");
    }
}

#[test]
fn the_variable_names_places_and_neither_host_nor_port_is_used_then() {
    let folder = temp_dir();
    let path = socket_in(&folder);
    // The port is taken, which does not matter.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let server = Server::new()
        .env("GOOSE_PORT", &port)
        .env("GOOSE_HOST", "somewhere.example")
        .env("GOOSE_LISTEN", &format!(" 127.0.0.1:0  {} ", place(&path)))
        .start_as(&["agent", "--offline"]);
    server.logs("listens on unix:");
    server.is_alive();
    ask(&path, "/status", Some(KEY)).is(200);
}

#[test]
fn a_turn_runs_over_a_unix_socket_and_ends_with_its_client() {
    let folder = temp_dir();
    let path = socket_in(&folder);
    let script = json!({"turns": [{"steps": [{"text": "slow ".repeat(50), "chunks": 50, "delay_ms": 100}]}]});
    let server =
        Server::scripted(script).start_as(&["agent", "--port", "0", "--listen", &place(&path)]);
    server.logs("listens on unix:");
    let session = server.session([]);
    let body = json!({"session_id": session.id, "user_message": crate::support::turns::user("go")});
    let body = body.to_string();
    let mut stream = UnixStream::connect(&path).unwrap();
    write!(
        stream,
        "POST /reply HTTP/1.1\r\nHost: localhost\r\nX-Secret-Key: {KEY}\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut heard = Vec::new();
    let mut buffer = [0; 1024];
    while !String::from_utf8_lossy(&heard).contains("slow") {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&buffer[..read]);
    }
    // It is noticed that this client leaves, and the session is free for the next turn.
    drop(stream);
    until("the turn ends", || {
        let path = format!("/sessions/{}", session.id);
        let messages = server.get(&path).is(200).body["conversation"].clone();
        (messages.as_array()?.len() >= 2).then_some(())
    });
    let log = fs::read_to_string(server.root().join("data/audit/1.jsonl")).unwrap();
    let mut turns = log.lines().filter(|line| line.contains(r#""kind":"turn""#));
    let turn = turns.next().expect("the turn is recorded");
    assert!(turn.contains(r#""front":"http""#), "{turn}");
    assert!(!turn.contains(r#""address""#), "{turn}");
}

#[test]
fn a_file_that_a_killed_server_left_is_replaced() {
    let folder = temp_dir();
    let path = socket_in(&folder);
    let arguments = ["agent", "--port", "0", "--listen", &place(&path)];
    let server = Server::new().start_as(&arguments);
    server.logs("listens on unix:");
    // Nobody else gets a place where something answers.
    let why = refusal(&place(&path));
    assert!(why.contains("another server listens there"), "{why}");
    ask(&path, "/status", Some(KEY)).is(200);
    process::signal(server.pid(), "KILL");
    drop(server);
    assert!(path.exists());
    let server = Server::new().start_as(&arguments);
    server.logs("listens on unix:");
    ask(&path, "/status", Some(KEY)).is(200);
    // What another process has put in its place is not removed.
    fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    assert!(server.terminate().success());
    assert!(path.exists());
    drop(other);
}

#[test]
fn places_that_are_no_use_refuse_the_start() {
    let folder = temp_dir();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let link = folder.path().join("link");
    let target = folder.path().join("target");
    let alive = UnixListener::bind(&target).unwrap();
    symlink(&target, &link).unwrap();
    let datagrams = folder.path().join("datagrams");
    let _alive_too = UnixDatagram::bind(&datagrams).unwrap();
    let long = folder.path().join("x".repeat(120));
    for (place, why) in [
        (place(&file), "not a socket"),
        (place(&link), "not a socket"),
        (place(folder.path()), "not a socket"),
        (place(&target), "another server listens there"),
        (place(&datagrams), "another server listens there"),
        (place(&folder.path().join("a/b")), "No such file"),
        (place(&long), "SUN_LEN"),
        (place(&file) + ",mode=9", "mode="),
        ("unix:".to_owned(), "path is missing"),
        ("unix".to_owned(), "neither ADDRESS:PORT nor unix:PATH"),
        (
            "127.0.0.1:99999".to_owned(),
            "cannot listen on 127.0.0.1:99999",
        ),
    ] {
        let said = refusal(&place);
        assert!(said.contains(why), "{place}: {said}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    drop(alive);
    // A start that fails later leaves no file.
    let path = socket_in(&folder);
    let root = temp_dir();
    fs::write(root.path().join("data"), "in the way").unwrap();
    let output = gosling()
        .args(["agent", "--listen", &place(&path)])
        .env("GOOSE_PATH_ROOT", root.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!path.exists());
}

/// Starts a server with these variables and descriptors, as a service manager does.
pub(crate) fn activated(server: Server, count: &str, names: &str) -> Server {
    let line = "export LISTEN_PID=$$; exec \"$0\" \"$@\"";
    server
        .env("LISTEN_FDS", count)
        .env("LISTEN_FDNAMES", names)
        .through("sh", &["-c", line])
}

#[test]
fn sockets_of_a_service_manager_are_used_and_survive_the_server() {
    let folder = temp_dir();
    let path = socket_in(&folder);
    let unix = UnixListener::bind(&path).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let start = || {
        let server = Server::new()
            .passing(tcp.try_clone().unwrap())
            .passing(unix.try_clone().unwrap());
        activated(server, "2", "web:local").start_as(&["agent"])
    };
    // A client may connect before it runs.
    let early = crate::support::client::send(address, "GET", "/sessions", Some(KEY), None);
    for _ in 0..2 {
        let server = start();
        assert_eq!(server.address(), address);
        server.logs("listens on the socket \"local\" of the service manager");
        ask(&path, "/sessions", Some(KEY)).is(200);
        // Children get neither the variables nor the sockets.
        let look = "(env; ls -l /proc/self/fd) >&2";
        let failed = server.refuses(Extension::stdio("x", "sh", &["-c", look]));
        assert!(failed.contains("GOOSE_PATH_ROOT="), "{failed}");
        assert!(
            !failed.contains("LISTEN_") && !failed.contains("socket:"),
            "{failed}"
        );
        assert!(server.terminate().success());
        // Those of the manager are not removed, and listen on.
        assert!(path.exists());
    }
    Answer::read("early".into(), early).is(200);
    let waiting = UnixStream::connect(&path).unwrap();
    let server = start();
    drop(waiting);
    server.is_alive();
}

#[test]
fn sockets_for_another_process_and_wrong_ones_are_not_used() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::new()
        .passing(tcp.try_clone().unwrap())
        .env("LISTEN_FDS", "1")
        .env("LISTEN_PID", "1")
        .start();
    assert_ne!(server.address(), tcp.local_addr().unwrap());
    drop(server);

    let root = temp_dir();
    let refused = |count: &str| {
        let mut command = std::process::Command::new("sh");
        let line =
            format!("exec 3</dev/null; export LISTEN_PID=$$ LISTEN_FDS={count}; exec \"$0\" agent");
        command.args(["-c", &line]).arg(gosling().get_program());
        let output = command
            .env("GOOSE_PATH_ROOT", root.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let why = refused("1");
    assert!(
        why.contains("the socket \"unknown\" of the service manager cannot be used"),
        "{why}"
    );
    let why = refused("many");
    assert!(
        why.contains("LISTEN_FDS is not a number of sockets"),
        "{why}"
    );
}
