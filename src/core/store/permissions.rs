//! `permission.yaml`: which tools may run without asking the user, in Goose's format.

use super::permission_launches::{Claim, PermissionLaunches, ToolOrigin};
use super::shared_yaml_file::YamlFile;
use super::{Error, Paths, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use yaml_serde::{Mapping, Value as Yaml};

/// The section with the user's decisions.
const USER: &str = "user";

/// The user's decision about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionLevel {
    /// The tool runs.
    AlwaysAllow,
    /// The tool runs if the user approves the call.
    AskBefore,
    /// The tool does not run.
    NeverAllow,
}

impl PermissionLevel {
    /// Strictest first: the first list that contains a tool counts.
    const ALL: [PermissionLevel; 3] = [
        PermissionLevel::NeverAllow,
        PermissionLevel::AskBefore,
        PermissionLevel::AlwaysAllow,
    ];

    /// The name of its list in the file, and its name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            PermissionLevel::AlwaysAllow => "always_allow",
            PermissionLevel::AskBefore => "ask_before",
            PermissionLevel::NeverAllow => "never_allow",
        }
    }
}

/// One `permission.yaml`, shared by threads and with other processes.
///
/// The file is read again whenever it changes; a rewrite keeps every section and key that it does not change.
#[derive(Debug)]
pub struct Permissions {
    pub(crate) file: YamlFile,
    launches: PermissionLaunches,
}

impl Permissions {
    /// The `permission.yaml` of `paths`.
    pub fn new(paths: &Paths) -> Self {
        Self {
            file: YamlFile::new(paths.config.join("permission.yaml")),
            launches: PermissionLaunches::new(paths),
        }
    }

    /// The path of the file, which may not exist.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The decision about `tool`, named `extension__tool`; the strictest if it is in several lists, `None` if
    /// it is in none.
    ///
    /// # Errors
    /// [`Error::Broken`] when the file does not parse or the section does not consist of lists; the caller must
    /// not treat that as permission. [`Error::Io`] when the file cannot be read.
    pub fn level(&self, tool: &str) -> Result<Option<PermissionLevel>> {
        let root = self.file.load()?;
        let Some(section) = self.section(&root)? else {
            return Ok(None);
        };
        for level in PermissionLevel::ALL {
            if self.list(section, level)?.iter().any(|it| it == tool) {
                return Ok(Some(level));
            }
        }
        Ok(None)
    }

    /// The decisions about all tools, from one read of the file; see [`Permissions::level`].
    ///
    /// # Errors
    /// As [`Permissions::level`].
    pub fn all(&self) -> Result<HashMap<String, PermissionLevel>> {
        let root = self.file.load()?;
        let mut all = HashMap::new();
        let Some(section) = self.section(&root)? else {
            return Ok(all);
        };
        for level in PermissionLevel::ALL {
            let tools = self.list(section, level)?.iter().filter_map(Yaml::as_str);
            for tool in tools {
                all.entry(tool.to_owned()).or_insert(level);
            }
        }
        Ok(all)
    }

    /// The decision about `tool` where `origin` runs it. "Always" for another origin counts as a wish to be
    /// asked; one that has no origin yet, because Goose or a client stored it, gets this one.
    ///
    /// # Errors
    /// As [`Permissions::level`], for both files.
    pub fn level_for(&self, tool: &str, origin: &ToolOrigin) -> Result<Option<PermissionLevel>> {
        let level = self.level(tool)?;
        if level != Some(PermissionLevel::AlwaysAllow) {
            return Ok(level);
        }
        let extension = &origin.extension;
        match self.launches.claim(tool, origin)? {
            Claim::Holds => Ok(level),
            Claim::HoldsFromNow => {
                log::info!(
                    "always allowed from now on as it is launched now tool={tool:?} extension={extension:?}"
                );
                Ok(level)
            }
            Claim::IsForOthers => {
                log::warn!(
                    "asking again, because always was for another tool or launch tool={tool:?} extension={extension:?}"
                );
                Ok(Some(PermissionLevel::AskBefore))
            }
        }
    }

    /// Stores the decision about `tool`, which `origin` runs. "Always" does not come back for what it was answered for
    /// before another decision.
    ///
    /// # Errors
    /// As [`super::Config::edit`]; `permission.yaml` is unchanged then.
    pub fn set(&self, tool: &str, to: PermissionLevel, origin: Option<&ToolOrigin>) -> Result<()> {
        if to != PermissionLevel::AlwaysAllow {
            return self.set_all(&[(tool, to)]);
        }
        if let Some(origin) = origin {
            // It may have been revoked in the file.
            let is_revoked = self.level(tool)? != Some(to);
            self.launches.add(tool, origin, is_revoked)?;
        }
        self.store(&[(tool, to)])
    }

    /// Stores decisions about several tools, whatever runs them.
    ///
    /// # Errors
    /// As [`super::Config::edit`]; the user may be asked again then.
    pub fn set_all(&self, decisions: &[(&str, PermissionLevel)]) -> Result<()> {
        self.store(decisions)?;
        let tools: Vec<&str> = decisions.iter().map(|(tool, _)| *tool).collect();
        self.launches.forget(&tools)
    }

    /// Stores decisions with one rewrite.
    fn store(&self, decisions: &[(&str, PermissionLevel)]) -> Result<()> {
        if decisions.is_empty() {
            return Ok(());
        }
        self.file.edit(|root| {
            let section = root.entry(USER.into()).or_insert(Yaml::Null);
            if section.is_null() {
                *section = Mapping::new().into();
            }
            let Yaml::Mapping(section) = section else {
                return Err(self.invalid(USER));
            };
            for (tool, wanted) in decisions {
                self.decide(section, tool, *wanted)?;
            }
            Ok(())
        })
    }

    /// Writes all three lists, also empty ones: Goose does not read a section that lacks one.
    fn decide(&self, section: &mut Mapping, tool: &str, wanted: PermissionLevel) -> Result<()> {
        for level in PermissionLevel::ALL.into_iter().rev() {
            let before = self.list(section, level)?;
            let mut after: Vec<Yaml> = before.iter().filter(|it| *it != tool).cloned().collect();
            if level == wanted {
                if before.iter().any(|it| it == tool) {
                    after = before.to_vec()
                } else {
                    after.push(tool.into())
                }
            }
            section.insert(level.as_str().into(), Yaml::Sequence(after));
        }
        Ok(())
    }

    fn section<'a>(&self, root: &'a Mapping) -> Result<Option<&'a Mapping>> {
        match root.get(USER) {
            None | Some(Yaml::Null) => Ok(None),
            Some(Yaml::Mapping(section)) => Ok(Some(section)),
            Some(_) => Err(self.invalid(USER)),
        }
    }

    fn list<'a>(&self, section: &'a Mapping, level: PermissionLevel) -> Result<&'a [Yaml]> {
        match section.get(level.as_str()) {
            None | Some(Yaml::Null) => Ok(&[]),
            Some(Yaml::Sequence(tools)) => Ok(tools),
            Some(_) => Err(self.invalid(level.as_str())),
        }
    }

    fn invalid(&self, what: &str) -> Error {
        let expected = match what {
            USER => "a mapping of levels to lists of tools",
            _ => "a list of tools",
        };
        Error::broken(self.path(), format!("`{what}` is not {expected}"))
    }
}

#[cfg(test)]
mod tests;
