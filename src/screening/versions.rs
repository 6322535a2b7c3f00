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
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_order_of_their_ecosystem() {
        let npm = [
            "0.9.0",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0",
            "1.0.1",
            "1.2.0",
            "1.10.0",
            "2.0.0",
        ];
        let pypi = [
            "1.0.dev1",
            "1.0a1.dev1",
            "1.0a1",
            "1.0-b2",
            "1.0rc1",
            "1.0",
            "1.0.post1.dev1",
            "1.0.post1",
            "1.0.1",
            "1.2",
            "1.10",
            "1!0.5",
        ];
        for (ecosystem, versions) in [(Ecosystem::Npm, &npm[..]), (Ecosystem::PyPi, &pypi)] {
            for (n, a) in versions.iter().enumerate() {
                for (m, b) in versions.iter().enumerate() {
                    assert_eq!(compare(ecosystem, a, b), Some(n.cmp(&m)), "{a} {b}");
                }
            }
        }
        let equal = |ecosystem, a, b| assert_eq!(compare(ecosystem, a, b), Some(Ordering::Equal));
        equal(Ecosystem::Npm, "v1.0.0+build", "1.0.0");
        equal(Ecosystem::PyPi, "1.0", "V1.0.0+local");
        equal(Ecosystem::PyPi, "1.0-1", "1.0.post1");
        for (ecosystem, version) in [
            (Ecosystem::Npm, "1.x"),
            (Ecosystem::Npm, "+1.0.0"),
            (Ecosystem::Npm, "99999999999999999999.0.0"),
            (Ecosystem::PyPi, "1.0-final"),
            (Ecosystem::PyPi, "1.0-"),
            (Ecosystem::Docker, "1.0.0"),
        ] {
            assert_eq!(compare(ecosystem, version, "1.0.0"), None, "{version}");
        }
    }

    #[test]
    fn a_version_is_affected_if_an_item_contains_it() {
        let exact = |version: &str| Version::Exact(version.to_owned());
        let (npm, pypi) = (Ecosystem::Npm, Ecosystem::PyPi);
        for (ecosystem, affected, version, expected) in [
            (npm, "*", exact("1.0.0"), Affects::All),
            (npm, "*", Version::Open, Affects::All),
            (npm, "1.0.0 1.0.1", exact("1.0.1"), Affects::All),
            (npm, "1.0.0 1.0.1", exact("1.0.2"), Affects::None),
            (npm, "1.0.0 1.0.1", Version::Open, Affects::Some),
            (pypi, "1.0", exact("1.0.0"), Affects::All),
            (npm, "0..2.0.0", exact("1.9.9"), Affects::All),
            (npm, "0..2.0.0", exact("2.0.0"), Affects::None),
            (npm, "1.0.0..=1.2.0", exact("1.2.0"), Affects::All),
            (npm, "1.0.0..=1.2.0", exact("1.2.1"), Affects::None),
            (npm, "1.0.0..=1.2.0", exact("0.9.0"), Affects::None),
            (npm, "1.0.0..", exact("7.0.0"), Affects::All),
            (npm, "1.0.0..", exact("0.7.0"), Affects::None),
            (npm, "1.0.0..", Version::Open, Affects::All),
            (npm, "0..2.0.0", Version::Open, Affects::Some),
            // npm reads versions loosely.
            (npm, "1.0.0-beta", exact("1.0.0beta"), Affects::All),
            (npm, "1.0.0-beta.1", exact("1.0.0beta.01"), Affects::All),
            (npm, "1.0.0", exact("v01.0.0+build"), Affects::All),
            (npm, "1.0.0-beta", exact("1.0.0beta1"), Affects::None),
            (pypi, "1.0.post1", exact("V1-1"), Affects::All),
            (pypi, "1!0.5", exact("1!0.5.0"), Affects::All),
            // What cannot be compared is affected.
            (npm, "1.0.0", exact("1.0.0_1"), Affects::All),
            (npm, "odd", exact("1.0.0"), Affects::All),
            (pypi, "1.0", exact("1.0-final"), Affects::All),
            (npm, "1.0.0..2.0.0", exact("one"), Affects::All),
            (npm, "odd..=odder", exact("1.0.0"), Affects::All),
            (
                Ecosystem::Docker,
                "sha256:00",
                exact("sha256:00"),
                Affects::All,
            ),
            (
                Ecosystem::Docker,
                "sha256:00",
                exact("sha256:01"),
                Affects::None,
            ),
        ] {
            assert_eq!(
                affects(ecosystem, affected, &version),
                expected,
                "{affected} {version:?}"
            );
        }
    }
}
