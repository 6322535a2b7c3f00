//! Records reach stderr and the log file if those can be written, and block nothing if they cannot.
#![cfg(target_os = "linux")]

mod support;

use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Stdio};
use std::ptr::{null, null_mut};
use std::thread;
use std::time::Instant;
use support::client::{Answer, KEY, send};
use support::process::signal;
use support::scripted::{Action, Script};
use support::server::{Extension, Server, gosling};
use support::{TEST_TIMEOUT, TempDir, temp_dir, until};

/// A `gosling agent` whose stderr the test controls. Killed when dropped.
struct Agent {
    process: Child,
    address: SocketAddr,
    root: TempDir,
}

impl Agent {
    fn start(stderr: impl Into<Stdio>) -> Agent {
        let root = temp_dir();
        fs::create_dir(root.path().join("work")).unwrap();
        // It cannot report its port.
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let process = gosling()
            .args(["agent", "--port", &address.port().to_string()])
            .env("GOOSE_PATH_ROOT", root.path())
            .env("GOOSE_SERVER__SECRET_KEY", KEY)
            .env("HOME", root.path())
            .env("GOOSE_LOG", "trace")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap();
        Agent {
            process,
            address,
            root,
        }
    }

    /// Starts a session with an extension, which is logged, and stops it.
    fn works(&self) {
        until("the server listens", || {
            std::net::TcpStream::connect(self.address).ok()
        });
        let work = self.root.path().join("work");
        let start = json!({
            "working_dir": work, "extension_overrides": [Extension::scripted("one", &Script::new()).0],
        });
        let id = self.post("/agent/start", &start).is(200).body["id"].clone();
        let resume = json!({"session_id": id, "load_model_and_extensions": true});
        let answer = self.post("/agent/resume", &resume).is(200);
        let results = &answer.body["extension_results"];
        assert_eq!(results[0]["success"], true, "{results}");
        self.post("/agent/stop", &json!({ "session_id": id }))
            .is(200);
    }

    fn post(&self, path: &str, body: &serde_json::Value) -> Answer {
        let stream = send(
            self.address,
            "POST",
            path,
            Some(KEY),
            Some(&body.to_string()),
        );
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        Answer::read(format!("POST {path}"), stream)
    }

    /// SIGTERM ends it normally.
    fn ends(mut self) {
        signal(self.process.id(), "TERM");
        let status = until("it ends", || self.process.try_wait().unwrap());
        assert_eq!(status.code(), Some(0), "{status}");
    }

    /// The log file has this, if the build writes one.
    fn has_in_file(&self, text: &str) {
        let logs = self.root.path().join("state/logs/server");
        if gosling::features::is_left_out("service") {
            return assert!(!logs.exists());
        }
        let day = fs::read_dir(logs).unwrap().next().unwrap().unwrap().path();
        let file = fs::read_dir(day).unwrap().next().unwrap().unwrap().path();
        let records = fs::read_to_string(file).unwrap();
        assert!(records.contains(text), "{records}");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Fills a pipe completely, without making it non-blocking for other processes.
fn fill(pipe: &PipeWriter) {
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let mut options = OpenOptions::new();
    let again = options
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path);
    let mut again: File = again.unwrap();
    for size in [4096, 1] {
        while again.write(&b"~".repeat(size)).is_ok() {}
    }
    let error = again.write(b"~").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

fn lines(reader: PipeReader) -> impl Iterator<Item = String> {
    BufReader::new(reader).lines().map(|line| line.unwrap())
}

#[test]
fn a_pipe_that_is_full_from_the_start_holds_up_nothing() {
    let (_reader, writer) = pipe().unwrap();
    fill(&writer);
    let agent = Agent::start(writer.try_clone().unwrap());
    agent.works();
    agent.has_in_file("extension active");
    agent.ends();
}

#[test]
fn what_waits_arrives_when_the_reader_reads_again_and_the_last_record_too() {
    let (reader, writer) = pipe().unwrap();
    fill(&writer);
    let agent = Agent::start(writer.try_clone().unwrap());
    drop(writer);
    agent.works();
    let reading = thread::spawn(move || lines(reader).collect::<Vec<String>>());
    agent.works();
    agent.ends();
    let lines = reading.join().unwrap();
    let position = |text: &str| lines.iter().position(|line| line.contains(text));
    let first = position(" listens on http://").expect("where it listens");
    let active = position(" extension active ").expect("what was logged while nobody read");
    let last = position(" stopping signal=15").expect("the last record");
    assert!(first < active && active < last, "{lines:?}");
}

#[test]
fn a_terminal_that_was_stopped_holds_up_nothing() {
    let (mut main, mut terminal) = (-1, -1);
    let (name, modes, size) = (null_mut(), null(), null());
    // SAFETY: two places for descriptors, which are ours then; the terminal is left as it is.
    let (main, terminal) = unsafe {
        let made = libc::openpty(&raw mut main, &raw mut terminal, name, modes, size);
        assert_eq!(made, 0);
        (OwnedFd::from_raw_fd(main), OwnedFd::from_raw_fd(terminal))
    };
    // SAFETY: a descriptor that is open. This is what Ctrl-S does.
    assert_eq!(
        unsafe { libc::tcflow(terminal.as_raw_fd(), libc::TCOOFF) },
        0
    );
    let agent = Agent::start(terminal.try_clone().unwrap());
    agent.works();
    // SAFETY: as above. This is what Ctrl-Q does.
    assert_eq!(
        unsafe { libc::tcflow(terminal.as_raw_fd(), libc::TCOON) },
        0
    );
    let (mut main, mut seen) = (File::from(main), String::new());
    while !seen.contains(" extension active ") {
        let mut buffer = [0; 1024];
        let n = main.read(&mut buffer).unwrap();
        seen += &String::from_utf8_lossy(&buffer[..n]);
    }
    // SAFETY: as above.
    assert_eq!(
        unsafe { libc::tcflow(terminal.as_raw_fd(), libc::TCOOFF) },
        0
    );
    agent.works();
    agent.ends();
}

#[test]
fn a_full_disk_and_a_reader_that_is_gone_hold_up_nothing() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let agent = Agent::start(full);
    agent.works();
    agent.has_in_file("extension active");
    agent.ends();
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let agent = Agent::start(writer);
    agent.works();
    agent.has_in_file("extension active");
    agent.ends();
}

#[cfg(feature = "service")]
#[test]
fn without_a_log_file_there_is_stderr() {
    let server = Server::new();
    fs::create_dir(server.root().join("state")).unwrap();
    fs::write(server.root().join("state/logs"), "in the way").unwrap();
    let server = server.start();
    server
        .session([Extension::scripted("one", &Script::new())])
        .stop();
    server.logs("the log file cannot be written");
    server.logs("extension active");
    assert_eq!(server.terminate().code(), Some(0));
    assert_eq!(
        server
            .log()
            .matches("the log file cannot be written")
            .count(),
        1
    );
    server.logs("stopping");
}

#[test]
fn a_hundred_thousand_warnings_of_one_kind_are_one_and_a_number() {
    const TOOLS: usize = 100_000;
    let tool = r#"{"name":"same","inputSchema":{"type":"object"}},"#;
    let begin = r#"{"jsonrpc":"2.0","id":{id},"result":{"tools":["#;
    let end = r#"{"name":"last","inputSchema":{"type":"object"}}]}}"#;
    let script = Script::new().on(
        "tools/list",
        [
            Action::Out(begin.to_owned(), 1),
            Action::Out(tool.to_owned(), TOOLS),
            Action::line(end),
        ],
    );
    let server = Server::new().start();
    let session = server.session([Extension::scripted("one", &script)]);
    assert_eq!(session.tools(), ["one__last", "one__same"]);
    session.stop();
    let begin = Instant::now();
    assert_eq!(server.terminate().code(), Some(0));
    assert!(begin.elapsed() < TEST_TIMEOUT);
    server.logs("stopping");
    let log = server.log();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("twice")).collect();
    assert!(told.len() <= 3 && log.len() < 10_000, "{told:?}");
    assert!(log.contains(&format!("count={}", TOOLS - 1)), "{told:?}");
}
