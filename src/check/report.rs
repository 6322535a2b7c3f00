//! Reports: the outcome of each check, and of the whole. [`for_people`], [`for_machines`] and [`junit`], for
//! continuous integration, write them. Pure.

mod checklist;
pub mod for_machines;
pub mod for_people;
pub mod junit;
pub mod list_of_checks;

use super::catalogue::all_checks;
use super::declaration::{Check, Profile};
use super::findings::CheckOutcome;
use super::install_instructions::InstallInstructions;
use serde::Serialize;

/// The profile that was asked for, or everything that the server declares.
pub type Asked = Option<Profile>;

/// The outcome of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The server's name and version, as it says.
    pub server: String,
    /// The version of MCP that was agreed on; empty if none was.
    pub protocol: String,
    /// `stdio`, `streamable_http` or `builtin`.
    pub transport: &'static str,
    /// The capabilities that the server declared, and `ui` if it has user interfaces.
    pub capabilities: Vec<String>,
    /// The checks that were to be made, by number.
    pub checks: Vec<CheckResult>,
    /// How to install the server.
    pub installation: InstallInstructions,
    /// How long the run took, in seconds.
    pub seconds: f64,
}

/// A check and its outcome.
#[derive(Clone, Debug, Serialize)]
pub struct CheckResult {
    /// The check.
    #[serde(flatten)]
    pub check: &'static Check,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: CheckOutcome,
}

impl CheckResult {
    /// Whether the server fails it.
    pub fn is_failed(&self) -> bool {
        matches!(self.outcome, CheckOutcome::Failed { .. })
    }

    /// Whether the server breaks the contract with it.
    pub fn is_broken(&self) -> bool {
        self.is_failed() && self.check.level.is_binding()
    }
}

impl CheckReport {
    /// Whether all checks were to be made.
    pub fn is_complete(&self) -> bool {
        self.checks.len() == all_checks().len()
    }

    /// Whether the server holds a profile: it declares what belongs to the profile, and fails no check of it
    /// that is a MUST.
    pub fn holds(&self, profile: Profile) -> bool {
        self.why_not(profile).is_empty()
    }

    /// Whether the server holds the minimum profile and fails no MUST in anything that it declares.
    pub fn holds_what_it_declares(&self) -> bool {
        self.holds(Profile::Minimum) && !self.checks.iter().any(CheckResult::is_broken)
    }

    /// How many checks passed, failed, were not applicable, and could not be made.
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for checked in &self.checks {
            let index = match checked.outcome {
                CheckOutcome::Passed { .. } => 0,
                CheckOutcome::Failed { .. } => 1,
                CheckOutcome::NotApplicable { .. } => 2,
                CheckOutcome::NotChecked { .. } => 3,
            };
            counts[index] += 1;
        }
        counts
    }

    /// Whether the server holds what was asked.
    pub fn passes(&self, asked: Asked) -> bool {
        match asked {
            Some(profile) => self.holds(profile),
            None => self.holds_what_it_declares(),
        }
    }

    /// Why the server does not hold a profile: the names of failed checks, or of what it lacks.
    pub(crate) fn why_not(&self, profile: Profile) -> Vec<&str> {
        let broken = self.checks.iter().filter(|checked| checked.is_broken());
        let broken = broken.filter(|checked| checked.check.profile <= profile);
        let mut reasons: Vec<&str> = broken.map(|checked| checked.check.name).collect();
        if reasons.is_empty() {
            let parts = ["tools", "resources", "prompts", "ui"];
            let needed = parts[..=profile as usize].iter();
            reasons.extend(needed.filter(|part| !self.capabilities.iter().any(|it| it == *part)));
        }
        reasons
    }
}

/// A section for people.
pub(crate) fn section_name(section: &str) -> String {
    if section.is_empty() {
        "–".to_owned()
    } else {
        format!("§{section}")
    }
}
