//! Affected versions as text: `*` for all, or items separated by spaces: `1.2.3`, `FROM..UNTIL` without
//! `UNTIL`, `FROM..=UNTIL` with it, or `FROM..` without an end. `0` is before all versions.

use crate::packages::{Ecosystem, Version};
use crate::version_order::{NpmVersion, PythonVersion};
use std::cmp::Ordering;

/// All versions.
pub const ALL: &str = "*";

/// Whether what a command line installs is affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Affects {
    /// No version that it accepts.
    None,
    /// Some of the versions that it accepts.
    Some,
    /// The version that it names, or whatever it accepts.
    All,
}

/// The item for the versions from one version on, up to another one. `with_end` is `=` if that one is
/// affected, too.
pub fn span(from: &str, with_end: &str, until: &str) -> String {
    if from == "0" && until.is_empty() {
        return ALL.to_owned();
    }
    format!("{from}..{with_end}{until}")
}

/// Whether the versions in `affected` contain what a command line accepts. If it leaves the version open, an
/// item without an end affects whatever it will be.
pub fn affects(ecosystem: Ecosystem, affected: &str, version: &Version) -> Affects {
    let mut items = affected.split(' ').filter(|item| !item.is_empty());
    match version {
        _ if affected == ALL => Affects::All,
        Version::Open if items.any(|item| item.ends_with("..")) => Affects::All,
        Version::Open => Affects::Some,
        Version::Exact(version) if items.any(|item| contains(ecosystem, item, version)) => {
            Affects::All
        }
        Version::Exact(_) => Affects::None,
    }
}

/// Whether an item contains a version. If they cannot be compared, it does.
fn contains(ecosystem: Ecosystem, item: &str, version: &str) -> bool {
    let order = |other: &str| compare(ecosystem, version, other);
    let Some((from, until)) = item.split_once("..") else {
        // Images have no order.
        let is_unclear = ecosystem != Ecosystem::Docker;
        return item.eq_ignore_ascii_case(version)
            || order(item).map_or(is_unclear, |order| order == Ordering::Equal);
    };
    if from != "0" && order(from) == Some(Ordering::Less) {
        return false;
    }
    match until.strip_prefix('=') {
        _ if until.is_empty() => true,
        Some(last) => order(last) != Some(Ordering::Greater),
        None => matches!(order(until), Some(Ordering::Less) | None),
    }
}

/// Compares two versions as the ecosystem does; `None` if one of them has another form.
fn compare(ecosystem: Ecosystem, a: &str, b: &str) -> Option<Ordering> {
    match ecosystem {
        Ecosystem::Npm => Some(NpmVersion::read(a)?.cmp(&NpmVersion::read(b)?)),
        Ecosystem::PyPi => Some(PythonVersion::read(a)?.cmp(&PythonVersion::read(b)?)),
        Ecosystem::Docker => None,
    }
}

#[cfg(test)]
mod tests;
