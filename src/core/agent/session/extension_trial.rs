//! Starts an extension outside of all sessions, to see whether it works.

use crate::agent::Registry;
use crate::builtin::InMemoryData;
use crate::extension::{Error, ExtensionConfig, Manager, Status};
use crate::mcp::types::Tool;
use crate::sys::cancel::Cancel;
use std::path::Path;
use std::sync::Arc;

/// The id of the session that the extension sees.
const SESSION: &str = "trial";

/// An extension that has started.
pub struct ExtensionTrial {
    /// Its state while it ran.
    pub status: Option<Status>,
    /// The tools that a session would have of it.
    pub tools: Vec<Tool>,
}

impl Registry {
    /// Starts an extension as a session in `working_dir` would, lists its tools, and ends it.
    ///
    /// # Errors
    /// Why it does not start. Nothing of it is left.
    pub fn try_extension(
        &self,
        config: &ExtensionConfig,
        working_dir: &Path,
        cancel: &Cancel,
    ) -> Result<ExtensionTrial, Error> {
        let data = Arc::new(InMemoryData::default());
        let manager = Manager::new(self.extension_context(SESSION, working_dir, data));
        manager.add(config, cancel)?;
        let tools = manager.tools(None, cancel).into_iter();
        let tools = tools.map(|listed| listed.tool).collect();
        let status = manager.status().into_iter().next();
        manager.close();
        Ok(ExtensionTrial { status, tools })
    }
}
