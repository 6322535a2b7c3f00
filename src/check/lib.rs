//! Checks an MCP server against the contract that Goose's clients expect: `gosling check`.
//!
//! [`checks`] is the table of all checks, with the requirements of SERVER that they cover. [`run`] starts or
//! reaches a server, a few times, and makes the checks group by group: it sends raw messages over the transports
//! of [`mcp::transport`](crate::mcp::transport), also wrong ones, and compares what comes back with JSON-RPC, MCP
//! and the contract. [`Report`] has the outcome of each check; [`report`] writes it for people and machines.
//!
//! A server is hostile: everything that it sends is bounded as for extensions, every request has a timeout, and
//! what is shown of it is escaped. No tool is called unless the server says that it is read-only, or the options
//! say so. The same server gets the same result each time: nothing but the timeouts depends on the clock.

#![forbid(unsafe_code)]

use gosling_core::part::Part;
use gosling_core::{
    agent, api, builtin, command_line, extension, json, json_schema, mcp, outbound, sys, text,
};

mod advice;
mod callbacks;
pub mod checks;
mod command;
mod endpoint;
mod errors;
mod findings;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod http;
mod http_probe;
mod inbox;
mod install;
mod lifecycle;
mod listing;
mod metadata;
mod outside_of_sessions;
mod prompts;
pub mod report;
mod resources;
mod runner;
mod sample;
mod session;
mod stdio;
mod tool_schemas;
mod tools;
mod types;
mod ui;

pub use findings::{Exchange, Outcome};
pub use install::Installation;
pub use outside_of_sessions::run_outside_of_sessions;

use crate::extension::{Context, ExtensionConfig};
use crate::sys::cancel::Cancel;
use checks::{Check, Description};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The profiles of SERVER §11. Each contains those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
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

    /// The smallest profile that a check counts for.
    fn of(check: Check) -> Profile {
        match check.describe().number {
            70..80 => Profile::Extended,
            80..90 => Profile::Full,
            140..150 => Profile::Ui,
            _ => Profile::Minimum,
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

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What to check, and how.
pub struct Options {
    /// How long a request may take.
    pub timeout: Duration,
    /// Tools to call, also if they are not read-only, with their arguments. They must succeed.
    pub calls: Vec<(String, Map<String, Value>)>,
    /// Addresses of resources to read besides the listed ones. They must exist.
    pub reads: Vec<String>,
    /// Prompts to get, with their arguments. They must succeed.
    pub prompts: Vec<(String, Map<String, Value>)>,
    /// The checks to make; all if empty.
    pub only: BTreeSet<Check>,
}

impl Default for Options {
    /// All checks, 10 s for a request.
    fn default() -> Self {
        Options {
            timeout: Duration::from_secs(10),
            calls: Vec::new(),
            reads: Vec::new(),
            prompts: Vec::new(),
            only: BTreeSet::new(),
        }
    }
}

/// The outcome of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The server's name and version, as it says.
    pub server: String,
    /// The version of MCP that was agreed on; empty if none was.
    pub protocol: String,
    /// `stdio`, `streamable_http` or `builtin`.
    pub transport: &'static str,
    /// The capabilities that the server declared, and `ui` if it has user interfaces.
    pub capabilities: Vec<String>,
    /// The checks that were to be made, by number.
    pub checks: Vec<Checked>,
    /// How to install the server.
    pub installation: Installation,
    /// How long the run took, in seconds.
    pub seconds: f64,
}

/// A check and its outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The check.
    #[serde(skip)]
    pub check: Check,
    /// What it is about.
    #[serde(flatten)]
    pub description: &'static Description,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Checked {
    /// Whether the server fails it.
    pub fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. })
    }

    /// Whether the server breaks the contract with it.
    pub fn is_broken(&self) -> bool {
        self.is_failed() && self.description.level.is_binding()
    }
}

impl Report {
    /// Whether all checks were to be made.
    pub fn is_complete(&self) -> bool {
        self.checks.len() == Check::ALL.len()
    }

    /// Whether the server holds a profile: it declares what belongs to the profile, and fails no check of it
    /// that is a MUST.
    pub fn holds(&self, profile: Profile) -> bool {
        self.has_parts_of(profile)
            && !self
                .checks
                .iter()
                .any(|checked| checked.is_broken() && Profile::of(checked.check) <= profile)
    }

    /// Whether the server holds the minimum profile and fails no MUST in anything that it declares.
    pub fn holds_what_it_declares(&self) -> bool {
        self.has_parts_of(Profile::Minimum) && !self.checks.iter().any(Checked::is_broken)
    }

    fn has_parts_of(&self, profile: Profile) -> bool {
        let parts = ["tools", "resources", "prompts", "ui"];
        let needed = &parts[..=profile as usize];
        needed
            .iter()
            .all(|part| self.capabilities.iter().any(|it| it == part))
    }

    /// How many checks passed, failed, were not applicable, and could not be made.
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for checked in &self.checks {
            let index = match checked.outcome {
                Outcome::Passed { .. } => 0,
                Outcome::Failed { .. } => 1,
                Outcome::NotApplicable { .. } => 2,
                Outcome::NotChecked { .. } => 3,
            };
            counts[index] += 1;
        }
        counts
    }
}

/// Checks the server of an extension. `context` says where and how it runs; `progress` is called with the name
/// of each group of checks.
///
/// # Errors
/// Why no check could be made: the server could not be started or reached, or the run was cancelled.
pub fn run(
    context: &Context,
    config: &ExtensionConfig,
    options: &Options,
    progress: &dyn Fn(&str),
    cancel: &Cancel,
) -> Result<Report, String> {
    runner::Runner::new(context, config, options, progress, cancel).run()
}

#[cfg(test)]
mod tests;

/// What the checks of servers add to gosling.
pub const PART: Part = Part {
    commands: &[command::COMMAND],
    routes: Some(endpoint::routes),
    ..Part::new("check")
};
