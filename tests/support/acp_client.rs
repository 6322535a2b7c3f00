//! A client of the Agent Client Protocol: starts `gosling acp` in its own folder, sends messages, and answers
//! the agent's requests.

use super::acp_record::record;
use super::process::{Proc, descendants};
use super::server::gosling;
use super::{TEST_TIMEOUT, TempDir, temp_dir, until};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The configuration of an agent that is not started yet.
pub struct Acp {
    root: TempDir,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
    capabilities: Value,
}

impl Acp {
    /// An agent with a scripted model.
    pub fn new(script: Value) -> Self {
        let root = temp_dir();
        for folder in ["config", "work"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("script.json"), script.to_string()).unwrap();
        Acp {
            root,
            variables: vec![("GOOSE_PROVIDER".to_owned(), "scripted".to_owned())],
            arguments: Vec::new(),
            capabilities: json!({}),
        }
    }

    /// Adds arguments to its command line.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(|&it| it.to_owned()).collect();
        self
    }

    /// Writes the configuration file.
    pub fn configured(self, config: Value) -> Self {
        let path = self.root.path().join("config/config.yaml");
        fs::write(path, config.to_string()).unwrap();
        self
    }

    /// Sets a variable of the agent; an empty one is removed.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Declares what the client can do.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Starts the agent and initializes the connection.
    pub fn start(self) -> AcpClient {
        let capabilities = self.capabilities.clone();
        let mut client = self.connect();
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        client.call("initialize", params);
        client
    }

    /// Starts the agent.
    pub fn connect(self) -> AcpClient {
        AcpClient::start(self)
    }
}

/// How the client answers a request of the agent.
type Answer = Box<dyn FnMut(&Value) -> Option<Result<Value, Value>>>;

/// A running agent, which is killed when dropped.
pub struct AcpClient {
    setup: Acp,
    process: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<String>,
    last_id: i64,
    /// The methods of the requests that were sent.
    methods: HashMap<i64, String>,
    /// The notifications that were received and not taken yet, in order.
    pub updates: Vec<Value>,
    /// The agent's requests so far.
    pub requests: Vec<Value>,
    /// Responses that nobody has waited for yet.
    responses: Vec<Value>,
    answers: Vec<(String, Answer)>,
}

impl AcpClient {
    fn start(setup: Acp) -> Self {
        let root = setup.root.path();
        let mut command = gosling();
        command
            .arg("acp")
            .args(&setup.arguments)
            .current_dir(root)
            .env("GOOSE_PATH_ROOT", root)
            .env("HOME", root)
            .env("GOOSE_SCRIPT", root.join("script.json"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        for (name, value) in &setup.variables {
            match value.as_str() {
                "" => command.env_remove(name),
                value => command.env(name, value),
            };
        }
        let mut process = command.spawn().expect("gosling runs");
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            let lines = stdout.split(b'\n').map_while(Result::ok);
            for line in lines {
                let line = String::from_utf8(line).expect("stdout is UTF-8");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        AcpClient {
            setup,
            process,
            stdin,
            messages,
            last_id: 0,
            methods: HashMap::new(),
            updates: Vec::new(),
            requests: Vec::new(),
            responses: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Ends the agent as a client does, and starts another one on the same files.
    pub fn restart(mut self) -> AcpClient {
        self.end();
        let root = std::mem::replace(&mut self.setup.root, temp_dir());
        let setup = Acp {
            root,
            variables: self.setup.variables.clone(),
            arguments: self.setup.arguments.clone(),
            capabilities: self.setup.capabilities.clone(),
        };
        setup.start()
    }

    pub fn root(&self) -> &Path {
        self.setup.root.path()
    }

    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn descendants(&self) -> Vec<Proc> {
        descendants(self.pid())
    }

    /// Answers requests of this method with a result or an error; `None` leaves them unanswered.
    pub fn answering(
        &mut self,
        method: &str,
        answer: impl FnMut(&Value) -> Option<Result<Value, Value>> + 'static,
    ) {
        self.answers
            .insert(0, (method.to_owned(), Box::new(answer)));
    }

    /// Leaves requests of this method unanswered from now on.
    pub fn leaves_unanswered(&mut self, method: &str) {
        self.answers.retain(|(known, _)| known != method);
    }

    /// Answers questions for a permission with this option.
    pub fn permits(&mut self, option: &'static str) {
        self.answering("session/request_permission", move |_| {
            Some(Ok(
                json!({"outcome": {"outcome": "selected", "optionId": option}}),
            ))
        });
    }

    /// Writes a line.
    pub fn write(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    /// Sends a request and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.request_as(id, method, params);
        id
    }

    /// Sends a request with this id.
    pub fn request_as(&mut self, id: i64, method: &str, params: Value) {
        self.methods.insert(id, method.to_owned());
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(message.to_string().as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(message.to_string().as_bytes());
    }

    /// Sends a request and returns its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.result(id)
    }

    /// Sends a request and returns its error.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.request(method, params);
        self.error(id)
    }

    #[track_caller]
    pub fn result(&mut self, id: i64) -> Value {
        let response = self.response(&json!(id));
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    #[track_caller]
    pub fn error(&mut self, id: i64) -> (i64, String) {
        let response = self.response(&json!(id));
        let error = &response["error"];
        let code = error["code"].as_i64();
        let message = error["message"].as_str().unwrap_or_default();
        (
            code.unwrap_or_else(|| panic!("{response}")),
            message.to_owned(),
        )
    }

    /// Waits for the response with this id, and handles what comes before it.
    #[track_caller]
    pub fn response(&mut self, id: &Value) -> Value {
        loop {
            if let Some(at) = self.responses.iter().position(|it| it["id"] == *id) {
                return self.responses.remove(at);
            }
            assert!(self.receive(TEST_TIMEOUT), "no response to {id}");
        }
    }

    /// Waits for a response, whatever its id.
    #[track_caller]
    pub fn next_response(&mut self) -> Value {
        while self.responses.is_empty() {
            assert!(self.receive(TEST_TIMEOUT), "no response");
        }
        self.responses.remove(0)
    }

    /// Waits until an update of this kind has come, and returns it.
    #[track_caller]
    pub fn update(&mut self, kind: &str) -> Value {
        loop {
            let is_it = |it: &Value| it["params"]["update"]["sessionUpdate"] == *kind;
            if let Some(at) = self.updates.iter().position(is_it) {
                return self.updates.remove(at)["params"]["update"].clone();
            }
            assert!(self.receive(TEST_TIMEOUT), "no {kind}");
        }
    }

    /// Waits until the agent has sent this many requests.
    #[track_caller]
    pub fn until_requests(&mut self, count: usize) {
        while self.requests.len() < count {
            assert!(self.receive(TEST_TIMEOUT), "{:?}", self.requests);
        }
    }

    /// Handles one message; false if none comes in time or the agent has ended.
    pub fn receive(&mut self, timeout: Duration) -> bool {
        let line = match self.messages.recv_timeout(timeout) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        };
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| {
            panic!("stdout has a line that is no message: {error}: {line}")
        });
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        let id = message["id"].as_i64();
        let answers = id.and_then(|id| self.methods.get(&id));
        record(answers.map(String::as_str), &message);
        match (message.get("method"), message.get("id")) {
            (Some(method), Some(id)) => {
                let method = method.as_str().unwrap().to_owned();
                let answers = self.answers.iter_mut();
                let answer = answers
                    .filter(|(known, _)| *known == method)
                    .find_map(|(_, answer)| answer(&message["params"]));
                let id = id.clone();
                self.requests.push(message);
                match answer {
                    Some(Ok(result)) => self.respond(json!({"id": id, "result": result})),
                    Some(Err(error)) => self.respond(json!({"id": id, "error": error})),
                    None => {}
                }
            }
            (Some(_), None) => self.updates.push(message),
            (None, _) => self.responses.push(message),
        }
        true
    }

    /// Answers a request of the agent.
    pub fn respond(&mut self, mut response: Value) {
        response["jsonrpc"] = "2.0".into();
        self.write(response.to_string().as_bytes());
    }

    /// A new session in the folder `work`.
    #[track_caller]
    pub fn session(&mut self) -> String {
        let cwd = self.work();
        let result = self.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
        result["sessionId"].as_str().unwrap().to_owned()
    }

    /// Begins a turn and returns the id of the request.
    pub fn begin_prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        )
    }

    /// Runs a turn and returns why it stopped.
    #[track_caller]
    pub fn prompt(&mut self, session: &str, text: &str) -> String {
        let id = self.begin_prompt(session, text);
        let result = self.result(id);
        result["stopReason"].as_str().unwrap().to_owned()
    }

    /// Takes the updates so far.
    pub fn take_updates(&mut self) -> Vec<Value> {
        let updates = std::mem::take(&mut self.updates);
        let all = updates.into_iter().map(|it| it["params"]["update"].clone());
        all.collect()
    }

    /// The text of the agent's messages in the updates so far.
    pub fn text(&self) -> String {
        let updates = self.updates.iter().map(|it| &it["params"]["update"]);
        let texts = updates.filter(|it| it["sessionUpdate"] == "agent_message_chunk");
        texts
            .filter_map(|it| it["content"]["text"].as_str())
            .collect()
    }

    /// Closes stdin and waits for the end of the agent.
    pub fn end(&mut self) -> ExitStatus {
        self.stdin = None;
        while self.receive(TEST_TIMEOUT) {}
        until("the agent ends", || self.process.try_wait().unwrap())
    }

    /// Whether the agent has ended.
    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    /// What a client that does not read leaves in the pipe.
    pub fn stop_reading(&mut self) {
        let (_, messages) = channel();
        self.messages = messages;
    }
}

impl Drop for AcpClient {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A script of one turn.
pub fn turn(steps: Value) -> Value {
    json!({"turns": [{"steps": steps}], "repeat": true, "name": "A session"})
}

/// A script whose turns respond to words of the user.
pub fn turns(turns: &[(&str, Value)]) -> Value {
    let turns = turns
        .iter()
        .map(|(word, steps)| json!({"when": {"user": word}, "steps": steps}));
    json!({"turns": turns.collect::<Value>()})
}

/// A configuration with the builtin servers `developer` and `todo`.
pub fn developer() -> Value {
    json!({"extensions": {
        "developer": {"enabled": true, "type": "builtin", "name": "developer"},
        "todo": {"enabled": true, "type": "platform", "name": "todo"},
    }})
}

/// The step of a script that calls a tool.
pub fn call(name: &str, arguments: Value) -> Value {
    json!({"call": {"name": name, "arguments": arguments}})
}

/// The step that runs a command.
pub fn shell(command: &str) -> Value {
    call("developer__shell", json!({ "command": command }))
}

/// The step that edits a file.
pub fn edit(arguments: Value) -> Value {
    call("developer__text_editor", arguments)
}
