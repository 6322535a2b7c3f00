//! Walls around the processes of extensions. A part builds them; a build without it starts nothing that shall have
//! some.

use super::ExtensionConfig;
use crate::features;
use crate::store::{Config, Paths};
use crate::sys::process::{Command, Confinement};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Creates the sandbox of a part, with the settings of the user and the least level of a session.
pub type CreateSandbox = fn(&Config, &Paths, Level) -> Arc<dyn Sandbox>;

/// How much walls keep out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// There are no walls.
    #[default]
    Off,
    /// It writes in the working directory only, and reads no keys.
    Workspace,
    /// It reads the system and the working directory only, and has the network that is named.
    Strict,
}

/// Where the program of an extension runs.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The session's working directory.
    pub working_dir: &'a Path,
    /// The folder in which the program starts, if it is another one.
    pub folder: &'a Path,
    /// The program.
    pub program: &'a Path,
    /// Arguments that may be files which it must read.
    pub files: &'a [String],
}

/// Walls that are ready for one program.
pub struct Walls {
    /// How much they keep out.
    pub level: Level,
    /// What builds them around a child.
    pub confinement: Arc<dyn Confinement>,
    /// The variables of the program, for the folders that it has inside.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// What must exist as long as the program runs.
    pub folder: Box<dyn Any + Send>,
}

impl Walls {
    /// Puts a command behind them.
    pub fn confine(&self, command: &mut Command) {
        let variables = self.variables.iter();
        command
            .confined(self.confinement.clone())
            .envs(variables.map(|(name, path)| (name, path)));
    }
}

/// Builds walls, with the settings that it was created with.
pub trait Sandbox: Send + Sync {
    /// How much the walls of an extension keep out.
    ///
    /// # Errors
    /// Its configuration or a setting is invalid, or the policy forbids it.
    fn level(&self, config: &ExtensionConfig) -> Result<Level, String>;

    /// The walls for a program of this extension, `None` if it gets none.
    ///
    /// # Errors
    /// As [`level`](Self::level); or the kernel or the folders do not allow for such walls.
    fn walls(&self, config: &ExtensionConfig, place: Place<'_>) -> Result<Option<Walls>, String>;

    /// The command line that serves a builtin extension.
    ///
    /// # Errors
    /// This program has none.
    fn builtin(&self, name: &str) -> Result<(String, Vec<String>), String>;
}

/// The walls of this program. The default has none.
#[derive(Clone, Default)]
pub struct Sandboxing {
    pub(super) sandbox: Option<Arc<dyn Sandbox>>,
    /// A setting or the policy wants walls, and the build has none.
    pub(super) is_missing: bool,
}

impl Sandboxing {
    /// What builds walls around this extension, if it is to have some.
    ///
    /// # Errors
    /// As [`Sandbox::level`], or the build leaves sandboxes out.
    pub fn around(&self, config: &ExtensionConfig) -> Result<Option<&dyn Sandbox>, String> {
        let sandbox = self.sandbox.as_deref();
        let is_wanted = match sandbox {
            Some(sandbox) => sandbox.level(config)? != Level::Off,
            None => self.is_missing || config.sandbox().is_some(),
        };
        if is_wanted && sandbox.is_none() {
            let hint = features::hint("sandbox");
            return Err(format!("it cannot run in a sandbox, which is wanted{hint}"));
        }
        Ok(sandbox.filter(|_| is_wanted))
    }
}
