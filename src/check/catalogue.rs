//! All checks, and the requirements of the contract that none of them covers.

use super::declaration::{Check, Row};
use super::groups::{GROUPS, life_cycle_checks};
use super::wire;
use serde::Serialize;

/// All checks, by number.
pub fn all_checks() -> Vec<&'static Check> {
    let of_groups = GROUPS.iter().flat_map(|group| group.decides);
    let others = [life_cycle_checks::CHECKS].into_iter().chain(wire::CHECKS);
    let mut checks: Vec<&Check> = of_groups
        .copied()
        .chain(others)
        .flatten()
        .copied()
        .collect();
    gosling_core::sorting::sort_by(&mut checks, Ord::cmp);
    checks.dedup();
    checks
}

/// A requirement that cannot be seen from outside, or that is not the server's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unchecked {
    /// The section and the row within it.
    pub row: Row,
    /// What it asks.
    pub requires: &'static str,
    /// Why it is not checked.
    pub reason: &'static str,
}

/// The requirements that no check covers.
pub const UNCHECKED: &[Unchecked] = &[
    Unchecked {
        row: ("4.2", 4),
        requires: "Logs go to stderr.",
        reason: "a server need not log; `stdout-clean` sees logs that go to stdout instead",
    },
    Unchecked {
        row: ("9.1", 1),
        requires: "The documentation shows how the server is started.",
        reason: "documentation is not part of the protocol; the report ends with a configuration for it",
    },
    Unchecked {
        row: ("9.3", 1),
        requires: "An implementation that runs inline Python conforms to its own document.",
        reason: "it binds clients, not servers",
    },
    Unchecked {
        row: ("9.4", 1),
        requires: "An implementation of the developer extension conforms to its own document.",
        reason: "that document is not public",
    },
    Unchecked {
        row: ("10.1", 2),
        requires: "The server heeds the MIME types that the client declares.",
        reason: "there is only one MIME type of user interfaces so far",
    },
    Unchecked {
        row: ("12", 10),
        requires: "With inline Python, the checks of its own document pass.",
        reason: "it binds clients, not servers",
    },
    Unchecked {
        row: ("12", 11),
        requires: "With the developer extension, the checks of its own document pass.",
        reason: "that document is not public",
    },
];
