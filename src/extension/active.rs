//! One active extension: an MCP server and what it lists, or tools that the client runs.

use super::config::{ExtensionConfig, Frontend};
use super::{Error, Phase};
use crate::mcp;
use crate::mcp::client::{Client, Listener};
use crate::mcp::types::Tool;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crate::text::printable;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// How many tools a frontend extension may have.
const MAX_TOOLS: usize = 1_000;

/// One active extension.
pub(super) struct Extension {
    pub(super) key: String,
    pub(super) config: ExtensionConfig,
    /// Grows with every activation of the session.
    pub(super) number: u64,
    runs: Runs,
    tools: Mutex<Arc<Vec<Tool>>>,
}

/// Who runs its tools.
enum Runs {
    Server {
        client: Client,
        stale: Arc<AtomicBool>,
    },
    Frontend {
        instructions: Option<String>,
    },
}

impl Extension {
    pub(super) fn server(
        config: &ExtensionConfig,
        number: u64,
        client: Client,
        tools: Vec<Tool>,
        stale: Arc<AtomicBool>,
    ) -> Self {
        Extension {
            key: config.key(),
            config: config.clone(),
            number,
            runs: Runs::Server { client, stale },
            tools: Mutex::new(Arc::new(without_duplicates(config.name(), tools))),
        }
    }

    /// Tools that the client runs.
    ///
    /// # Errors
    /// When one of them is no tool, has no name, or a name that another has.
    pub(super) fn frontend(
        config: &ExtensionConfig,
        number: u64,
        frontend: &Frontend,
    ) -> Result<Self, Error> {
        let wrong = |reason| Err(Error::new(&frontend.name, Phase::Config, reason));
        if frontend.tools.len() > MAX_TOOLS {
            return wrong(format!("it has more than {MAX_TOOLS} tools"));
        }
        let (mut tools, mut names) = (Vec::new(), HashSet::new());
        for (n, tool) in frontend.tools.iter().enumerate() {
            let n = n + 1;
            // Read from text: what a tool keeps to the letter is never a tree.
            let tool: Tool = match crate::json::from_str(&tool.to_string()) {
                Ok(tool) => tool,
                Err(error) => {
                    let error = printable(&error.to_string(), 200);
                    return wrong(format!("its tool number {n} cannot be read: {error}"));
                }
            };
            if tool.name.trim().is_empty() {
                return wrong(format!("its tool number {n} has no name"));
            }
            if !names.insert(tool.name.clone()) {
                let name = printable(&tool.name, 100);
                return wrong(format!("it has two tools with the name {name:?}"));
            }
            tools.push(tool);
        }
        Ok(Extension {
            key: config.key(),
            config: config.clone(),
            number,
            runs: Runs::Frontend {
                instructions: frontend.instructions.clone(),
            },
            tools: Mutex::new(Arc::new(tools)),
        })
    }

    pub(super) fn is_frontend(&self) -> bool {
        matches!(self.runs, Runs::Frontend { .. })
    }

    /// The connection to its server, if it has one.
    pub(super) fn client(&self) -> Option<&Client> {
        match &self.runs {
            Runs::Server { client, .. } => Some(client),
            Runs::Frontend { .. } => None,
        }
    }

    /// How a model should use it.
    pub(super) fn instructions(&self) -> Option<&str> {
        match &self.runs {
            Runs::Server { client, .. } => client.server().instructions.as_deref(),
            Runs::Frontend { instructions } => instructions.as_deref(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.client().is_none_or(Client::is_open)
    }

    pub(super) fn close(&self) {
        if let Some(client) = self.client() {
            client.close();
        }
    }

    /// What one of its tools is called in the session. The client knows its own tools by the names
    /// that it gave them.
    pub(super) fn full_name(&self, tool: &str) -> String {
        match self.is_frontend() {
            true => tool.to_owned(),
            false => format!("{}__{tool}", self.key),
        }
    }

    pub(super) fn failed(&self, error: &mcp::Error) -> Error {
        Error::from_mcp(self.config.name(), false, error)
    }

    /// What it listed when it was last asked.
    pub(super) fn known_tools(&self) -> Arc<Vec<Tool>> {
        lock(&self.tools).clone()
    }

    /// What the server lists, asked again only after it said that the list has changed.
    pub(super) fn tools(&self, cancel: &Cancel) -> Arc<Vec<Tool>> {
        if let Runs::Server { client, stale } = &self.runs
            && stale.swap(false, Ordering::SeqCst)
        {
            match client.list_tools(cancel) {
                Ok(tools) => {
                    let tools = without_duplicates(self.config.name(), tools);
                    *lock(&self.tools) = Arc::new(tools);
                }
                Err(error) => {
                    stale.store(true, Ordering::SeqCst);
                    log::warn!("tools not listed again reason={}", self.failed(&error));
                }
            }
        }
        self.known_tools()
    }
}

/// The first tool of each name; the others could never be called.
fn without_duplicates(extension: &str, mut tools: Vec<Tool>) -> Vec<Tool> {
    let mut seen = HashSet::new();
    tools.retain(|tool| {
        let first = seen.insert(tool.name.clone());
        if !first {
            let tool = printable(&tool.name, 100);
            log::warn!(
                "left out a tool that is listed twice extension={extension:?} tool={tool:?}"
            );
        }
        first
    });
    tools
}

/// Hears that a list has changed.
pub(super) struct Watch {
    pub(super) stale: Arc<AtomicBool>,
}

impl Listener for Watch {
    fn notification(&self, method: &str, _: Option<&RawValue>, _: Option<i64>) {
        if method == "notifications/tools/list_changed" {
            self.stale.store(true, Ordering::SeqCst);
        }
    }
}
