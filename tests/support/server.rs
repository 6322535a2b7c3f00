//! A real `gosling agent` on a free port, in its own folder, and sessions on it.

use super::client::{Answer, KEY, send};
use super::process::{Census, GUARDIAN, Proc, census, descendants, inventory, memory, signal};
use super::scripted::{Action, Script};
use super::system::{self, StartOptions};
use super::{TEST_TIMEOUT, TempDir, temp_dir, until};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long a guardian may take before it is killed too.
const GUARDIAN_WORKS: Duration = Duration::from_secs(5);

/// The program under test.
pub const GOSLING: &str = env!("CARGO_BIN_EXE_gosling");

/// The program without variables of the user's Goose and models, and with default signal dispositions, also
/// where the tests run in the background.
pub fn gosling() -> Command {
    like_gosling(GOSLING)
}

fn like_gosling(program: &str) -> Command {
    let mut command = Command::new(program);
    system::prepare(&mut command);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let models = ["_API_KEY", "_HOST", "_TOKEN"]
            .iter()
            .any(|end| text.ends_with(end));
        if text.starts_with("GOOSE") || text == "RUST_LOG" || models {
            command.env_remove(&name);
        }
    }
    command
}

/// The configuration of a server that is not started yet.
#[derive(Clone)]
pub struct Server {
    root: Arc<TempDir>,
    variables: Vec<(String, String)>,
    pub(super) start: StartOptions,
    /// A program that executes gosling, and its arguments before gosling's.
    through: Vec<String>,
}

impl Server {
    pub fn new() -> Self {
        let root = temp_dir();
        for folder in ["config", "home", "work"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        Server {
            root: Arc::new(root),
            variables: Vec::new(),
            start: StartOptions::default(),
            through: Vec::new(),
        }
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Sets one key of the configuration, keeping the others.
    pub fn setting(self, key: &str, value: impl Into<Value>) -> Self {
        let path = self.root.path().join("config/config.yaml");
        let before = fs::read_to_string(&path).unwrap_or_default();
        let value = value.into();
        self.config(&format!("{before}{key}: {value}\n"))
    }

    pub fn config(self, yaml: &str) -> Self {
        fs::write(self.root.path().join("config/config.yaml"), yaml).unwrap();
        self
    }

    pub fn secrets(self, yaml: &str) -> Self {
        fs::write(self.root.path().join("config/secrets.yaml"), yaml).unwrap();
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts it through this program, which gets its own arguments, then gosling's command line, and executes
    /// gosling.
    pub fn through(mut self, program: &str, arguments: &[&str]) -> Self {
        self.through = vec![program.to_owned()];
        self.through
            .extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// Starts it and waits until it listens.
    pub fn start(self) -> RunningServer {
        if self.start.reports() {
            return self.start_as(&["agent", "--port", "0"]);
        }
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        self.start_at(&["agent", "--port", &port.to_string()], Some(port))
    }

    /// Starts another command that serves HTTP.
    pub fn start_as(self, arguments: &[&str]) -> RunningServer {
        self.start_at(arguments, None)
    }

    /// Waits until it listens on this port, or reports its address.
    fn start_at(self, arguments: &[&str], port: Option<u16>) -> RunningServer {
        let mut command = match &self.through[..] {
            [] => gosling(),
            [program, arguments @ ..] => {
                let mut command = like_gosling(program);
                command.args(arguments).arg(GOSLING);
                command
            }
        };
        self.start.apply(&mut command);
        let mut process = command
            .args(arguments)
            .env("GOOSE_PATH_ROOT", self.root.path())
            .env("GOOSE_SERVER__SECRET_KEY", KEY)
            .env(system::HOME, self.root.path().join("home"))
            .envs(self.variables.clone())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("gosling starts");
        let log = Arc::new(Mutex::new(Vec::new()));
        let (mut stderr, copy) = (process.stderr.take().unwrap(), log.clone());
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stderr.read(&mut buffer) {
                copy.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        let mut live = RunningServer {
            setup: Some(self),
            process: Mutex::new(process),
            address: ([127, 0, 0, 1], 0).into(),
            log,
        };
        live.address = until("the server listens", || {
            if let Some(port) = port {
                let address = SocketAddr::from(([127, 0, 0, 1], port));
                return TcpStream::connect(address).ok().map(|_| address);
            }
            let log = live.log();
            let (_, rest) = log.split_once(" listens on http")?;
            let (_, rest) = rest.split_once("://")?;
            let (address, _) = rest.split_once(['\n', '/', '"'])?;
            address.trim().parse().ok()
        });
        live
    }
}

/// A running server. Dropping it kills it and everything that it started.
pub struct RunningServer {
    setup: Option<Server>,
    process: Mutex<Child>,
    address: SocketAddr,
    log: Arc<Mutex<Vec<u8>>>,
}

impl RunningServer {
    pub fn root(&self) -> &Path {
        self.setup.as_ref().expect("until restart").root.path()
    }

    /// The default working directory of sessions.
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, connects to this address, which leads to the server.
    pub fn connect_through(&mut self, address: SocketAddr) {
        self.address = address;
    }

    pub fn pid(&self) -> u32 {
        self.process.lock().unwrap().id()
    }

    /// Its stderr so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap()).into_owned()
    }

    #[track_caller]
    pub fn logs(&self, text: &str) {
        until(&format!("{text:?} in the log"), || {
            self.log().contains(text).then_some(())
        });
    }

    #[track_caller]
    pub fn never_logs(&self, text: &str) {
        // One thread writes records and another reads them, so wait until the log stops growing.
        let mut log = self.log();
        loop {
            thread::sleep(Duration::from_millis(50));
            let before = std::mem::replace(&mut log, self.log());
            if before.len() == log.len() {
                break;
            }
        }
        assert!(!log.contains(text), "{text:?} is in the log: {log}");
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, Some(KEY), None)
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, Some(KEY), Some(&body.to_string()))
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, Some(KEY), None)
    }

    /// Sends one request with these parts.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, key: Option<&str>, body: Option<&str>) -> Answer {
        let asked = format!("{method} {path} {}", body.unwrap_or_default());
        Answer::read(asked, send(self.address, method, path, key, body))
    }

    /// Sends a request without waiting for the response. Dropping the stream disconnects.
    pub fn begin(&self, path: &str, body: Value) -> TcpStream {
        send(
            self.address,
            "POST",
            path,
            Some(KEY),
            Some(&body.to_string()),
        )
    }

    /// Starts a session with these extensions without waiting for them.
    #[track_caller]
    pub fn begin_session(&self, extensions: impl IntoIterator<Item = Extension>) -> Session<'_> {
        let extensions: Vec<Value> = extensions.into_iter().map(|e| e.0).collect();
        let work = self.work();
        self.start(json!({"working_dir": work, "extension_overrides": extensions}))
    }

    /// Starts a session with this body without waiting for its extensions.
    #[track_caller]
    pub fn start(&self, body: Value) -> Session<'_> {
        let answer = self.post("/agent/start", body).is(200);
        Session {
            server: self,
            id: answer.body["id"].as_str().expect("an id").to_owned(),
        }
    }

    /// Starts a session and waits until all extensions are active.
    #[track_caller]
    pub fn session(&self, extensions: impl IntoIterator<Item = Extension>) -> Session<'_> {
        let session = self.begin_session(extensions);
        for result in session.resume() {
            assert_eq!(result["success"], true, "{result}");
        }
        session
    }

    /// Starts a session with this extension, which must fail; returns the error and stops the session.
    #[track_caller]
    pub fn refuses(&self, extension: Extension) -> String {
        let session = self.begin_session([extension]);
        let results = session.resume();
        session.stop();
        assert_eq!(results[0]["success"], false, "{results:?}");
        results[0]["error"].as_str().expect("a reason").to_owned()
    }

    pub fn is_alive(&self) {
        self.get("/status").is(200);
    }

    pub fn census(&self) -> Census {
        census(self.pid())
    }

    /// The resources of an idle server, after everything that is created once has been created.
    pub fn at_rest(&self) -> Census {
        self.session([Extension::demo()]).stop();
        self.without_descendants()
    }

    /// The resources once they do not change any more. A thread that has just started may not have opened its
    /// files yet, and a connection that has just ended may not be closed.
    pub fn settled(&self) -> Census {
        let mut last = self.census();
        let mut equal = 0;
        until("the server comes to rest", || {
            thread::sleep(Duration::from_millis(100));
            let before = std::mem::replace(&mut last, self.census());
            equal = if before == last { equal + 1 } else { 0 };
            (equal >= 2).then_some(last)
        })
    }

    /// The same, once no descendant runs any more.
    pub fn without_descendants(&self) -> Census {
        until("no process is left", || {
            let settled = self.settled();
            (settled.descendants == 0).then_some(settled)
        })
    }

    /// Waits until no more threads, descriptors and processes are left than in `rest`.
    #[track_caller]
    pub fn returns_to(&self, rest: Census) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let now = self.census();
            let more = now.threads > rest.threads
                || now.fds > rest.fds
                || now.descendants > rest.descendants;
            if !more {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{now:?} instead of {rest:?}:\n{}",
                inventory(self.pid())
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn descendants(&self) -> Vec<Proc> {
        descendants(self.pid())
    }

    /// For example `VmRSS`, in bytes.
    pub fn memory(&self, field: &str) -> usize {
        memory(self.pid(), field)
    }

    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Waits until the process has exited by itself.
    #[track_caller]
    pub fn ended(&self) -> ExitStatus {
        until("the server ends", || {
            self.process.lock().unwrap().try_wait().unwrap()
        })
    }

    /// Sends SIGTERM, as a supervisor does.
    #[track_caller]
    pub fn terminate(&self) -> ExitStatus {
        self.signal("TERM");
        self.ended()
    }

    /// Sends SIGKILL.
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap();
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Kills it and starts another one in the same folder.
    pub fn restart_after_kill(mut self) -> RunningServer {
        self.kill();
        self.setup.take().expect("until restart").start()
    }

    /// Terminates it and starts another one in the same folder.
    pub fn restart(self) -> RunningServer {
        assert!(self.terminate().success());
        self.again()
    }

    /// Starts another one in the folder of this one, which has exited.
    pub fn again(mut self) -> RunningServer {
        self.setup.take().expect("until restart").start()
    }

    /// Starts another server in the same folder, while this one runs.
    pub fn beside(&self) -> RunningServer {
        let setup = self.setup.as_ref().expect("until restart");
        setup.clone().start()
    }

    /// An existing session.
    pub fn known(&self, id: &str) -> Session<'_> {
        Session {
            server: self,
            id: id.to_owned(),
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let left = self.descendants();
        self.kill();
        // The guardian knows best what to kill.
        let guardian = left.iter().find(|process| process.name() == GUARDIAN);
        let deadline = Instant::now() + GUARDIAN_WORKS;
        while guardian.is_some_and(Proc::is_alive) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        for process in left.iter().filter(|process| process.is_alive()) {
            signal(process.pid, "KILL");
        }
    }
}

/// A session on a running server.
pub struct Session<'a> {
    pub server: &'a RunningServer,
    pub id: String,
}

impl Session<'_> {
    /// Resumes it, which waits for the extensions; returns their results.
    #[track_caller]
    pub fn resume(&self) -> Vec<Value> {
        let body = json!({"session_id": self.id, "load_model_and_extensions": true});
        let answer = self.server.post("/agent/resume", body).is(200);
        let results = answer.body["extension_results"].as_array();
        results.expect("extension_results").clone()
    }

    #[track_caller]
    pub fn restart(&self) -> Vec<Value> {
        let answer = self.post("/agent/restart", json!({})).is(200);
        let results = answer.body["extension_results"].as_array();
        results.expect("extension_results").clone()
    }

    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Answer {
        let body = json!({"name": tool, "arguments": arguments});
        self.post("/agent/call_tool", body)
    }

    /// Calls a tool without waiting for the result. Dropping the stream disconnects.
    pub fn begin_call(&self, tool: &str, arguments: Value) -> TcpStream {
        let body = json!({"session_id": self.id, "name": tool, "arguments": arguments});
        self.server.begin("/agent/call_tool", body)
    }

    /// Checks that a scripted extension of this name still responds.
    #[track_caller]
    pub fn echoes(&self, extension: &str) {
        let answer = self.call(
            &format!("{extension}__echo"),
            json!({"message": "still here"}),
        );
        assert_eq!(answer.is(200).content(), "still here");
    }

    /// The names of all tools.
    #[track_caller]
    pub fn tools(&self) -> Vec<String> {
        let path = format!("/agent/tools?session_id={}", self.id);
        let answer = self.server.get(&path).is(200);
        let tools = answer.body.as_array().expect("a list").iter();
        tools
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect()
    }

    #[track_caller]
    pub fn add(&self, extension: Extension) -> Answer {
        self.post("/agent/add_extension", json!({"config": extension.0}))
    }

    #[track_caller]
    pub fn remove(&self, extension: &str) -> Answer {
        self.post("/agent/remove_extension", json!({"name": extension}))
    }

    #[track_caller]
    pub fn read(&self, extension: &str, uri: &str) -> Answer {
        let body = json!({"extension_name": extension, "uri": uri});
        self.post("/agent/read_resource", body)
    }

    /// Stops its agent.
    #[track_caller]
    pub fn stop(&self) {
        self.post("/agent/stop", json!({})).is(200).says_nothing();
    }

    /// Sends a request about this session.
    #[track_caller]
    pub fn post(&self, path: &str, mut body: Value) -> Answer {
        body["session_id"] = self.id.as_str().into();
        self.server.post(path, body)
    }
}

/// The configuration of an extension.
#[derive(Clone)]
pub struct Extension(pub Value);

impl Extension {
    pub fn stdio(name: &str, cmd: &str, args: &[&str]) -> Self {
        Extension(json!({
            "type": "stdio", "name": name, "description": "", "cmd": cmd, "args": args,
        }))
    }

    /// A builtin server, in gosling's process.
    pub fn builtin(name: &str) -> Self {
        Extension(json!({"type": "builtin", "name": name, "bundled": true, "timeout": 300}))
    }

    /// The builtin server `demo` as a child process.
    pub fn demo() -> Self {
        Self::demo_with(&[])
    }

    pub fn demo_with(options: &[&str]) -> Self {
        let line = [
            demo_command(),
            options.iter().map(|o| o.to_string()).collect(),
        ]
        .concat();
        let args: Vec<&str> = line[1..].iter().map(String::as_str).collect();
        Self::stdio("demo", &line[0], &args)
    }

    pub fn shell(name: &str, command: &str) -> Self {
        Self::stdio(name, "sh", &["-c", command])
    }

    /// A server that prints these words to stderr and exits.
    pub fn dying(name: &str, words: &str, code: i32) -> Self {
        let words = Action::Err(format!("{words}\n"), 1);
        Self::scripted(name, &Script::new().begin([words, Action::Exit(code)]))
    }

    /// A server that says nothing at all.
    pub fn silent(name: &str) -> Self {
        Self::scripted(name, &Script::new().begin([Action::Sleep(300_000)]))
    }

    pub fn scripted(name: &str, script: &Script) -> Self {
        Self::stdio(name, &scripted_mcp(), &[&as_argument(script)])
    }

    /// As [`scripted`](Self::scripted), with its script in this new file. A command line of Windows has at most 32,767
    /// characters.
    pub fn scripted_by(file: &Path, name: &str, script: &Script) -> Self {
        fs::write(file, as_argument(script)).unwrap();
        Self::stdio(name, &scripted_mcp(), &[&format!("@{}", file.display())])
    }

    /// Sets a field.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0[field] = value.into();
        self
    }

    /// Sets a request timeout of one second, for tests that wait for it.
    pub fn with_short_timeout(self) -> Self {
        self.with("timeout", 1)
    }
}

pub fn as_argument(script: &Script) -> String {
    serde_json::to_string(script).unwrap()
}

/// The command that serves the builtin server `demo` on stdio: gosling, or an example in a build that leaves
/// this server out.
pub fn demo_command() -> Vec<String> {
    if cfg!(feature = "demo") {
        vec![absolute(GOSLING), "mcp".to_owned(), "demo".to_owned()]
    } else {
        vec![example("demo-mcp")]
    }
}

/// The path also for a program that works on another drive of Windows.
pub fn absolute(path: &str) -> String {
    let path = std::path::absolute(path).expect("a working directory");
    path.into_os_string().into_string().expect("a Unicode path")
}

/// The path of the scripted MCP server.
pub fn scripted_mcp() -> String {
    example("scripted-mcp")
}

fn example(name: &str) -> String {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let gosling = absolute(GOSLING);
    let folder = Path::new(&gosling).parent().expect("a folder");
    let path = folder.join("examples").join(name);
    assert!(
        path.exists(),
        "{path:?} is missing: `cargo test` builds it, `cargo test --test NAME` does not; run \
         `cargo build --examples` first"
    );
    path.into_os_string().into_string().expect("a Unicode path")
}

/// The messages that a scripted server has received.
pub struct Record {
    folder: TempDir,
}

impl Record {
    pub fn new() -> Self {
        Record { folder: temp_dir() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("heard")
    }

    /// Every message so far; the first of each process is `started` and describes its start.
    pub fn messages(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
        let complete = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        complete
            .map(|line| serde_json::from_str(line).expect("a message"))
            .collect()
    }

    /// All messages with this method so far.
    pub fn all(&self, method: &str) -> Vec<Value> {
        let mut messages = self.messages();
        messages.retain(|message| message["method"] == method);
        messages
    }

    /// Waits for the first message with this method.
    #[track_caller]
    pub fn wait_for_message(&self, method: &str) -> Value {
        until(&format!("the server hears {method}"), || {
            self.all(method).into_iter().next()
        })
    }

    /// Waits for the client's response to a request of the server.
    #[track_caller]
    pub fn answer(&self, id: &str) -> Value {
        until(&format!("the client answers {id}"), || {
            let mut messages = self.messages().into_iter();
            messages.find(|message| message["id"] == id && message.get("method").is_none())
        })
    }

    /// How each process of the server was started.
    pub fn starts(&self) -> Vec<Value> {
        let messages = self.messages().into_iter();
        messages
            .filter_map(|message| message.get("started").cloned())
            .collect()
    }

    /// The names of the methods received.
    pub fn methods(&self) -> HashSet<String> {
        let messages = self.messages();
        let methods = messages.iter().filter_map(|m| m["method"].as_str());
        methods.map(str::to_owned).collect()
    }
}
