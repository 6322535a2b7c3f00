//! What a scripted MCP server does: a script says only what is odd, all else is as it should be.
//!
//! The script travels to the server as JSON, in its one argument. In every text `{id}` stands for
//! the id of the request that is answered, and `{n}` for a number: of the repetition where there is
//! one, else of the message from the client.

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
    /// Answers with the result of a tool: this text, so many times in a row.
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
    /// Asks the client with this method and waits for its answer.
    Ask(String),
    /// The same with parameters, and an id that no other request has.
    AskWith(String, Value),
    /// Answers with the result of a tool: what the client answered last in this script.
    Told,
    /// Reports progress on the request so many times, each after so many milliseconds.
    Progress(usize, u64),
}

impl Action {
    /// One line on stdout.
    pub fn line(text: &str) -> Action {
        Action::Out(format!("{text}\n"), 1)
    }

    /// Something that the client did not ask for.
    pub fn notify(method: &str, params: Value) -> Action {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        Action::line(&message.to_string())
    }

    /// The result of a tool.
    pub fn text(text: &str) -> Action {
        Action::Text(text.to_owned(), 1)
    }
}

/// What the server does. It always has the tool `echo`, which says back its `message`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Script {
    /// Where the server writes down what it hears.
    pub record: Option<PathBuf>,
    /// What it offers beside tools, for example `prompts`.
    pub capabilities: Vec<String>,
    /// How a model should use it.
    pub instructions: Option<String>,
    /// The protocol version to answer with; the client's if absent.
    pub version: Option<String>,
    /// Before anything is read.
    pub begin: Vec<Action>,
    /// By method.
    pub rules: Vec<(String, Vec<Action>)>,
    /// By name of the tool.
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

    /// What to do, and nothing else, when this method is called. No actions: ignore it.
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

    /// Declares a capability and answers the method that lists it with this result.
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
