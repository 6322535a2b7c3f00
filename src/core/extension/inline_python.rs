//! Extensions of type `inline_python`, whose MCP server is Python code in the configuration. A part runs it; a build
//! without it refuses them. CORE §6.

use super::Error;
use super::config::InlinePython;
use crate::store::Config;
use std::any::Any;
use std::sync::Arc;

/// Creates the runner of a part, with the settings of the user.
pub type CreatePythonRunner = fn(&Config) -> Arc<dyn PythonRunner>;

/// Makes programs of inline Python, with the settings that it was created with.
pub trait PythonRunner: Send + Sync {
    /// The command and its arguments, with `{file}` in the place of the file with the code.
    ///
    /// # Errors
    /// A dependency or a setting is invalid.
    fn words(&self, config: &InlinePython) -> Result<Vec<String>, Error>;

    /// Writes the code of an extension to a file and returns the command that runs it.
    ///
    /// # Errors
    /// A dependency or a setting is invalid, or the file cannot be written.
    fn prepare(&self, config: &InlinePython) -> Result<PythonLaunch, Error>;

    /// Adds advice to the error for a program that did not start or did not initialize. `stderr` is the end of its
    /// stderr.
    fn explain(&self, failed: &mut Error, stderr: &str);
}

/// A program that is ready to start.
pub struct PythonLaunch {
    /// The program.
    pub cmd: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Needed as long as the process runs.
    pub folder: Box<dyn Any + Send>,
}
