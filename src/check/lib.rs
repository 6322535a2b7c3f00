//! Checks an MCP server against the contract that Goose's clients expect: `gosling check`.
//!
//! [`check_extension`] starts or reaches a server, a few times, and makes the checks group by group: it sends raw messages over
//! the transports of [`mcp::transport`], also wrong ones, and compares what comes back with
//! JSON-RPC, MCP and the contract. [`CheckReport`] has the outcome of each check; [`report`] writes it for people and
//! machines.
//!
//! Each file of `groups` declares the checks that it decides, with the requirements of SERVER that they cover, and
//! makes them; `runner` runs the groups in their order. `wire` has the connections to the server, and declares the
//! checks of everything that comes over them. [`catalogue`] has all checks by number.
//!
//! A server is hostile: everything that it sends is bounded as for extensions, every request has a timeout, and
//! what is shown of it is escaped. No tool is called unless the server says that it is read-only, or the options
//! say so. The same server gets the same result each time: nothing but the timeouts depends on the clock.

#![forbid(unsafe_code)]

use gosling_core::part::Part;
use gosling_core::{agent, api, command_line, extension, http, json, mcp, sys, text};

mod api_route;
pub mod catalogue;
mod check_command;
mod check_options;
mod check_run;
mod declaration;
mod fetched_list;
mod field_types;
mod findings;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod groups;
mod install_instructions;
mod list_kind;
mod refusals;
pub mod report;
mod runner;
mod sample_arguments;
mod tool_schemas;
mod wire;

pub use check_options::CheckOptions;
pub use declaration::{Check, Profile, RequirementLevel, Row};
pub use findings::{CheckOutcome, ShownExchange};
pub use install_instructions::InstallInstructions;
pub use report::{CheckReport, CheckResult};
pub use runner::check_extension;

/// What the checks of servers add to gosling.
pub const PART: Part = Part {
    commands: &[check_command::COMMAND],
    routes: Some(api_route::routes),
    ..Part::new("check")
};

#[cfg(test)]
mod tests;
