//! A `gosling mcp developer` process, and the messages on its stdin and stdout.

use crate::support::server::gosling;
use crate::support::system::set_mode;
use crate::support::{TEST_TIMEOUT, TempDir, temp_dir, until};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// The process, which is killed when dropped.
pub struct StdioServer {
    /// The folder of its configuration and its temporary files.
    root: TempDir,
    process: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<Value>,
    gate: Arc<Mutex<()>>,
}

impl StdioServer {
    /// A server that has been initialized.
    pub fn start() -> StdioServer {
        StdioServer::start_by(gosling())
    }

    /// The same, started by a command that appends arguments.
    pub fn start_by(mut command: Command) -> StdioServer {
        let root = temp_dir();
        // The command may run it as another user.
        set_mode(root.path(), 0o777);
        let mut process = command
            .args(["mcp", "developer"])
            .env("GOOSE_PATH_ROOT", root.path())
            .env("TMPDIR", root.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("gosling starts");
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        let (sender, answers) = channel();
        let gate = Arc::new(Mutex::new(()));
        let open = gate.clone();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                drop(open.lock());
                let message: Value = serde_json::from_str(&line).expect("a message");
                // Log notifications are skipped.
                if message.get("id").is_some() && sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut server = StdioServer {
            root,
            process,
            stdin,
            answers,
            gate,
        };
        let client = json!({"name": "test", "version": "1"});
        server.send(json!({"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}}));
        assert_eq!(server.next()["id"], 0);
        server.send(json!({"method": "notifications/initialized"}));
        server
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// While the lock is held, the output of the server is not read.
    pub fn gate(&self) -> Arc<Mutex<()>> {
        self.gate.clone()
    }

    pub fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        let stdin = self.stdin.as_mut().expect("until the end");
        writeln!(stdin, "{message}").unwrap();
    }

    pub fn call(&mut self, id: u32, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(json!({"id": id, "method": "tools/call", "params": params}));
    }

    pub fn shell(&mut self, id: u32, command: &str) {
        self.call(id, "shell", json!({"command": command}));
    }

    pub fn cancel(&mut self, id: u32) {
        self.send(json!({"method": "notifications/cancelled", "params": {"requestId": id}}));
    }

    /// The next response.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        self.answers
            .recv_timeout(4 * TEST_TIMEOUT)
            .expect("an answer")
    }

    /// The number of its temporary files and folders.
    pub fn temporary(&self) -> usize {
        let entries = fs::read_dir(self.root.path()).unwrap().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with("gosling-")).count()
    }

    /// Closes its stdin.
    pub fn leave(&mut self) {
        drop(self.stdin.take());
    }

    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        until("it ends", || self.process.try_wait().unwrap())
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
