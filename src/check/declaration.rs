//! What a check is. Each file that decides checks declares them at its beginning: what they require, why, and how a
//! server is mended.
//!
//! Sections and rows are those of SERVER in the manual's page `contract`. A row is counted from 1 within its
//! section.

use serde::Serialize;
use std::str::FromStr;

/// How binding a check is (RFC 2119).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum RequirementLevel {
    /// The contract requires it.
    #[serde(rename = "MUST")]
    Must,
    /// The contract forbids it.
    #[serde(rename = "MUST NOT")]
    MustNot,
    /// The contract recommends it.
    #[serde(rename = "SHOULD")]
    Should,
    /// The contract allows it; the check looks at servers that do it.
    #[serde(rename = "MAY")]
    May,
    /// Not part of the contract.
    #[serde(rename = "advice")]
    Advice,
}

impl RequirementLevel {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            RequirementLevel::Must => "MUST",
            RequirementLevel::MustNot => "MUST NOT",
            RequirementLevel::Should => "SHOULD",
            RequirementLevel::May => "MAY",
            RequirementLevel::Advice => "advice",
        }
    }

    /// Whether a server that fails such a check breaks the contract.
    pub fn is_binding(self) -> bool {
        matches!(self, RequirementLevel::Must | RequirementLevel::MustNot)
    }
}

/// The profiles of SERVER §11. Each contains those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Life cycle, a transport, tools (§11.1).
    Minimum,
    /// Resources as well (§11.2).
    Extended,
    /// Prompts as well (§11.3).
    Full,
    /// User interfaces as well (§11.4).
    Ui,
}

impl Profile {
    /// All, from the smallest.
    pub const ALL: [Profile; 4] = [
        Profile::Minimum,
        Profile::Extended,
        Profile::Full,
        Profile::Ui,
    ];

    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Minimum => "minimum",
            Profile::Extended => "extended",
            Profile::Full => "full",
            Profile::Ui => "ui",
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Profile::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| format!("{name:?} is not one of minimum, extended, full, ui"))
    }
}

/// A requirement of the contract: the section and the row within it.
pub type Row = (&'static str, usize);

/// A check. Its number alone tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Check {
    /// The number, which stays the same in later versions.
    pub number: u16,
    /// The name, which stays the same in later versions.
    pub name: &'static str,
    /// The section of the contract, for example `4.2`; empty for advice.
    pub section: &'static str,
    /// How binding it is.
    pub level: RequirementLevel,
    /// What the server does if it passes.
    pub requires: &'static str,
    /// What goes wrong otherwise.
    pub why: &'static str,
    /// How to mend the server.
    pub fix: &'static str,
    /// The requirements of the contract that it checks.
    #[serde(skip)]
    pub rows: &'static [Row],
    /// The smallest profile that it counts for.
    #[serde(skip)]
    pub profile: Profile,
}

/// Declares the checks that a file decides: a constant for each, and `CHECKS` with all of them.
macro_rules! declare_checks {
    ($($check:ident = $number:literal $name:literal $section:literal $level:ident $profile:ident $rows:tt
        requires: $requires:literal
        why: $why:literal
        fix: $fix:literal
    )*) => {
        $(pub(crate) const $check: &$crate::declaration::Check = &$crate::declaration::Check {
            number: $number,
            name: $name,
            section: $section,
            level: $crate::declaration::RequirementLevel::$level,
            requires: $requires,
            why: $why,
            fix: $fix,
            rows: &$rows,
            profile: $crate::declaration::Profile::$profile,
        };)*

        /// The checks that are declared here.
        pub(crate) const CHECKS: &[&$crate::declaration::Check] = &[$($check),*];
    };
}
pub(super) use declare_checks;
