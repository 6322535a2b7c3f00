//! Fault injection: missing resources and temporary failures. Each test shows what works during the fault, and
//! that everything works after it.
#![cfg(feature = "developer")]
#![cfg(target_os = "linux")]

mod support;

use serde_json::json;
use std::fs::{self, File, FileTimes};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};
use support::client::{Answer, KEY, send};
use support::process::{Proc, descendants, signal};
use support::scripted::{Action, Script};
use support::server::{Extension, GOSLING, Record, RunningServer, Server, Session, gosling};
use support::{TEST_TIMEOUT, temp_dir, until};

/// A server with a model, and a session with an MCP server and a shell.
fn server() -> Server {
    let script = json!({"repeat": true, "turns": [{"steps": [{"text": "hello again"}]}]});
    Server::scripted(script).setting("GOOSE_MODE", "auto")
}

fn session(server: &RunningServer) -> Session<'_> {
    server.session([
        Extension::scripted("one", &Script::new()),
        Extension::builtin("developer"),
    ])
}

/// Uses everything that a server does: an MCP server of an existing session, a new one, a shell, a turn, the
/// configuration.
#[track_caller]
fn all_works(server: &RunningServer, before: &Session<'_>) {
    before.resume();
    before.echoes("one");
    before.say("hello").says("hello again").finishes();
    let after = session(server);
    after.echoes("one");
    let shell = after.call(
        "developer__shell",
        json!({"command": "echo from the shell"}),
    );
    shell.is(200).says("from the shell");
    after.say("hello").says("hello again").finishes();
    server.set("GOSLING_TEST", "set");
    let read = json!({"key": "GOSLING_TEST", "is_secret": false});
    server.post("/config/read", read).is(200).says("set");
    let sessions = server.get("/sessions").is(200);
    for session in [before, &after] {
        assert!(sessions.text.contains(&session.id), "{}", sessions.text);
    }
    after.stop();
    server.never_logs("internal error");
}

/// Sets a soft limit of a running process, for example `nofile`.
#[track_caller]
fn limit(pid: u32, name: &str, most: &str) {
    limit_as(None, pid, name, most);
}

/// The same for a process of this user.
#[track_caller]
fn limit_as(user: Option<u32>, pid: u32, name: &str, most: &str) {
    let (pid, limit) = (pid.to_string(), format!("--{name}={most}:"));
    let mut prlimit = Command::new("prlimit");
    if let Some(user) = user {
        prlimit.uid(user).gid(user);
    }
    let done = prlimit.args(["--pid", &pid, &limit]).status();
    assert!(done.expect("prlimit runs").success());
}

/// A connection that stays open, so that requests need no new descriptor or thread.
struct Kept(BufReader<TcpStream>);

impl Kept {
    fn on(session: &Session<'_>) -> Kept {
        let stream = TcpStream::connect(session.server.address()).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let mut kept = Kept(BufReader::new(stream));
        kept.echoes(session);
        kept
    }

    /// The status and the body.
    fn post(&mut self, path: &str, body: &serde_json::Value) -> (u16, String) {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Secret-Key: {KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(
                self.0.read_line(&mut head).unwrap(),
                0,
                "closed after {head:?}"
            );
            let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, String::from_utf8(body).unwrap())
    }

    #[track_caller]
    fn echoes(&mut self, session: &Session<'_>) {
        let body = json!({
            "session_id": session.id, "name": "one__echo", "arguments": {"message": "meanwhile"},
        });
        let (status, text) = self.post("/agent/call_tool", &body);
        assert!(
            status == 200 && text.contains("meanwhile"),
            "{status} {text}"
        );
    }

    /// Adds another MCP server, which must fail; returns the error.
    #[track_caller]
    fn refuses_extension(&mut self, session: &Session<'_>) -> String {
        let config = Extension::scripted("more", &Script::new()).0;
        let body = json!({"session_id": session.id, "config": config});
        let (status, text) = self.post("/agent/add_extension", &body);
        assert!(status >= 400, "{status} {text}");
        text
    }
}

#[test]
fn no_descriptors() {
    let server = server().start();
    let session = session(&server);
    let mut kept = Kept::on(&session);
    limit(server.pid(), "nofile", "3");
    kept.echoes(&session);
    let reason = kept.refuses_extension(&session);
    assert!(reason.contains("Too many open files"), "{reason}");
    kept.echoes(&session);
    // New clients wait or are refused until there are descriptors.
    let _waiting = send(server.address(), "GET", "/status", None, None);
    server.logs("connection not taken");
    limit(server.pid(), "nofile", "1000");
    all_works(&server, &session);
}

/// Whether this process may change to this unprivileged user, and that user may run gosling. Limits of threads are those
/// of a user, so that each test needs one of its own.
fn as_another_user(root: &Path, user: u32) -> Option<u32> {
    let owner = format!("{user}:{user}");
    let given = Command::new("chown")
        .arg("-R")
        .arg(owner)
        .arg(root)
        .output();
    let mut command = gosling();
    command
        .arg("--version")
        .uid(user)
        .gid(user)
        .stdout(Stdio::null());
    let may = given.is_ok_and(|done| done.status.success())
        && command.status().is_ok_and(|status| status.success());
    may.then_some(user)
}

#[test]
fn no_threads() {
    // The limit counts the processes and threads of a user; root has no limit.
    let setup = server();
    let user = match as_another_user(setup.root(), 54_321) {
        Some(user) => user,
        None => return eprintln!("skipped: only root can have a user of its own for this"),
    };
    let server = setup.user(user).start();
    let session = session(&server);
    let mut kept = Kept::on(&session);
    limit_as(Some(user), server.pid(), "nproc", "1");
    kept.echoes(&session);
    let reason = kept.refuses_extension(&session);
    assert!(reason.contains("temporarily unavailable"), "{reason}");
    // A new client gets an error.
    server.get("/status").is(503);
    kept.echoes(&session);
    limit_as(Some(user), server.pid(), "nproc", "10000");
    all_works(&server, &session);
}

#[test]
fn what_cannot_start_a_thread_for_its_log_writes_it_nevertheless() {
    let root = temp_dir();
    let Some(user) = as_another_user(root.path(), 54_322) else {
        return eprintln!("skipped: only root can have a user of its own for this");
    };
    // One process without another thread, which cannot listen; with the guardian or a thread it can.
    let start = |most: &str| {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nproc={most}")).arg(GOSLING);
        command.args(["agent", "--port", "0"]).uid(user).gid(user);
        command.env("GOOSE_PATH_ROOT", root.path());
        command.env("GOOSE_SERVER__SECRET_KEY", KEY);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("prlimit runs")
    };
    let output = start("1").wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("gosling: cannot listen on"), "{said}");
    let mut server = start("2");
    let mut log = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    assert!(line.contains(" listens on http://127.0.0.1:"), "{line}");
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Files cannot grow, which looks like a full disk to the writer.
#[test]
fn a_disk_that_is_full() {
    let server = server().start();
    let session = session(&server);
    session.say("hello").says("hello again").finishes();
    let before = session.transcript();
    server.set("GOSLING_TEST", "before");
    limit(server.pid(), "fsize", "0");
    session.echoes("one");
    server.get("/sessions").is(200).says(&session.id);
    let set = json!({"key": "GOSLING_TEST", "value": "meanwhile", "is_secret": false});
    let refused = server.post("/config/upsert", set);
    assert!(refused.status >= 500, "{} {}", refused.status, refused.text);
    refused.says("File too large");
    let start = server.post("/agent/start", json!({"working_dir": server.work()}));
    assert!(start.status >= 500, "{} {}", start.status, start.text);
    session.say("this is lost").fails("File too large");
    let read = json!({"key": "GOSLING_TEST", "is_secret": false});
    server.post("/config/read", read).is(200).says("before");
    assert_eq!(session.transcript(), before);
    limit(server.pid(), "fsize", "unlimited");
    all_works(&server, &session);
    let id = session.id.clone();
    let server = server.restart();
    all_works(&server, &server.known(&id));
}

/// Sets the time of every file below a folder, except those that are renamed at the same time.
fn touch(folder: &Path, time: SystemTime) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => touch(&entry.path(), time),
            kind if kind.is_file() => stamp(&entry.path(), time),
            _ => {}
        }
    }
}

fn stamp(file: &Path, time: SystemTime) {
    let file = match File::options().append(true).open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        file => file.unwrap(),
    };
    file.set_times(FileTimes::new().set_modified(time).set_accessed(time))
        .unwrap();
}

/// A test cannot set the wall clock, but it can create what a wrong clock leaves behind: files from the future
/// and the distant past, and sessions that were created then.
#[test]
fn a_clock_that_jumps() {
    let years = |n: u64| Duration::from_secs(n * 365 * 86_400);
    let now = SystemTime::now();
    let mut server = server().start();
    let id = session(&server).id.clone();
    for time in [now + years(50), now - years(40), now + years(1), now] {
        let session = server.known(&id);
        session.say("hello").says("hello again").finishes();
        let before = session.transcript();
        // While it runs, also on the file that it has cached.
        touch(server.root(), time);
        assert_eq!(session.transcript(), before);
        let config = server.root().join("config/config.yaml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(
            &config,
            format!("{text}GOSLING_JUMP: \"{}\"\n", before.len()),
        )
        .unwrap();
        stamp(&config, time);
        let read = json!({"key": "GOSLING_JUMP", "is_secret": false});
        let seen = server.post("/config/read", read).is(200);
        assert_eq!(seen.body, json!(before.len().to_string()));
        all_works(&server, &session);
        fs::write(&config, text).unwrap();
        // When it starts.
        assert!(server.terminate().success());
        touch(server.root(), time);
        server = server.again();
        all_works(&server, &server.known(&id));
    }
    // A session of the year 2099 works like others, and new ones still get unique ids.
    let made = server.root().join("data/sessions");
    assert!(made.is_dir(), "sessions are elsewhere");
    assert!(server.terminate().success());
    let (from, to) = (made.join(&id), made.join("20990101_1"));
    fs::rename(&from, &to).unwrap();
    let head = fs::read_to_string(to.join("session.json")).unwrap();
    let year = head.split("\"created_at\":").nth(1).unwrap().trim_start();
    let year = year.get(1..5).unwrap();
    let head = head
        .replace(&id, "20990101_1")
        .replace(&format!("\"{year}-"), "\"2099-");
    assert!(head.contains("2099-"), "{head}");
    fs::write(to.join("session.json"), head).unwrap();
    let server = server.again();
    all_works(&server, &server.known("20990101_1"));
}

fn mcp_server(record: &Record) -> Proc {
    let pid = record.starts()[0]["pid"].as_u64().unwrap();
    let own = std::process::id();
    let mut all = descendants(own).into_iter();
    all.find(|process| u64::from(process.pid) == pid)
        .expect("it runs")
}

#[test]
fn a_server_that_is_stopped_and_continued() {
    let server = server().start();
    let session = session(&server);
    server.signal("STOP");
    // The system accepts connections for it.
    let body = json!({"name": "one__echo", "arguments": {"message": "late"}});
    let call = session.begin_call("one__echo", body["arguments"].clone());
    thread::sleep(Duration::from_millis(300));
    server.signal("CONT");
    let answer = Answer::read("the call".to_owned(), call).is(200);
    assert_eq!(answer.content(), "late");
    all_works(&server, &session);
}

#[test]
fn an_mcp_server_that_is_stopped_and_continued() {
    let record = Record::new();
    let server = server().start();
    let scripted = Extension::scripted("stopped", &Script::new().recorded(&record.path()));
    let stopped = server.session([scripted.with_short_timeout()]);
    let session = session(&server);
    let process = mcp_server(&record);
    signal(process.pid, "STOP");
    let late = stopped.call("stopped__echo", json!({"message": "hi"}));
    assert_ne!(late.status, 200, "{}", late.text);
    // Other sessions are not affected.
    all_works(&server, &session);
    signal(process.pid, "CONT");
    until("it answers again", || {
        let call = stopped.call("stopped__echo", json!({"message": "hi"}));
        (call.status == 200 && call.content() == "hi").then_some(())
    });
    assert!(process.is_alive(), "the same one");
    // A server that stays stopped ends with its session.
    signal(process.pid, "STOP");
    stopped.stop();
    assert!(!process.is_alive());
    all_works(&server, &session);
}

#[test]
fn stderr_closed() {
    works_without(libc::STDERR_FILENO);
}

#[test]
fn stdout_closed() {
    works_without(libc::STDOUT_FILENO);
}

fn works_without(fd: i32) {
    let server = server().without_descriptor(fd).start();
    let session = session(&server);
    all_works(&server, &session);
    assert!(server.terminate().success());
}

#[test]
fn every_signal_ignored() {
    let signals: Vec<i32> = (1..=64).collect();
    let record = Record::new();
    let script = Script::new()
        .recorded(&record.path())
        .tool("leave", [Action::Exit(7)]);
    let server = server().ignoring(&signals).start();
    let session = session(&server);
    let status = session.call(
        "developer__shell",
        json!({"command": "grep SigIgn /proc/self/status"}),
    );
    let status = status.is(200).content().to_owned();
    let ignored = status.trim().rsplit('\t').next().unwrap();
    let ignored = u64::from_str_radix(ignored, 16).expect("a mask");
    // Signals from 32 on are reserved by the C library.
    assert_eq!(ignored & 0x7fff_ffff, 0, "{status}");
    all_works(&server, &session);
    // The exit status of a child is known, and a server that exits is restarted.
    let leaves = server.session([Extension::scripted("leaves", &script)]);
    let left = leaves.call("leaves__leave", json!({}));
    left.is(500).says("exit status: 7");
    leaves.echoes("leaves");
    // A missing interpreter affects only its own extension.
    let path = server.work().join("broken");
    support::system::script(&path, "#!/does/not/exist\n");
    server.refuses(Extension::stdio("broken", path.to_str().unwrap(), &[]));
    all_works(&server, &session);
    // A server receives SIGTERM, whatever it inherited.
    let all = server.descendants();
    assert!(server.terminate().success());
    until("all are gone", || {
        all.iter().all(|process| !process.is_alive()).then_some(())
    });
}
