//! What this build consists of (`gosling version`), and whether the files of a release are those that its manifest
//! names (`gosling verify-release`). Both work without a network, and write and start nothing.
//!
//! - `build_facts` has what the build script found out when this crate was compiled.
//! - `version_command` prints it.
//! - `manifest` reads the two files that describe a release, without I/O.
//! - `verification` compares a folder with them.
//! - `verify_command` reads the command line, and prints.
#![forbid(unsafe_code)]

mod build_facts;
mod manifest;
mod verification;
mod verify_command;
mod version_command;

use gosling_core::part::Part;
use gosling_core::{command_line, features, store, sys, text};

/// What the commands add to gosling.
pub const PART: Part = Part {
    commands: &[version_command::COMMAND, verify_command::COMMAND],
    ..Part::new("release")
};
