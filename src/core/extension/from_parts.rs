//! What the parts of this program have for extensions, with the settings of the user.

use super::container::Containers;
use super::inline_python::PythonRunner;
use super::pinning_check::Pinning;
use super::sandbox::{Level, Sandboxing};
use super::screening_check::{Screening, is_wanted};
use crate::part;
use crate::store::{Config, Paths, settings};
use std::sync::Arc;

impl Containers {
    /// The container of a session, and what runs extensions there, if the program has it.
    pub fn read(session: Option<String>, config: &Config) -> Self {
        let create = part::all().iter().find_map(|part| part.containers);
        let runtime = create.map(|create| create(config));
        Containers { session, runtime }
    }
}

impl Pinning {
    /// The pinning, if the program has it.
    pub fn read(config: &Config, paths: &Paths) -> Self {
        let create = part::all().iter().find_map(|part| part.pinner);
        let is_wanted = || settings::TOOL_PINNING.word(config) == "strict";
        Pinning {
            is_missing: create.is_none() && is_wanted(),
            pinner: create.map(|create| create(config, paths)),
        }
    }
}

impl Sandboxing {
    /// The walls, if the program has them, of a session whose extensions have at least this level.
    pub fn read(config: &Config, paths: &Paths, session: Level) -> Self {
        let create = part::all().iter().find_map(|part| part.sandbox);
        let is_wanted = || {
            let policy = part::policy();
            session != Level::Off
                || !matches!(settings::EXTENSION_SANDBOX.word(config), "" | "off")
                || policy.is_some_and(|policy| policy.least_sandbox().0 != Level::Off)
        };
        Sandboxing {
            is_missing: create.is_none() && is_wanted(),
            sandbox: create.map(|create| create(config, paths, session)),
        }
    }
}

impl Screening {
    /// The screening, if the program has it.
    pub fn read(config: &Config, paths: &Paths, offline: bool) -> Self {
        let create = part::all().iter().find_map(|part| part.screener);
        Screening {
            is_missing: create.is_none() && is_wanted(config),
            screener: create.map(|create| create(config, paths, offline)),
        }
    }
}

/// What runs inline Python, if the program has it.
pub fn python_runner(config: &Config) -> Option<Arc<dyn PythonRunner>> {
    let create = part::all().iter().find_map(|part| part.inline_python);
    create.map(|create| create(config))
}
