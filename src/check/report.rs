//! Reports: [`text`] for people, [`json`] for machines, [`junit`] for continuous integration. Pure.

pub mod json;
pub mod junit;
pub mod text;

use super::checks::{Check, Row};
use super::{Checked, Outcome, Profile, Report};

/// The profile that was asked for, or everything that the server declares.
pub type Asked = Option<Profile>;

impl Report {
    /// Whether the server holds what was asked.
    pub fn passes(&self, asked: Asked) -> bool {
        match asked {
            Some(profile) => self.holds(profile),
            None => self.holds_what_it_declares(),
        }
    }

    /// Why the server does not hold a profile: the names of failed checks, or of what it lacks.
    fn why_not(&self, profile: Profile) -> Vec<&str> {
        let broken = self
            .checks
            .iter()
            .filter(|checked| checked.is_broken() && Profile::of(checked.check) <= profile);
        let mut reasons: Vec<&str> = broken.map(|checked| checked.description.name).collect();
        if reasons.is_empty() && !self.holds(profile) {
            let parts = ["tools", "resources", "prompts", "ui"];
            let missing = parts[..=profile as usize]
                .iter()
                .filter(|part| !self.capabilities.iter().any(|it| it == *part));
            reasons.extend(missing);
        }
        reasons
    }
}

/// The state of a point of the checklist (SERVER §12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    Held,
    Broken,
    Open,
}

/// The checklist of SERVER §12.
const CHECKLIST: [&str; 9] = [
    "The server starts cleanly on its transport.",
    "`initialize` and `notifications/initialized` succeed.",
    "Capabilities and methods agree.",
    "Lists can be parsed, and their pages are consistent.",
    "Strict clients accept the schemas of tools.",
    "Notifications and requests to the client keep to the standard.",
    "On stdio, stdout has the protocol only.",
    "Over HTTP, strict clients can read the event streams.",
    "Clients without user interfaces are served.",
];

/// The points of the checklist with their states.
fn checklist(checks: &[Checked]) -> impl Iterator<Item = (usize, &'static str, Tick)> {
    CHECKLIST.iter().enumerate().map(|(index, text)| {
        let row: Row = ("12", index + 1);
        let mut of_row = checks
            .iter()
            .filter(|checked| checked.description.rows.contains(&row))
            .peekable();
        let mut tick = Tick::Open;
        if of_row.peek().is_some() {
            for checked in of_row {
                match checked.outcome {
                    Outcome::Failed { .. } => {
                        tick = Tick::Broken;
                        break;
                    }
                    Outcome::Passed { .. } => tick = Tick::Held,
                    _ => {}
                }
            }
        }
        (index + 1, *text, tick)
    })
}

/// All checks, one line each, and the requirements that none covers: `gosling check --list`.
pub fn table() -> String {
    use std::fmt::Write;
    let mut out = String::new();
    for check in Check::ALL {
        let it = check.describe();
        let _ = writeln!(
            out,
            "{:>3}  {:<6}  {:<8}  {:<26}  {}",
            it.number,
            section(it.section),
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
    for it in super::checks::UNCHECKED {
        let (section, row) = it.row;
        let _ = writeln!(
            out,
            "     §{section} row {row}: {} ({})",
            it.requires, it.reason
        );
    }
    out
}

/// A section for people.
fn section(section: &str) -> String {
    if section.is_empty() {
        "–".to_owned()
    } else {
        format!("§{section}")
    }
}
