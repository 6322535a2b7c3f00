//! How much the walls of an extension shall keep out, as its entry says it: a level, or a mapping with a level and
//! exceptions. What is not understood is refused.

use gosling_core::extension::sandbox::Level;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// The most exceptions of one kind.
const MAX_EXCEPTIONS: usize = 100;

/// The walls of one extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) level: Level,
    /// Further files and folders that it may read.
    pub(crate) read: Vec<PathBuf>,
    /// Further ones that it may change.
    pub(crate) write: Vec<PathBuf>,
    /// The ports of TCP that it may connect to, if the walls are strict.
    pub(crate) ports: Vec<u16>,
    /// Whether it may use UDP, if they are strict.
    pub(crate) udp: bool,
}

impl Wanted {
    pub(crate) fn of(level: Level) -> Self {
        Wanted {
            level,
            ..Wanted::default()
        }
    }

    /// Reads the field `sandbox` of an entry: `off`, `workspace` or `strict`; or a mapping with that as `level`, and
    /// `read`, `write` (lists of absolute paths, or from `~/`) and `network` (ports of TCP, and `udp`).
    ///
    /// # Errors
    /// What is not understood.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else {
            return Ok(Wanted::of(level(value)?));
        };
        let mut wanted = Wanted::of(level(members.get("level").unwrap_or(&Value::Null))?);
        for (name, value) in members {
            match name.as_str() {
                "level" => {}
                "read" => wanted.read = paths(name, value)?,
                "write" => wanted.write = paths(name, value)?,
                "network" => {
                    for item in list(name, value)? {
                        match (item.as_str(), item.as_u64().map(u16::try_from)) {
                            (Some("udp"), _) => wanted.udp = true,
                            (_, Some(Ok(port))) if port != 0 => wanted.ports.push(port),
                            _ => {
                                return Err(format!(
                                    "`sandbox.network` has {item}; it takes ports of TCP and `udp`, because the \
                                     kernel tells ports apart, not hosts"
                                ));
                            }
                        }
                    }
                }
                _ => {
                    return Err(format!(
                        "`sandbox` has {name:?}, which is unknown; it takes level, read, write, network"
                    ));
                }
            }
        }
        if wanted.level != Level::Strict && (wanted.udp || !wanted.ports.is_empty()) {
            return Err(
                "`sandbox.network` goes with the level `strict`; the others keep the network open"
                    .to_owned(),
            );
        }
        Ok(wanted)
    }

    /// Whether it has more than its level gives.
    pub(crate) fn has_exceptions(&self) -> bool {
        self.udp || !(self.read.is_empty() && self.write.is_empty() && self.ports.is_empty())
    }
}

fn level(value: &Value) -> Result<Level, String> {
    match value.as_str() {
        Some("off") => Ok(Level::Off),
        Some("workspace") => Ok(Level::Workspace),
        Some("strict") => Ok(Level::Strict),
        _ => Err("`sandbox` is none of `off`, `workspace` and `strict`, and no mapping with one of them as `level`"
            .to_owned()),
    }
}

fn list<'a>(name: &str, value: &'a Value) -> Result<&'a [Value], String> {
    match value {
        Value::Array(items) if items.len() <= MAX_EXCEPTIONS => Ok(items),
        Value::Array(_) => Err(format!(
            "`sandbox.{name}` has more than {MAX_EXCEPTIONS} items"
        )),
        _ => Err(format!("`sandbox.{name}` is not a list")),
    }
}

fn paths(name: &str, value: &Value) -> Result<Vec<PathBuf>, String> {
    let path = |item: &Value| {
        let text = item.as_str()?;
        let path = match text.strip_prefix("~/") {
            Some(rest) => std::env::home_dir()?.join(rest),
            None => PathBuf::from(text),
        };
        is_plain(&path).then_some(path)
    };
    let read = |item| {
        path(item).ok_or_else(|| {
            format!(
                "`sandbox.{name}` has {item}; it takes absolute paths, or from `~/`, without `..`"
            )
        })
    };
    list(name, value)?.iter().map(read).collect()
}

fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests;
