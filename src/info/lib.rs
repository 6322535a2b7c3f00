//! `gosling info`: what this program is, where its files are, what is on, and what is wrong with any of it. It starts
//! nothing, writes nothing, corrects no mode, opens no connection, and prints no secret.
//!
//! - `info_command` reads the command line and the policy, and prints.
//! - `sections` collects the facts: its own, then those of each part ([`gosling_core::part::Part::info`]).
//! - `place` looks at a file or folder without opening it.
//! - `report` is what is printed, for people and as JSON.
#![forbid(unsafe_code)]

mod info_command;
mod place;
mod report;
mod sections;

use gosling_core::part::Part;
use gosling_core::{command_line, features, part, store, sys, text};

/// What the command adds to gosling.
pub const PART: Part = Part {
    commands: &[info_command::COMMAND],
    ..Part::new("info")
};
