//! The files that sessions need.

use crate::agent::prompt::hints::Hints;
use crate::agent::prompt::prompt_templates::Prompts;
use crate::agent::session::export_copy_import::SessionFiles;
use crate::store::{self, Config, Paths, Permissions, Secrets, Sessions};
use serde_json::Value;
use std::sync::Arc;

/// The files that sessions need.
pub struct Stores {
    /// Their paths.
    pub paths: Arc<Paths>,
    /// Settings and the configured extensions.
    pub config: Config,
    /// Secrets, which the `env_keys` of extensions name.
    pub secrets: Arc<Secrets>,
    /// The sessions.
    pub sessions: Arc<Sessions>,
    /// The permissions of tools.
    pub permissions: Permissions,
    /// Hint files of projects and of the user.
    pub hints: Hints,
    /// The prompts that the user has changed.
    pub prompts: Prompts,
}

impl Stores {
    /// The files in the folders of `paths`. Nothing is read or created yet.
    pub fn new(paths: &Paths) -> Self {
        Stores {
            paths: Arc::new(paths.clone()),
            config: Config::new(paths),
            secrets: Arc::new(Secrets::new(paths)),
            sessions: Arc::new(Sessions::new(paths)),
            permissions: Permissions::new(paths),
            hints: Hints::new(&paths.config),
            prompts: Prompts::new(&paths.config),
        }
    }

    /// Stores a setting, with the secrets if it is one.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn set(&self, key: &str, value: &Value, is_secret: bool) -> store::Result<()> {
        match is_secret {
            true => self.secrets.set(key, value),
            false => self.config.upsert(key, value),
        }
    }

    /// Removes a setting; whether there was one.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn remove(&self, key: &str, is_secret: bool) -> store::Result<bool> {
        match is_secret {
            true => self.secrets.remove(key),
            false => self.config.remove(key),
        }
    }

    /// The stored sessions, for what needs no live agent.
    pub fn session_files(&self) -> SessionFiles<'_> {
        SessionFiles { stores: self }
    }
}
