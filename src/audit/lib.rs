//! The audit log: what was done, who asked for it, what was decided and how it ended, in `data/audit/*.jsonl`.
//!
//! A record is one line of JSON, written before what it is about, with another one at its end; so a crash leaves the
//! attempt. Each has the hash of the one before it, over all files and processes, so that a line that was changed,
//! removed or added is found (`gosling audit verify`). Whoever can write the files can write a new log from its
//! beginning: a copy of the last hash elsewhere tells.
//!
//! - `audit_log` appends records, begins new files and removes old ones; `log_end` is the end of the last one.
//! - `log_lock` lets one process append at a time, and a server many records while no other process waits.
//! - `draft` makes the line of a record, as far as it can before the log is locked; `deferred` has those of calls that
//!   have ended, for the next write. `record` reads lines.
//! - `argument_shape` tells of arguments what they look like, not what they say.
//! - `log_files` reads all files in their order; `verification` checks them.
//! - `audit_command` shows them, `tail_endpoint` the last ones to clients.
//!
//! One thread releases the lock when nothing is recorded, from the first time on that it is kept; so it writes what was
//! deferred, and makes records durable if that is to happen a second later.
#![forbid(unsafe_code)]

mod argument_shape;
mod audit_command;
mod audit_log;
mod deferred;
mod draft;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod log_end;
mod log_files;
mod log_lock;
mod members;
mod record;
mod tail_endpoint;
mod verification;

use crate::activity::Caller;
use crate::audit_log::AuditLog;
use crate::store::{Config, Paths, settings};
use gosling_core::api::with;
use gosling_core::http::Access::Keyed;
use gosling_core::part::{Fact, Part};
use gosling_core::{activity, command_line, json, store, sys, text};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the audit log adds to gosling.
pub const PART: Part = Part {
    commands: &[audit_command::COMMAND],
    recorder: Some(|config, paths| {
        let options = Options::read(config, paths)?;
        Some(Arc::new(AuditLog::new(options)))
    }),
    routes: Some(|router, registry| {
        router.get("/audit/tail", Keyed, with(registry, tail_endpoint::tail))
    }),
    info: Some(facts),
    ..Part::new("audit")
};

/// The folder of the log, in the data folder.
const FOLDER: &str = "audit";
/// A day, in seconds.
const DAY: u64 = 24 * 3600;

/// Whether there is a log, where, and how large it is.
fn facts(config: &Config, paths: &Paths) -> Vec<(&'static str, Fact)> {
    let value = |value: Value| Fact::Value(value);
    let folder = paths.data.join(FOLDER);
    let mut facts = vec![
        ("mode", value(settings::AUDIT.word(config).into())),
        ("folder", Fact::Private(folder.clone())),
    ];
    match log_files::sizes(&folder) {
        Ok(sizes) => {
            facts.push(("files", value(sizes.len().into())));
            facts.push(("bytes", value(sizes.iter().sum::<u64>().into())));
        }
        Err(error) => facts.push(("log", Fact::Fault(error.to_string()))),
    }
    if let Some(options) = Options::read(config, paths) {
        let arguments = if options.has_values { "values" } else { "hash" };
        let days = options.keep.map(|keep| keep.as_secs() / DAY);
        facts.push(("arguments", value(arguments.into())));
        facts.push(("keep_days", value(days.into())));
    }
    facts
}

/// When what was written is on the disk for sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    /// When the system pleases.
    None,
    /// A second later.
    Second,
    /// With each record.
    Each,
}

/// The settings of the log.
#[derive(Clone, Debug)]
struct Options {
    folder: PathBuf,
    /// What cannot be recorded is not done.
    required: bool,
    /// Records have the arguments of tools.
    has_values: bool,
    sync: Sync,
    /// The lock is kept from one record to the next.
    keeps_lock: bool,
    /// The size from which on a new file is begun, in bytes.
    file_size: u64,
    /// After which time a file is removed, if it is.
    keep: Option<Duration>,
}

impl Options {
    /// The settings of the user; `None` if there is to be no log.
    fn read(config: &Config, paths: &Paths) -> Option<Self> {
        let mode = settings::AUDIT.word(config);
        let days = settings::AUDIT_KEEP_DAYS.count(config);
        let day = Duration::from_secs(DAY);
        let days = u32::try_from(days).unwrap_or(u32::MAX);
        (mode != "off").then(|| Options {
            folder: paths.data.join(FOLDER),
            required: mode == "required",
            has_values: settings::AUDIT_ARGUMENTS.word(config) == "values",
            sync: match settings::AUDIT_SYNC.word(config) {
                "each" => Sync::Each,
                "second" => Sync::Second,
                _ => Sync::None,
            },
            // Others may be stopped in a terminal, and would block it.
            keeps_lock: Caller::current().front == "agent",
            file_size: settings::AUDIT_FILE_SIZE.count(config),
            keep: (days > 0).then(|| day.saturating_mul(days)),
        })
    }
}
