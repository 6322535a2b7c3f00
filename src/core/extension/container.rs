//! Which extensions run in a container. A part runs them there; a build without it refuses them.

use super::config::ExtensionConfig;
use super::environment::Environment;
use crate::store::Config;
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Creates the container runtime of a part, with the settings of the user.
pub type CreateRuntime = fn(&Config) -> Arc<dyn Runtime>;

/// Runs commands in containers, with the settings that it was created with.
pub trait Runtime: Send + Sync {
    /// Checks the name or id of a container.
    ///
    /// # Errors
    /// The name cannot be that of a container.
    fn check_name(&self, name: &str) -> Result<(), String>;

    /// How to run commands in this container, for a session with this working directory.
    ///
    /// # Errors
    /// The name or a setting is invalid.
    fn inside(&self, container: &str, session_dir: &Path) -> Result<Box<dyn Inside>, String>;
}

/// How to run a command in a container.
pub trait Inside: fmt::Debug {
    /// The name or id of the container.
    fn container(&self) -> &str;

    /// The working directory inside; if absent the container's own.
    fn working_dir(&self) -> Option<&str>;

    /// The client of the container runtime.
    ///
    /// # Errors
    /// The client was not found; the error names what was searched.
    fn client(&self) -> Result<PathBuf, String>;

    /// The command line that serves a builtin extension.
    fn builtin(&self, name: &str) -> (String, Vec<String>);

    /// The arguments of the runtime's client for this command. They contain the names of the variables, not
    /// their values.
    ///
    /// # Errors
    /// A variable would change what the client does, or the command is empty.
    fn arguments(
        &self,
        environment: &Environment,
        cmd: &str,
        args: &[String],
    ) -> Result<Vec<String>, String>;

    /// Advice about a server that failed to start, derived from the exit status of the runtime's client (for
    /// example `exit status: 127`) and its stderr.
    fn advice(&self, config: &ExtensionConfig, status: &str, stderr: &str) -> String;
}

/// The container in which a session's extensions run, and what runs them there.
#[derive(Clone, Default)]
pub struct Containers {
    /// The container of the session, as stored. It is checked when an extension starts, so that an invalid
    /// name keeps extensions from starting and never starts them outside the container.
    pub session: Option<String>,
    /// What runs extensions there; without it, an extension with a container does not start.
    pub runtime: Option<Arc<dyn Runtime>>,
}

impl Containers {
    /// Checks the name or id of a container.
    ///
    /// # Errors
    /// The name cannot be that of a container, or the build runs nothing in containers.
    pub fn check_name(&self, name: &str) -> Result<(), String> {
        self.runtime()?.check_name(name)
    }

    fn runtime(&self) -> Result<&dyn Runtime, String> {
        self.runtime.as_deref().ok_or_else(|| {
            let hint = crate::features::hint("containers");
            format!("extensions cannot run in containers{hint}")
        })
    }

    /// The container for an extension: its own, else the session's. `None` for an extension that starts no
    /// process and for `todo`, which has only the session's data.
    ///
    /// # Errors
    /// A name or setting is invalid.
    pub fn inside(
        &self,
        config: &ExtensionConfig,
        session_dir: &Path,
    ) -> Result<Option<Box<dyn Inside>>, String> {
        let is_program = matches!(
            config,
            ExtensionConfig::Stdio(_)
                | ExtensionConfig::Builtin(_)
                | ExtensionConfig::Platform(_)
                | ExtensionConfig::InlinePython(_)
        );
        if !is_program || only_has_data(config) {
            return Ok(None);
        }
        let name = match config.container() {
            Some(Value::String(name)) => name,
            None => match &self.session {
                Some(name) => name,
                None => return Ok(None),
            },
            Some(_) => {
                return Err(
                    "`container` is not a string; it is the name or id of a container".to_owned(),
                );
            }
        };
        self.runtime()?.inside(name, session_dir).map(Some)
    }
}

/// Whether the server of this extension uses nothing but the session's data, so that a container makes no
/// difference.
fn only_has_data(config: &ExtensionConfig) -> bool {
    let is_shipped = matches!(
        config,
        ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_)
    );
    is_shipped && config.key() == "todo"
}
