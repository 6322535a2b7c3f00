//! Affected versions as text: `*` for all, or items separated by spaces: `1.2.3`, `FROM..UNTIL` without
//! `UNTIL`, `FROM..=UNTIL` with it, or `FROM..` without an end. `0` is before all versions.

use crate::extension::packages::{Ecosystem, Version};
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
        return item.eq_ignore_ascii_case(version) || order(item) == Some(Ordering::Equal);
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
        Ecosystem::Npm => compare_npm(a, b),
        Ecosystem::PyPi => Some(PythonVersion::read(a)?.cmp(&PythonVersion::read(b)?)),
        Ecosystem::Docker => None,
    }
}

/// Numbers separated by dots, without zeros at the end.
fn release(text: &str) -> Option<Vec<u64>> {
    let is_number = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    let numbers = text
        .split('.')
        .map(|part| Some(part).filter(is_number)?.parse().ok());
    let mut numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    Some(numbers)
}

/// Semantic Versioning 2.0.0 §11.
fn compare_npm(a: &str, b: &str) -> Option<Ordering> {
    let parts = |version: &str| -> Option<(Vec<u64>, Option<String>)> {
        let version = version.trim_start_matches(['v', '=']);
        let version = version.split('+').next().unwrap_or_default();
        let (numbers, pre) = match version.split_once('-') {
            Some((numbers, pre)) => (numbers, Some(pre.to_owned())),
            None => (version, None),
        };
        Some((release(numbers)?, pre))
    };
    let ((a, a_pre), (b, b_pre)) = (parts(a)?, parts(b)?);
    let pre = match (a_pre, b_pre) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => compare_identifiers(&a, &b),
    };
    Some(a.cmp(&b).then(pre))
}

fn compare_identifiers(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let (a, b) = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => (a, b),
        };
        let order = match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// A version of Python packages (PEP 440), without its local part. The fields are in the order of comparison.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PythonVersion {
    epoch: u64,
    release: Vec<u64>,
    /// The phase, and its number: 0 for a development release only, 1 to 3 for `a`, `b`, `rc`, 4 for none.
    pre: (u8, u64),
    /// 0 for none.
    post: u64,
    /// The maximum for none.
    dev: u64,
}

impl PythonVersion {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let text = text.trim_start_matches('v').split('+').next()?;
        let (epoch, text) = match text.split_once('!') {
            Some((epoch, text)) => (epoch.parse().ok()?, text),
            None => (0, text),
        };
        let is_release = |c: char| c.is_ascii_digit() || c == '.';
        let end = text.find(|c| !is_release(c)).unwrap_or(text.len());
        let (numbers, mut rest) = text.split_at(end);
        let mut version = PythonVersion {
            epoch,
            release: release(numbers.trim_end_matches('.'))?,
            pre: (4, 0),
            post: 0,
            dev: u64::MAX,
        };
        while !rest.is_empty() {
            rest = version.read_suffix(rest)?;
        }
        if version.pre.0 == 4 && version.post == 0 && version.dev != u64::MAX {
            version.pre = (0, 0);
        }
        Some(version)
    }

    /// Reads a part such as `rc1`, `.post2`, `-3` or `.dev4`, and returns what follows.
    fn read_suffix<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let bare = text.trim_start_matches(['.', '-', '_']);
        let letters = bare.find(|c: char| !c.is_ascii_alphabetic());
        let (word, rest) = bare.split_at(letters.unwrap_or(bare.len()));
        let rest = rest.trim_start_matches(['.', '-', '_']);
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let (number, rest) = rest.split_at(digits.unwrap_or(rest.len()));
        if word.is_empty() && number.is_empty() {
            return None;
        }
        let number: u64 = match number {
            "" => 0,
            number => number.parse().ok()?,
        };
        match word {
            "a" | "alpha" => self.pre = (1, number),
            "b" | "beta" => self.pre = (2, number),
            "c" | "rc" | "pre" | "preview" => self.pre = (3, number),
            "" | "post" | "rev" | "r" => self.post = number.checked_add(1)?,
            "dev" => self.dev = number,
            _ => return None,
        }
        Some(rest)
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
            // What cannot be compared is affected.
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
