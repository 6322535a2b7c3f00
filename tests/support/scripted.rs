//! Scripts for a scripted MCP server. A script contains only deviations from a correct server.
//!
//! The script is passed to the server as JSON, in its only argument. In every text `{id}` stands for the id
//! of the request that is answered, and `{n}` for a number: of the repetition, if there is one, else of the
//! client's message.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// One step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Action {
    /// Answers with this result.
    Result(Value),
    /// Answers with a JSON-RPC error.
    Error(i64, String),
    /// Answers with a tool result: this text, repeated so many times.
    Text(String, usize),
    /// Writes this to stdout, so many times.
    Out(String, usize),
    /// Writes these bytes to stdout.
    Bytes(Vec<u8>),
    /// Writes this to stderr, so many times.
    Err(String, usize),
    /// Waits, in milliseconds.
    Sleep(u64),
    /// Ends the process.
    Exit(i32),
    /// Sends a request with this method to the client and waits for its answer.
    Ask(String),
    /// The same with parameters, and with an id that no other request has.
    AskWith(String, Value),
    /// Answers with a tool result: the client's last answer in this script.
    LastClientAnswer,
    /// Reports progress on the request so many times, each after so many milliseconds.
    Progress(usize, u64),
}

impl Action {
    /// One line on stdout.
    pub fn line(text: &str) -> Action {
        Action::Out(format!("{text}\n"), 1)
    }

    /// A notification to the client.
    pub fn notify(method: &str, params: Value) -> Action {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        Action::line(&message.to_string())
    }

    /// A tool result with this text.
    pub fn text(text: &str) -> Action {
        Action::Text(text.to_owned(), 1)
    }
}

/// The behaviour of the server. It always has the tool `echo`, which returns its `message`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Script {
    /// The file in which the server records the messages that it receives.
    pub record: Option<PathBuf>,
    /// Capabilities beside tools, for example `prompts`.
    pub capabilities: Vec<String>,
    /// The instructions for the model.
    pub instructions: Option<String>,
    /// The protocol version of the answer; the client's if absent.
    pub version: Option<String>,
    /// Steps before anything is read.
    pub begin: Vec<Action>,
    /// Steps by method.
    pub rules: Vec<(String, Vec<Action>)>,
    /// Steps by tool name.
    pub tools: Vec<(String, Vec<Action>)>,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn begin(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.begin.extend(actions);
        self
    }

    /// Replaces the behaviour of this method by these steps. No steps: ignores it.
    pub fn on(mut self, method: &str, actions: impl IntoIterator<Item = Action>) -> Self {
        let actions = actions.into_iter().collect();
        self.rules.push((method.to_owned(), actions));
        self
    }

    pub fn tool(mut self, name: &str, actions: impl IntoIterator<Item = Action>) -> Self {
        let actions = actions.into_iter().collect();
        self.tools.push((name.to_owned(), actions));
        self
    }

    /// Declares a capability and answers its list method with this result.
    pub fn offers(mut self, capability: &str, list: Value) -> Self {
        self.capabilities.push(capability.to_owned());
        self.on(&format!("{capability}/list"), [Action::Result(list)])
    }

    pub fn instructions(mut self, text: &str) -> Self {
        self.instructions = Some(text.to_owned());
        self
    }

    pub fn version(mut self, version: &str) -> Self {
        self.version = Some(version.to_owned());
        self
    }

    pub fn recorded(mut self, file: &Path) -> Self {
        self.record = Some(file.to_owned());
        self
    }
}
