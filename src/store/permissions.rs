//! `permission.yaml`: which tools may run without asking the user, in Goose's format.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use yaml_serde::{Mapping, Value as Yaml};

use super::yaml_file::YamlFile;
use super::{Error, Paths, Result};

/// The section with the user's decisions.
const USER: &str = "user";

/// The user's decision about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    file: YamlFile,
}

impl Permissions {
    /// The `permission.yaml` of `paths`.
    pub fn new(paths: &Paths) -> Self {
        Self {
            file: YamlFile::new(paths.config.join("permission.yaml")),
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

    /// Stores the decision about `tool`.
    ///
    /// # Errors
    /// As [`Permissions::set_all`].
    pub fn set(&self, tool: &str, level: PermissionLevel) -> Result<()> {
        self.set_all(&[(tool, level)])
    }

    /// Stores decisions about several tools with one rewrite.
    ///
    /// # Errors
    /// As [`super::Config::edit`]; the file is unchanged then.
    pub fn set_all(&self, decisions: &[(&str, PermissionLevel)]) -> Result<()> {
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
        for level in [
            PermissionLevel::AlwaysAllow,
            PermissionLevel::AskBefore,
            PermissionLevel::NeverAllow,
        ] {
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
mod tests {
    use super::*;
    use std::fs;

    struct Place(std::path::PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let name = format!("gosling-permissions-{name}-{}", std::process::id());
            let place = Place(std::env::temp_dir().join(name));
            fs::create_dir_all(place.0.join("config")).unwrap();
            place
        }

        fn says(&self, text: &str) {
            fs::write(self.0.join("config/permission.yaml"), text).unwrap();
        }

        fn permissions(&self) -> Permissions {
            Permissions::new(&Paths::under(&self.0))
        }

        fn text(&self) -> String {
            fs::read_to_string(self.0.join("config/permission.yaml")).unwrap()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_decision_stands_until_the_next_one() {
        let place = Place::new("decision");
        let permissions = place.permissions();
        assert_eq!(permissions.level("a__b").unwrap(), None);
        for level in [
            PermissionLevel::AskBefore,
            PermissionLevel::AlwaysAllow,
            PermissionLevel::NeverAllow,
        ] {
            permissions.set("a__b", level).unwrap();
            assert_eq!(permissions.level("a__b").unwrap(), Some(level));
            assert_eq!(place.text().matches("a__b").count(), 1, "{}", place.text());
        }
        assert_eq!(permissions.level("a__c").unwrap(), None);
        assert_eq!(
            place.text(),
            "user:\n  always_allow: []\n  ask_before: []\n  never_allow:\n  - a__b\n"
        );
    }

    #[test]
    fn what_others_wrote_stays() {
        let place = Place::new("others");
        place.says(
            "smart_approve:\n  always_allow: [x__y]\nuser:\n  note: mine\n  always_allow: [k__l, a__b, 7]\nlater: 1\n",
        );
        let permissions = place.permissions();
        assert_eq!(permissions.level("x__y").unwrap(), None);
        permissions
            .set("a__b", PermissionLevel::NeverAllow)
            .unwrap();
        assert_eq!(
            place.text(),
            "smart_approve:\n  always_allow:\n  - x__y\nuser:\n  note: mine\n  always_allow:\n  - k__l\n  - 7\n  \
             ask_before: []\n  never_allow:\n  - a__b\nlater: 1\n"
        );
    }

    #[test]
    fn the_strictest_of_several_counts() {
        let place = Place::new("strictest");
        place.says("user:\n  always_allow: [a, b]\n  ask_before: [a, b]\n  never_allow: [a]\n");
        let permissions = place.permissions();
        assert_eq!(
            permissions.level("a").unwrap(),
            Some(PermissionLevel::NeverAllow)
        );
        assert_eq!(
            permissions.level("b").unwrap(),
            Some(PermissionLevel::AskBefore)
        );
        let all = permissions.all().unwrap();
        assert_eq!(
            (all["a"], all["b"]),
            (PermissionLevel::NeverAllow, PermissionLevel::AskBefore)
        );
    }

    #[test]
    fn a_file_that_makes_no_sense_allows_nothing_and_stays() {
        let place = Place::new("odd");
        for odd in [
            "user: [a]\n",
            "user:\n  always_allow: a\n",
            "user: {",
            "- a\n",
        ] {
            place.says(odd);
            let permissions = place.permissions();
            assert!(permissions.level("a").is_err(), "{odd}");
            assert!(permissions.all().is_err(), "{odd}");
            assert!(
                permissions.set("a", PermissionLevel::AlwaysAllow).is_err(),
                "{odd}"
            );
            assert_eq!(place.text(), odd);
        }
    }
}
