//! The list of all checks: `gosling check --list`.

use super::section_name;
use crate::catalogue::{UNCHECKED, all_checks};
use std::fmt::Write;

/// All checks, one line each, and the requirements that none covers.
pub fn write() -> String {
    let mut out = String::new();
    for it in all_checks() {
        let _ = writeln!(
            out,
            "{:>3}  {:<6}  {:<8}  {:<26}  {}",
            it.number,
            section_name(it.section),
            it.level.name(),
            it.name,
            it.requires
        );
        let rows = it
            .rows
            .iter()
            .map(|(section, row)| format!("§{section} row {row}"));
        let rows: Vec<String> = rows.collect();
        if !rows.is_empty() {
            let _ = writeln!(out, "     covers {}", rows.join(", "));
        }
    }
    out += "\nNot checked, of the contract:\n";
    for it in UNCHECKED {
        let (section, row) = it.row;
        let _ = writeln!(
            out,
            "     §{section} row {row}: {} ({})",
            it.requires, it.reason
        );
    }
    out
}
