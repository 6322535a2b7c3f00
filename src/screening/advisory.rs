//! Advisories in the format of OSV (schema 1): which packages they call malware.

use crate::packages::{Ecosystem, MAX_NAME, normalized_pypi};
use crate::versions;
use serde_json::Value;

/// The largest file with advisories, in bytes.
pub const MAX_FILE: u64 = 8 << 20;

/// How many packages of one advisory are read.
const MAX_AFFECTED: usize = 1_000;

/// How many versions and ranges of one package are read. All versions count as affected if there are more.
const MAX_VERSIONS: usize = 20_000;

/// The longest id of an advisory, in bytes.
const MAX_ID: usize = 64;

/// The longest version, in bytes.
const MAX_VERSION: usize = 100;

/// A package that an advisory calls malware.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Malware {
    /// The name of the ecosystem in advisories.
    pub ecosystem: &'static str,
    /// The name, as the registry compares names.
    pub name: String,
    /// The id of the advisory: `MAL-` and more.
    pub id: String,
    /// The versions, see [`versions`].
    pub versions: String,
}

/// What an advisory is about.
#[derive(Debug, PartialEq)]
pub enum Advisory {
    /// Malware.
    Malware {
        /// The id.
        id: String,
        /// The packages of known ecosystems.
        packages: Vec<Malware>,
    },
    /// Malware, but the advisory was withdrawn.
    Withdrawn,
    /// A vulnerability or something else.
    Other,
}

/// The advisories in the text of a file: one, an array of them, or the response of an OSV server.
///
/// # Errors
/// The text is not JSON, or not of this form.
pub fn read_all(text: &[u8]) -> Result<Vec<Advisory>, String> {
    let value: Value = crate::json::from_slice(text).map_err(|error| error.to_string())?;
    read(&value)
}

/// As [`read_all`], of the value.
///
/// # Errors
/// The value is not of this form.
pub fn read(value: &Value) -> Result<Vec<Advisory>, String> {
    let list = match value {
        Value::Array(list) => list.as_slice(),
        Value::Object(object) => match object.get("vulns") {
            Some(Value::Array(list)) => list.as_slice(),
            Some(_) => return Err("`vulns` is not an array".to_owned()),
            // An OSV server answers `{}` if it knows no advisory.
            None if object.is_empty() => &[],
            None => std::slice::from_ref(value),
        },
        _ => return Err("it is not an advisory".to_owned()),
    };
    list.iter().map(read_one).collect()
}

fn read_one(advisory: &Value) -> Result<Advisory, String> {
    let id = advisory["id"].as_str().unwrap_or_default();
    if id.is_empty() {
        return Err("an advisory has no `id`".to_owned());
    }
    if !id.starts_with("MAL-") {
        return Ok(Advisory::Other);
    }
    let is_id = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    if id.len() > MAX_ID || !id.bytes().all(is_id) {
        return Err("the `id` of an advisory has other characters than letters, digits and `-`, or is too long".to_owned());
    }
    if advisory.get("withdrawn").is_some_and(|at| !at.is_null()) {
        return Ok(Advisory::Withdrawn);
    }
    let affected = match advisory.get("affected") {
        Some(Value::Array(affected)) => affected.as_slice(),
        None | Some(Value::Null) => &[],
        Some(_) => return Err(format!("`affected` of {id} is not an array")),
    };
    if affected.len() > MAX_AFFECTED {
        return Err(format!("{id} has more than {MAX_AFFECTED} packages"));
    }
    let named = affected.iter().filter_map(|affected| {
        let (ecosystem, name) = package(&affected["package"])?;
        Some(Malware {
            ecosystem: ecosystem.name(),
            name,
            id: id.to_owned(),
            versions: affected_versions(affected),
        })
    });
    Ok(Advisory::Malware {
        packages: named.collect(),
        id: id.to_owned(),
    })
}

fn package(package: &Value) -> Option<(Ecosystem, String)> {
    let ecosystem = Ecosystem::named(package["ecosystem"].as_str()?)?;
    let name = package["name"].as_str()?;
    let is_name = |b: u8| b.is_ascii_graphic();
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_name) {
        return None;
    }
    let name = match ecosystem {
        Ecosystem::PyPi => normalized_pypi(name),
        Ecosystem::Npm | Ecosystem::Docker => name.to_ascii_lowercase(),
    };
    Some((ecosystem, name))
}

/// The versions of a package that are malware. Where that is unclear, all are.
fn affected_versions(affected: &Value) -> String {
    let mut items = Vec::new();
    let list = affected["versions"].as_array();
    let listed = list.into_iter().flatten().filter_map(Value::as_str);
    items.extend(listed.filter(|v| is_version(v)).map(str::to_owned));
    for range in affected["ranges"].as_array().into_iter().flatten() {
        if matches!(range["type"].as_str(), Some("SEMVER" | "ECOSYSTEM")) {
            read_range(range, &mut items);
        }
    }
    let has_all = items.iter().any(|item| item == versions::ALL);
    if items.is_empty() || has_all || items.len() > MAX_VERSIONS {
        return versions::ALL.to_owned();
    }
    items.dedup();
    items.join(" ")
}

/// Adds the spans of a range, whose events say where they begin and end.
fn read_range(range: &Value, items: &mut Vec<String>) {
    let mut from: Option<&str> = None;
    for event in range["events"].as_array().into_iter().flatten() {
        let version = |name| event.get(name).and_then(Value::as_str);
        if let Some(introduced) = version("introduced") {
            if let Some(from) = from.replace(introduced) {
                items.push(versions::span(from, "", ""));
            }
            continue;
        }
        let (with_end, until) = match (version("fixed"), version("last_affected")) {
            (Some(fixed), _) => ("", fixed),
            (None, Some(last)) => ("=", last),
            (None, None) => continue,
        };
        if let Some(from) = from.take() {
            let has_bounds = is_version(from) && is_version(until);
            items.push(if has_bounds {
                versions::span(from, with_end, until)
            } else {
                versions::ALL.to_owned()
            });
        }
    }
    match from {
        Some(from) if is_version(from) => items.push(versions::span(from, "", "")),
        Some(_) => items.push(versions::ALL.to_owned()),
        None => {}
    }
}

/// Whether this can be written as a version of an item.
fn is_version(text: &str) -> bool {
    (1..=MAX_VERSION).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_graphic() && b != b'*')
        && !text.contains("..")
}

#[cfg(test)]
mod tests;
