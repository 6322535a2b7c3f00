//! Running as a service: where it listens, what a service manager is told, what probes ask, and the unit for systemd.
//!
//! - `notifier` sends the states of the service to the socket of its manager (sd_notify).
//! - `running` tells when the server is ready and stops, and that it lives, in a thread of its own if the manager wants
//!   to hear that (a watchdog).
//! - `listeners` opens Unix sockets, several addresses, and the sockets that the manager hands over.
//! - `host` is for a server that another program has started for itself: what it is told, in a line or in the file that
//!   `port_file` writes, and the end with it, which `host_stdin` notices.
//! - `ingress` is what requests pass first: `proxies` decides who is believed, `forwarded` reads what they say,
//!   `access_log` has a record of each request.
//! - `trace` reads the trace of a request, `log_format` makes the lines of the log, and `log_file` writes them to a file.
//! - `handover` leaves requests to the successor when the server ends.
//! - `health` answers probes.
//! - `shard` is which of several servers this is.
//! - `service_command` prints the unit.
#![forbid(unsafe_code)]

mod access_log;
mod forwarded;
mod handover;
mod health;
mod host;
mod host_stdin;
mod ingress;
mod listeners;
mod log_file;
mod log_format;
mod notifier;
mod own_file;
mod port_file;
mod proxies;
mod running;
mod service_command;
mod shard;
mod trace;

use crate::command_line::Failure;
use crate::running::Running;
use gosling_core::part::Part;
use gosling_core::{activity, agent, command_line, http, part, store, text};
use gosling_sys as sys;

/// What this adds to gosling.
pub const PART: Part = Part {
    commands: &[service_command::COMMAND],
    option: Some(host::take_option),
    listeners: Some(|| {
        // Here, because nothing is logged before.
        log_format::install().map_err(Failure::Failed)?;
        listeners::open(&listeners::places()?).map_err(Failure::Failed)
    }),
    remove_files: Some(own_file::remove_all),
    log_file: Some(log_file::create),
    service: Some(|registry| Ok(Box::new(Running::new(registry)?))),
    ..Part::new("service")
};
