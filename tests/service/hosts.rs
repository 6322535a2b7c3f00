//! A server that another program has started for itself: what it is told, and the end with it, however it ends.
#![cfg(target_os = "linux")]

use crate::disks::mounting;
use crate::support::client::{Answer, KEY, send};
use crate::support::process::{running, unique_sleep};
use crate::support::scripted::Script;
use crate::support::server::{Extension, GOSLING, Record, RunningServer, Server, gosling};
use crate::support::{TempDir, temp_dir, until};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

/// A program that holds the other end of the server's stdin, and nothing else.
struct Host(Child);

impl Host {
    /// It runs until it is killed; also returns what is to be the server's stdin.
    fn new() -> (Host, std::process::ChildStdout) {
        let mut command = Command::new("sleep");
        command
            .arg("300")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("sleep starts");
        let end = child.stdout.take().unwrap();
        (Host(child), end)
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in Unicode")
}

/// How a start with these arguments ends.
fn refused(arguments: &[&str], root: &TempDir) -> String {
    let mut command = gosling();
    command.arg("agent").args(["--port", "0"]).args(arguments);
    command.env("GOOSE_PATH_ROOT", root.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The names in a folder, but for the locks, which stay.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".lock")).collect()
}

/// A session whose turn waits for a tool that never answers; its server has a child of its own, which sleeps for
/// so many seconds.
fn begin_turn(server: &RunningServer, nap: &str) -> (TempDir, crate::support::turns::Stream) {
    let folder = temp_dir();
    let record = folder.path().join("heard");
    let script = Script::new().recorded(&record).tool("never", []);
    let (mcp, script) = (
        crate::support::server::scripted_mcp(),
        crate::support::server::as_argument(&script),
    );
    let line = format!("trap '' TERM HUP; (exec sleep {nap}) & exec \"$0\" \"$1\"");
    let extension = Extension::stdio("one", "sh", &["-c", &line, &mcp, &script]);
    let session = server.session([extension]);
    let turn = session.begin_turn("wait");
    until("the tool is called", || {
        let heard = fs::read_to_string(&record).ok()?;
        heard.contains("tools/call").then_some(())
    });
    running(nap, 1);
    (folder, turn)
}

fn waiting() -> Server {
    let steps = json!([{"call": {"id": "w", "name": "one__never"}}, {"text": "Never."}]);
    Server::scripted(json!({"turns": [{"steps": steps}], "repeat": true}))
}

#[test]
fn the_ready_line_and_the_port_file_say_where_it_listens_and_not_the_key() {
    let (root, folder) = (temp_dir(), temp_dir());
    let (file, socket) = (folder.path().join("port"), folder.path().join("s"));
    let place = format!("unix:{}", text(&socket));
    let mut command = gosling();
    command.args([
        "agent",
        "--port",
        "0",
        "--ready",
        "json",
        "--end-with-stdin",
    ]);
    command.args(["--listen", &place, "--port-file", text(&file)]);
    command.env("GOOSE_PATH_ROOT", root.path());
    command.env("GOOSE_SERVER__SECRET_KEY", KEY);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).expect("one line of JSON");
    assert_eq!(told["pid"], child.id());
    assert_eq!(told["sockets"], json!([text(&socket)]));
    assert_eq!(told["places"], json!([told["url"], place]));
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    let port = told["port"].as_u64().expect("a port") as u16;
    assert_eq!(told["url"], format!("http://127.0.0.1:{port}"));
    assert_eq!(fs::read_to_string(&file).unwrap(), line);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let address = ([127, 0, 0, 1], port).into();
    Answer::read(
        "".into(),
        send(address, "GET", "/sessions", Some(KEY), None),
    )
    .is(200);
    // Nobody else gets the file while the server lives.
    let why = refused(&["--port-file", text(&file)], &root);
    assert!(why.contains("a server that runs has written it"), "{why}");
    assert_eq!(fs::read_to_string(&file).unwrap(), line);
    // What the host writes means nothing.
    let mut stdin: ChildStdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![b'x'; 1 << 20]).unwrap();
    Answer::read(
        "".into(),
        send(address, "GET", "/sessions", Some(KEY), None),
    )
    .is(200);
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "nothing else is printed");
    assert!(!line.contains(KEY), "{line}");
    assert_eq!(names_in(folder.path()), [""; 0]);
}

#[test]
fn it_ends_with_a_host_that_is_killed_in_the_middle_of_a_turn() {
    let folder = temp_dir();
    let (file, socket) = (folder.path().join("port"), folder.path().join("s"));
    let place = format!("unix:{}", text(&socket));
    let arguments = [
        "agent",
        "--port",
        "0",
        "--listen",
        &place,
        "--end-with-stdin",
        "--port-file",
        text(&file),
    ];
    let (mut host, stdin) = Host::new();
    let server = waiting().with_stdin(stdin).start_as(&arguments);
    server.logs("listens on unix:");
    until("the file", || file.exists().then_some(()));
    let nap = unique_sleep();
    let (_record, turn) = begin_turn(&server, &nap);
    let all = server.descendants();
    assert!(
        all.len() >= 3,
        "guardian, MCP server and its child: {all:?}"
    );
    host.kill();
    assert_eq!(server.ended().code(), Some(0));
    // As at SIGTERM, the client hears how the turn ends.
    turn.rest();
    running(&nap, 0);
    until("no process is left", || {
        (!all.iter().any(|process| process.is_alive())).then_some(())
    });
    assert_eq!(names_in(folder.path()), [""; 0]);
    // The next one starts in the same place.
    let (mut host, stdin) = Host::new();
    let setup = Server::new().with_stdin(stdin);
    let server = setup.start_as(&arguments);
    until("the file", || file.exists().then_some(()));
    host.kill();
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn what_a_killed_server_left_is_replaced() {
    let folder = temp_dir();
    let file = folder.path().join("port");
    let arguments = ["agent", "--port", "0", "--port-file", text(&file)];
    let server = Server::new().start_as(&arguments);
    until("the file", || file.exists().then_some(()));
    let before = fs::read_to_string(&file).unwrap();
    server.kill();
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let server = Server::new().start_as(&arguments);
    let pid = format!("\"pid\":{},", server.pid());
    until("the file is replaced", || {
        fs::read_to_string(&file)
            .unwrap()
            .contains(&pid)
            .then_some(())
    });
    assert!(server.terminate().success());
    assert_eq!(names_in(folder.path()), [""; 0]);
}

#[test]
fn of_servers_that_start_at_once_one_gets_the_file_and_the_others_end() {
    let (root, folder) = (temp_dir(), temp_dir());
    let file = folder.path().join("port");
    let start = || {
        let mut command = gosling();
        command.args(["agent", "--port", "0", "--end-with-stdin", "--port-file"]);
        command.arg(&file).env("GOOSE_PATH_ROOT", root.path());
        command.env("GOOSE_SERVER__SECRET_KEY", KEY);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut all: Vec<Child> = (0..6).map(|_| start()).collect();
    let told = until("the file", || fs::read_to_string(&file).ok());
    let told: Value = serde_json::from_str(&told).unwrap();
    let winner = all.iter().position(|child| told["pid"] == child.id());
    let mut winner = all.swap_remove(winner.expect("one of them"));
    for child in all {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("a server that runs has written it"), "{said}");
    }
    assert_eq!(winner.try_wait().unwrap(), None);
    let now: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(now, told);
    let port = told["port"].as_u64().unwrap() as u16;
    let answer = send(
        ([127, 0, 0, 1], port).into(),
        "GET",
        "/sessions",
        Some(KEY),
        None,
    );
    Answer::read("".into(), answer).is(200);
    drop(winner.stdin.take());
    assert_eq!(winner.wait().unwrap().code(), Some(0));
    assert_eq!(names_in(folder.path()), [""; 0]);
}

#[test]
fn a_signal_that_ends_both_programs_is_one_signal() {
    for drain in ["0", "30"] {
        let (mut host, stdin) = Host::new();
        let server = waiting()
            .with_stdin(stdin)
            .env("GOOSE_DRAIN_SECONDS", drain)
            .start_as(&["agent", "--port", "0", "--end-with-stdin"]);
        let (_record, turn) = begin_turn(&server, &unique_sleep());
        server.signal("INT");
        host.kill();
        if drain != "0" {
            // The host is gone, but the turn of another client may end.
            until("it drains", || {
                let ready = server.ask("GET", "/health/ready", None, None);
                (ready.status == 503).then_some(())
            });
            std::thread::sleep(std::time::Duration::from_millis(300));
            server.get("/sessions").is(200);
        }
        drop(turn);
        assert_eq!(server.ended().code(), Some(0), "{}", server.log());
    }
}

#[test]
fn files_that_cannot_be_written_refuse_the_start() {
    let (root, folder) = (temp_dir(), temp_dir());
    let at = |name: &str| folder.path().join(name);
    fs::write(at("notes"), "mine").unwrap();
    let other = "{\"pid\": 1, \"port\": 8888, \"token\": \"x\"}";
    fs::write(at("jupyter"), other).unwrap();
    symlink(at("target"), at("link")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (name, why) in [
        ("notes", "gosling has not written what stands there"),
        ("jupyter", "gosling has not written what stands there"),
        ("link", "it is a symbolic link"),
        ("folder", "not a file, and stays"),
        ("socket", "not a file, and stays"),
        ("missing/port", "No such file or directory"),
        ("notes/port", "Not a directory"),
        ("", "not a file"),
    ] {
        let said = refused(&["--port-file", text(&at(name))], &root);
        assert!(said.contains(why), "{name}: {said}");
        assert!(!said.contains("listens on"), "{name}: {said}");
    }
    drop(socket);
    assert_eq!(fs::read_to_string(at("notes")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(at("jupyter")).unwrap(), other);
    assert!(!at("target").exists());
    let mut left = names_in(folder.path());
    left.sort();
    assert_eq!(left, ["folder", "jupyter", "link", "notes", "socket"]);
    for (arguments, why) in [
        (&["--ready", "xml"][..], "\"xml\" is unknown; it is `json`"),
        (&["--ready"], "missing argument"),
        (&["--port-file", "/"], "the name of a file is missing"),
        (&["--end-with-stdin=yes"], "unexpected argument"),
        (&["--end-with-stdout"], "--end-with-stdout is unknown"),
        // `/dev/null` is at its end from the beginning.
        (&["--end-with-stdin"], "stdin tells nothing"),
    ] {
        let said = refused(arguments, &root);
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
}

/// Starts with a port file in this folder, where these mounts hold.
fn start_in(folder: &TempDir, mounts: &str) -> Option<Output> {
    let arguments = mounting(mounts)?;
    let root = temp_dir();
    let file = folder.path().join("port");
    let mut command = Command::new("unshare");
    command.args(arguments).arg(GOSLING);
    command.args(["agent", "--port", "0", "--port-file", text(&file)]);
    command.env("GOOSE_PATH_ROOT", root.path());
    Some(command.stdin(Stdio::null()).output().unwrap())
}

#[test]
fn a_full_disk_and_one_that_is_read_only_refuse_the_start() {
    let folder = temp_dir();
    let path = text(folder.path());
    let full = format!(
        "mount -t tmpfs -o size=64k none {path} && {{ head -c 65536 /dev/zero >{path}/filler; :; }}"
    );
    let read_only = format!("mount -t tmpfs -o ro none {path}");
    for (mounts, why) in [
        (full, "No space left"),
        (read_only, "Read-only file system"),
    ] {
        let Some(output) = start_in(&folder, &mounts) else {
            return;
        };
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(why), "{said}");
        assert!(!said.contains("listens on"), "{said}");
    }
}

#[test]
fn a_host_that_cannot_be_told_is_not_served() {
    let (root, folder) = (temp_dir(), temp_dir());
    let socket = folder.path().join("s");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = gosling();
    command.args(["agent", "--ready", "json", "--listen"]);
    command.arg(format!("unix:{}", text(&socket)));
    command.env("GOOSE_PATH_ROOT", root.path());
    let output = command.stdin(Stdio::null()).stdout(writer);
    let output = output.stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("stdout cannot be written"), "{said}");
    assert_eq!(names_in(folder.path()), [""; 0]);
}

#[test]
fn the_turn_that_ended_with_the_host_is_stored() {
    let (mut host, stdin) = Host::new();
    let record = Record::new();
    let script = Script::new().recorded(&record.path()).tool("never", []);
    let server =
        waiting()
            .with_stdin(stdin)
            .start_as(&["agent", "--port", "0", "--end-with-stdin"]);
    let session = server.session([Extension::scripted("one", &script)]);
    let id = session.id.clone();
    let turn = session.begin_turn("wait");
    record.wait_for_message("tools/call");
    host.kill();
    assert_eq!(server.ended().code(), Some(0));
    turn.rest();
    let server = server.again();
    let stored = server.known(&id).transcript();
    assert_eq!(stored[..2], ["user: wait", "assistant: call w"]);
    assert!(stored[2].contains("cancelled"), "{stored:?}");
}
