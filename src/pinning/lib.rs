//! Pinning: the tools that a server lists are compared with those that it listed when its extension was first
//! started, because a server, or who can change its package or its configuration, can change them under the user
//! (CVE-2025-54136).
//!
//! The pins of an extension are the file `data/tool_pins/KEY.json`. They outlive the removal of the
//! extension, and another program or address under the same name does not start without pins. What differs is
//! shown in `GET /agent/extensions` and logged, until it is accepted ([`Pinner::accept`](extension::pinning_check::Pinner::accept)). With
//! `GOOSE_TOOL_PINNING=strict` the model gets neither tools that were changed or added, nor any tool of another
//! program or address.
//!
//! Servers that are part of this program have no pins, nor have tools that the client runs. Instructions,
//! resources, prompts and the results of tools are not pinned.
#![forbid(unsafe_code)]

mod accept_tools_endpoint;
mod changed_tools;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod pin_file;
mod tool_differences;
mod tool_hashes;

use crate::store::{Config, Paths, settings};
use gosling_core::part::{Fact, Part};
use gosling_core::{agent, api, extension, http, json, mcp, store, sys, text};
use std::path::PathBuf;
use std::sync::Arc;

/// What pinning adds to gosling.
pub const PART: Part = Part {
    routes: Some(accept_tools_endpoint::routes),
    pinner: Some(|config, paths| Arc::new(Settings::read(config, paths))),
    info: Some(|config, paths| {
        let mode = settings::TOOL_PINNING.word(config);
        let folder = paths.data.join(FOLDER);
        vec![
            ("mode", Fact::Value(mode.into())),
            ("folder", Fact::Private(folder)),
        ]
    }),
    ..Part::new("pinning")
};

/// The folder of the pins, in the data folder.
const FOLDER: &str = "tool_pins";

/// What happens to tools that have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is compared or kept.
    #[default]
    Off,
    /// They are offered, and the change is shown.
    Warn,
    /// They are not offered until the change is accepted.
    Strict,
}

/// The settings of the pinning.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `GOOSE_TOOL_PINNING`.
    pub mode: Mode,
    /// Where the pins are.
    pub folder: PathBuf,
}

impl Settings {
    /// The settings of the user.
    pub fn read(config: &Config, paths: &Paths) -> Self {
        let mode = match settings::TOOL_PINNING.word(config) {
            "off" => Mode::Off,
            "strict" => Mode::Strict,
            _ => Mode::Warn,
        };
        let folder = paths.data.join(FOLDER);
        Settings { mode, folder }
    }
}

#[cfg(test)]
mod tests;
