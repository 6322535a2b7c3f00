//! The files that sessions need.

use crate::activity::{Activity, Caller, Entry, Recorder};
use crate::agent::prompt::hints::Hints;
use crate::agent::prompt::prompt_templates::Prompts;
use crate::agent::session::export_copy_import::SessionFiles;
use crate::agent::{Error, Mode};
use crate::store::{self, Config, Paths, Permissions, Secrets, Sessions, settings};
use crate::{features, part};
use serde_json::Value;
use std::sync::Arc;

/// Stands for the recorder that the user requires and this build does not have.
#[derive(Debug)]
struct NoRecorder;

impl Recorder for NoRecorder {
    fn record(&self, _: &Caller, _: &Entry<'_>) -> Result<Option<u64>, String> {
        let hint = features::hint("audit");
        Err(format!(
            "GOOSE_AUDIT is `required`, and there is no audit log{hint}"
        ))
    }

    fn is_required(&self) -> bool {
        true
    }
}

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
    /// The record of what is done with them.
    pub activity: Activity,
}

impl Stores {
    /// The files in the folders of `paths`. Nothing is read or created yet.
    pub fn new(paths: &Paths) -> Self {
        let config = Config::new(paths);
        let parts = part::all().iter();
        let created = parts.filter_map(|part| part.recorder?(&config, paths));
        let mut recorders: Vec<_> = created.collect();
        let has_log = part::all().iter().any(|part| part.feature == "audit");
        let is_given = matches!(config.get(settings::AUDIT.name), Ok(Some(_)));
        if !has_log && is_given && settings::AUDIT.word(&config) == "required" {
            recorders.push(Arc::new(NoRecorder));
        }
        let activity = Activity::new(recorders, part::policy());
        let (secrets, permissions) = (Secrets::new(paths), Permissions::new(paths));
        for file in [&*config.file, &secrets.file, &permissions.file] {
            file.record(&activity);
        }
        Stores {
            paths: Arc::new(paths.clone()),
            config,
            secrets: Arc::new(secrets),
            sessions: Arc::new(Sessions::new(paths)),
            permissions,
            hints: Hints::new(&paths.config),
            prompts: Prompts::new(&paths.config),
            activity,
        }
    }

    /// The least strict mode that sessions may have.
    pub(in crate::agent) fn least_mode(&self) -> Mode {
        let policy = self.activity.policy();
        policy.map_or(Mode::Auto, |policy| Mode::named(policy.least_mode()))
    }

    /// Records what becomes of a session.
    ///
    /// # Errors
    /// Why it must not happen.
    pub(in crate::agent) fn record_session(&self, id: &str, outcome: &str) -> Result<(), Error> {
        self.activity.record(&Entry {
            outcome,
            ..Entry::new("session", id)
        })?;
        Ok(())
    }

    /// Stores a setting, with the secrets if it is one.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn set(&self, key: &str, value: &Value, is_secret: bool) -> store::Result<()> {
        if is_secret {
            self.secrets.set(key, value)
        } else {
            self.config.upsert(key, value)
        }
    }

    /// Removes a setting; whether there was one.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn remove(&self, key: &str, is_secret: bool) -> store::Result<bool> {
        if is_secret {
            self.secrets.remove(key)
        } else {
            self.config.remove(key)
        }
    }

    /// The stored sessions, for what needs no live agent.
    pub fn session_files(&self) -> SessionFiles<'_> {
        SessionFiles { stores: self }
    }
}
