//! The files that sessions need.

use crate::agent::prompt::hints::Hints;
use crate::agent::prompt::prompt_templates::Prompts;
use crate::agent::session::export_copy_import::SessionFiles;
use crate::store::{Config, Paths, Permissions, Secrets, Sessions};
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

    /// The stored sessions, for what needs no live agent.
    pub fn session_files(&self) -> SessionFiles<'_> {
        SessionFiles { stores: self }
    }
}
