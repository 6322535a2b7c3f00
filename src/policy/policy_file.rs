//! The text of a policy. Whatever in it is not understood makes the whole file unusable.

use crate::argument_patterns::ArgumentPatterns;
use crate::extension::config;
use crate::extension::sandbox::Level;
use crate::patterns::{CommandPattern, Patterns};
use crate::store::{parse_yaml, yaml_has_anchors};
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use std::fmt;
use std::path::{Path, PathBuf};

/// The largest file, in bytes.
pub(crate) const MAX_SIZE: u64 = 256 << 10;
/// The most rules of one list.
const MAX_RULES: usize = 1_000;

/// What a rule decides about the call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Decision {
    Allow,
    Ask,
    Deny,
}

/// What a rule decides where no user can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Permission {
    #[default]
    Allow,
    Deny,
}

/// The least strict mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeastMode {
    #[default]
    Auto,
    SmartApprove,
    Approve,
    Chat,
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyFile {
    /// What becomes of calls for which no rule is.
    pub(crate) default: Decision,
    #[serde(default)]
    pub(crate) rules: Vec<Rule>,
    #[serde(default)]
    pub(crate) least_mode: LeastMode,
    pub(crate) extensions: Option<ExtensionRules>,
    pub(crate) models: Option<ModelRules>,
    #[serde(default)]
    pub(crate) clients: Clients,
    #[serde(default)]
    pub(crate) quotas: Vec<Quota>,
    #[serde(default)]
    pub(crate) offline: bool,
    #[serde(default)]
    pub(crate) sandbox: SandboxRule,
}

/// Declares the rule of a list: what it decides and why, who asks, and what else must fit.
macro_rules! rule {
    ($(#[$about:meta])* $Rule:ident($Decision:ident) { $($(#[$meaning:meta])* $field:ident: $of:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $Rule {
            pub(crate) decision: $Decision,
            pub(crate) reason: Option<String>,
            /// The names of clients' keys.
            pub(crate) key: Option<Patterns>,
            /// `http`, `acp`, `schedule`, or the name of a command.
            pub(crate) front: Option<Patterns>,
            $($(#[$meaning])* pub(crate) $field: Option<$of>,)*
        }

        impl $Rule {
            /// Whether the rule is about this key and front.
            pub(crate) fn is_about(&self, key: &str, front: &str) -> bool {
                self.key.as_ref().is_none_or(|it| it.fit(key))
                    && self.front.as_ref().is_none_or(|it| it.fit(front))
            }
        }
    };
}

rule! {
    /// A rule about the calls of tools.
    Rule(Decision) {
        extension: ExtensionKeys,
        tool: Patterns,
        arguments: ArgumentPatterns,
        /// The session works in one of these folders or below.
        directory: Folders,
    }
}

rule! {
    /// A rule about the start of extensions.
    ExtensionRule(Permission) {
        name: ExtensionKeys,
        r#type: Patterns,
        command: CommandPattern,
        host: Patterns,
        /// `npm:NAME@VERSION`, `pypi:NAME@VERSION`.
        package: Patterns,
        /// The image of a container, as the command line names it.
        image: Patterns,
    }
}

rule! {
    /// A rule about models.
    ModelRule(Permission) {
        provider: Patterns,
        model: Patterns,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtensionRules {
    pub(crate) default: Permission,
    #[serde(default)]
    pub(crate) rules: Vec<ExtensionRule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelRules {
    pub(crate) default: Permission,
    #[serde(default)]
    pub(crate) rules: Vec<ModelRule>,
}

/// What clients of a server and editors may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Clients {
    /// Change settings, secrets and permissions.
    pub(crate) configuration: Permission,
    /// Use extensions that are not configured, and configure some.
    pub(crate) extensions: Permission,
    /// Import sessions.
    pub(crate) import: Permission,
}

/// The walls around extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxRule {
    pub(crate) least: Level,
    /// Whether entries of extensions may open more.
    #[serde(default = "denied")]
    pub(crate) exceptions: Permission,
}

fn denied() -> Permission {
    Permission::Deny
}

/// What a key may do at most.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quota {
    pub(crate) key: Patterns,
    pub(crate) sessions_per_day: Option<u64>,
    pub(crate) turns_at_once: Option<u64>,
    pub(crate) calls_per_day: Option<u64>,
    /// Input and output of models together.
    pub(crate) tokens_per_day: Option<u64>,
}

/// Patterns of the keys of extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtensionKeys(pub(crate) Patterns);

impl<'de> Deserialize<'de> for ExtensionKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let check = |pattern: &str| {
            let parts: Vec<String> = pattern.split('*').map(config::key).collect();
            let key = parts.join("*");
            if key == pattern {
                Ok(())
            } else {
                Err(format!(
                    "{pattern:?} is not the key of an extension; write it as {key:?}"
                ))
            }
        };
        Patterns::read(deserializer, check).map(ExtensionKeys)
    }
}

/// Folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folders(pub(crate) Vec<PathBuf>);

impl<'de> Deserialize<'de> for Folders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let check = |text: &str| {
            let mut parts = text.split(std::path::is_separator);
            let is_plain = !text.contains('*') && parts.all(|part| part != "..");
            if is_plain && Path::new(text).is_absolute() {
                Ok(())
            } else {
                Err("a directory is an absolute path without `*` and `..`; it stands for all below it, too".to_owned())
            }
        };
        let given = Patterns::read(deserializer, check)?;
        Ok(Folders(given.iter().map(PathBuf::from).collect()))
    }
}

/// A list of rules, by the names of the members that lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Calls,
    Extensions,
    Models,
}

impl List {
    fn path(self) -> &'static [&'static str] {
        match self {
            List::Calls => &["rules"],
            List::Extensions => &["extensions", "rules"],
            List::Models => &["models", "rules"],
        }
    }
}

/// Why a text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Line and column, from 1.
    pub(crate) place: (usize, usize),
    pub(crate) reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((line, column), reason) = (self.place, &self.reason);
        write!(f, "line {line}, column {column}: {reason}")
    }
}

fn fault(place: (usize, usize), reason: impl Into<String>) -> Fault {
    let place = (place.0.max(1), place.1.max(1));
    let reason = reason.into();
    Fault { place, reason }
}

/// Reads a policy.
///
/// # Errors
/// Where and why it is not one.
pub(crate) fn read(text: &[u8]) -> Result<PolicyFile, Fault> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    // Has the limits, and finds what appears twice.
    parse_yaml(text).map_err(|flaw| fault(flaw.place, flaw.reason))?;
    if yaml_has_anchors(text) {
        return Err(fault(
            (1, 1),
            "a policy has no anchors (`&name`); write the rule out",
        ));
    }
    let policy: PolicyFile = yaml_serde::from_slice(text).map_err(|error| fault_of(&error))?;
    let counts = [
        policy.rules.len(),
        policy.extensions.as_ref().map_or(0, |it| it.rules.len()),
        policy.models.as_ref().map_or(0, |it| it.rules.len()),
        policy.quotas.len(),
    ];
    if counts.iter().any(|count| *count > MAX_RULES) {
        return Err(fault(
            (1, 1),
            format!("a list has more than {MAX_RULES} rules"),
        ));
    }
    Ok(policy)
}

fn fault_of(error: &yaml_serde::Error) -> Fault {
    let place = error.location().map(|at| (at.line(), at.column()));
    let (line, column) = place.unwrap_or_default();
    let in_text = format!(" at line {line} column {column}");
    fault((line, column), error.to_string().replacen(&in_text, "", 1))
}

/// The line of a rule, from 1, in the text of a policy.
pub(crate) fn line_of(text: &[u8], list: List, index: usize) -> Option<usize> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let place = Place {
        path: list.path(),
        index,
    };
    let stopped = place.deserialize(yaml_serde::Deserializer::from_slice(text));
    let error = stopped
        .err()
        .filter(|error| error.to_string().contains(HERE))?;
    error.location().map(|at| at.line())
}

/// The reason of the error with which the search for a rule stops: errors know their place, and values do not.
const HERE: &str = "the rule is here";

#[derive(Clone, Copy)]
struct Place {
    path: &'static [&'static str],
    index: usize,
}

impl<'de> DeserializeSeed<'de> for Place {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rules")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((first, path)) = self.path.split_first() else {
            return Err(A::Error::custom("a list is missing"));
        };
        while let Some(name) = entries.next_key::<String>()? {
            if name == *first {
                entries.next_value_seed(Place { path, ..self })?
            } else {
                entries.next_value::<IgnoredAny>().map(drop)?
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for _ in 0..self.index {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element::<Stop>().map(drop)
    }
}

struct Stop;

impl<'de> Deserialize<'de> for Stop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StopVisitor).map(|()| Stop)
    }
}

struct StopVisitor;

impl<'de> Visitor<'de> for StopVisitor {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rule")
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(A::Error::custom(HERE))
    }
}

#[cfg(test)]
mod tests;
