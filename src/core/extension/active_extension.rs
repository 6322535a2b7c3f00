//! One active extension: an MCP server and the tools that it lists, or tools that the client runs.

use super::config::{ExtensionConfig, Frontend};
use super::status::{State, Status};
use super::supervisor::Supervisor;
use super::{Error, Phase, tool_names};
use crate::mcp::types::Tool;
use crate::sys::cancel::Cancel;
use crate::text::printable;
use std::collections::HashSet;
use std::sync::Arc;

/// The most tools that a frontend extension may have.
const MAX_TOOLS: usize = 1_000;

/// One active extension.
pub(super) struct Extension {
    pub(super) key: String,
    pub(super) config: ExtensionConfig,
    /// The number of the activation within the session, from 1.
    pub(super) number: u64,
    runs: ToolRunner,
}

/// Runs the tools of the extension.
enum ToolRunner {
    Supervised(Box<Supervisor>),
    Frontend {
        instructions: Option<String>,
        tools: Arc<Vec<Tool>>,
    },
}

impl Extension {
    /// An extension with a server, which may not have been connected yet.
    pub(super) fn supervised(config: &ExtensionConfig, number: u64, server: Supervisor) -> Self {
        Extension {
            key: config.key(),
            config: config.clone(),
            number,
            runs: ToolRunner::Supervised(Box::new(server)),
        }
    }

    /// An extension whose tools the client runs.
    ///
    /// # Errors
    /// A tool cannot be read, has no name, or has the name of another tool.
    pub(super) fn frontend(
        config: &ExtensionConfig,
        number: u64,
        frontend: &Frontend,
    ) -> Result<Self, Error> {
        let wrong = |reason| Err(Error::new(&frontend.name, Phase::Config, reason));
        if frontend.tools.len() > MAX_TOOLS {
            return wrong(format!("it has more than {MAX_TOOLS} tools"));
        }
        let mut tools = Vec::new();
        let mut names = HashSet::new();
        for (n, tool) in frontend.tools.iter().enumerate() {
            let n = n + 1;
            // Read from text, because the raw JSON fields of a tool cannot be read from a `Value`.
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
            runs: ToolRunner::Frontend {
                instructions: frontend.instructions.clone(),
                tools: Arc::new(tools),
            },
        })
    }

    pub(super) fn is_frontend(&self) -> bool {
        matches!(self.runs, ToolRunner::Frontend { .. })
    }

    /// The supervisor of its MCP server; `None` for a frontend extension.
    pub(super) fn supervisor(&self) -> Option<&Supervisor> {
        match &self.runs {
            ToolRunner::Supervised(server) => Some(server),
            ToolRunner::Frontend { .. } => None,
        }
    }

    /// The instructions for the model.
    pub(super) fn instructions(&self) -> Option<String> {
        match &self.runs {
            ToolRunner::Supervised(server) => {
                server.connection().client.server().instructions.clone()
            }
            ToolRunner::Frontend { instructions, .. } => instructions.clone(),
        }
    }

    /// Whether the extension can be used without a restart.
    pub(super) fn is_up(&self) -> bool {
        self.supervisor().is_none_or(Supervisor::is_up)
    }

    /// The status of the extension. Sends no request to the server.
    pub(super) fn status(&self) -> Status {
        match &self.runs {
            ToolRunner::Supervised(server) => server.status(),
            ToolRunner::Frontend { tools, .. } => {
                let name = self.config.name();
                let kind = Some(self.config.kind());
                let mut status = Status::bare(name, self.key.clone(), kind, State::Frontend);
                status.tools = tools.len();
                status
            }
        }
    }

    pub(super) fn close(&self) {
        if let Some(server) = self.supervisor() {
            server.close();
        }
    }

    /// The name of a tool in the session. A tool of a frontend extension keeps the name that the client gave
    /// it.
    pub(super) fn full_name(&self, tool: &str) -> String {
        if self.is_frontend() {
            tool.to_owned()
        } else {
            tool_names::full_name(&self.key, tool)
        }
    }

    /// The tools of the last listing.
    pub(super) fn known_tools(&self) -> Arc<Vec<Tool>> {
        match &self.runs {
            ToolRunner::Supervised(server) => server.known_tools(),
            ToolRunner::Frontend { tools, .. } => tools.clone(),
        }
    }

    /// The tools. Lists them again if the server reported a change or the connection was lost.
    pub(super) fn tools(&self, cancel: &Cancel) -> Arc<Vec<Tool>> {
        match &self.runs {
            ToolRunner::Supervised(server) => server.tools(cancel),
            ToolRunner::Frontend { tools, .. } => tools.clone(),
        }
    }
}
