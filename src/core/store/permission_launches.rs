//! `permission_launches.yaml`: what ran the tools that the user always allows. `permission.yaml` has their full
//! names only, and no place for more: Goose reads and writes that file, too.

use super::shared_yaml_file::YamlFile;
use super::{Error, Paths, Result, yaml_text};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yaml_serde::Mapping;

/// The section with the origins of tools.
const ALWAYS_ALLOW: &str = "always_allow";
/// How many launches of one tool are kept.
const MAX_LAUNCHES: usize = 16;

/// A tool of an extension, and what the extension launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOrigin {
    /// The key of the extension.
    pub extension: String,
    /// The name of the tool within its extension.
    pub tool: String,
    /// What is launched, see `extension::launch`.
    pub launch: String,
}

/// Whether "always" holds for the tool of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It was given for this origin.
    Holds,
    /// It was not known what it was given for; it holds for this origin from now on.
    HoldsFromNow,
    /// It was given for other origins.
    IsForOthers,
}

/// The file, shared by threads and with other processes.
#[derive(Debug)]
pub(super) struct PermissionLaunches {
    file: YamlFile,
}

impl PermissionLaunches {
    /// The `permission_launches.yaml` of `paths`.
    pub(super) fn new(paths: &Paths) -> Self {
        PermissionLaunches {
            // Arguments may be secret.
            file: YamlFile::secret(paths.config.join("permission_launches.yaml")),
        }
    }

    /// Whether "always" for the full name `name` holds for `origin`. The first origin takes it.
    ///
    /// # Errors
    /// As [`super::Config::edit`].
    pub(super) fn claim(&self, name: &str, origin: &ToolOrigin) -> Result<Claim> {
        let known = claim_of(&self.origins(&*self.file.load()?)?, name, origin);
        if known != Claim::HoldsFromNow {
            return Ok(known);
        }
        self.change(|origins| {
            let claim = claim_of(origins, name, origin);
            if claim == Claim::HoldsFromNow {
                origins.push(origin.clone());
            }
            claim
        })
    }

    /// Lets "always" for the full name `name` hold for `origin`: alone, or besides the others. The oldest of more than
    /// 16 launches of a tool is forgotten.
    ///
    /// # Errors
    /// As [`super::Config::edit`].
    pub(super) fn add(&self, name: &str, origin: &ToolOrigin, alone: bool) -> Result<()> {
        self.change(|origins| {
            origins.retain(|it| it != origin && !(alone && it.has_name(name)));
            let is_same =
                |it: &ToolOrigin| (&it.extension, &it.tool) == (&origin.extension, &origin.tool);
            if origins.iter().filter(|it| is_same(it)).count() >= MAX_LAUNCHES
                && let Some(oldest) = origins.iter().position(is_same)
            {
                origins.remove(oldest);
            }
            origins.push(origin.clone());
        })
    }

    /// Forgets the origins of these full names.
    ///
    /// # Errors
    /// As [`super::Config::edit`].
    pub(super) fn forget(&self, names: &[&str]) -> Result<()> {
        self.change(|origins| origins.retain(|it| !names.iter().any(|name| it.has_name(name))))
    }

    fn change<R>(&self, mut change: impl FnMut(&mut Vec<ToolOrigin>) -> R) -> Result<R> {
        self.file.edit(|root| {
            let before = self.origins(root)?;
            let mut origins = before.clone();
            let result = change(&mut origins);
            if origins != before {
                let origins = crate::json::to_value(&origins).unwrap_or_default();
                root.insert(ALWAYS_ALLOW.into(), yaml_text::from_json(&origins));
                root.insert(super::files::FORMAT.into(), 1.into());
            }
            Ok(result)
        })
    }

    fn origins(&self, root: &Mapping) -> Result<Vec<ToolOrigin>> {
        match root.get(ALWAYS_ALLOW).map(yaml_text::to_json) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(origins) => crate::json::from_value(&origins).map_err(|_| {
                let reason = "`always_allow` is not a list of origins; delete the file to let every answer hold again";
                Error::broken(self.file.path(), reason)
            }),
        }
    }
}

fn claim_of(origins: &[ToolOrigin], name: &str, origin: &ToolOrigin) -> Claim {
    if origins.contains(origin) {
        Claim::Holds
    } else if origins.iter().any(|it| it.has_name(name)) {
        Claim::IsForOthers
    } else {
        Claim::HoldsFromNow
    }
}

impl ToolOrigin {
    /// Whether this is the full name of the tool, see `extension::tool_names`.
    fn has_name(&self, name: &str) -> bool {
        let rest = name
            .strip_prefix(&*self.extension)
            .and_then(|rest| rest.strip_prefix("__"));
        rest == Some(&*self.tool)
    }
}
