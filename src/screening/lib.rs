//! Screening: whether a command line may start, by a list of allowed ones and by advisories about the packages
//! that it installs.
//!
//! [`Settings`] says where the list and the advisories are; [`Screener::screen`](extension::screening_check::Screener::screen) looks the packages up and decides.
//! Of advisories nothing stays in memory between two launches; a list from an address does. [`launchers`] reads a
//! command line as `npx`, `uvx` and their like do, for the judgement of links, too.
#![forbid(unsafe_code)]

mod advisories_command;
pub mod advisory;
mod allowlist;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod index;
pub mod look_alikes;
mod osv_server;
mod settings;
pub mod sources;
pub mod versions;

pub use gosling_shared::{launchers, packages};
pub use settings::Settings;

use gosling_core::part::Part;
use gosling_core::{command_line, extension, json, store, sys, text};
use gosling_shared::version_order;
use std::sync::Arc;

/// What screening adds to gosling.
pub const PART: Part = Part {
    commands: &[advisories_command::COMMAND],
    screener: Some(|config, paths, offline| Arc::new(Settings::read(config, paths, offline))),
    info: Some(|config, paths| Settings::read(config, paths, false).facts()),
    ..Part::new("screening")
};
