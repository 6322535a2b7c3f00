//! `gosling backup` and `gosling restore`: all files of a root in one archive, while servers use it, and back.
//!
//! - `backup_command` reads both command lines; `backup` writes an archive, `restore` puts one in place.
//! - `root_files` knows which files of a root belong into an archive, and in which order they are read.
//! - `contents` is what an archive says about itself: in its first entry the version, in its last the hashes.
//! - `tar` writes and reads the archive; `names` are those that an entry may have.
#![forbid(unsafe_code)]

mod backup;
mod backup_command;
mod contents;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod names;
mod restore;
mod root_files;
mod tar;

use gosling_core::part::Part;
use gosling_core::{activity, agent, command_line, json, store, sys, text};

/// What backups add to gosling.
pub const PART: Part = Part {
    commands: &[backup_command::BACKUP, backup_command::RESTORE],
    ..Part::new("backup")
};
