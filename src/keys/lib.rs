//! Keys of clients besides the server's own: each has a name and a role, may end at a time, and may be restricted to the
//! sessions that it has begun. The file `config/keys.yaml` has their hashes and is read whenever it has changed.
//!
//! - `key_file` reads and changes the file; `key_text` draws keys and hashes them.
//! - `roles` has the table of what each role may do, by route and by method of the Agent Client Protocol; what it lacks
//!   needs `admin`.
//! - `known_clients` answers the core, which asks what a client may do ([`gosling_core::http::ClientKeys`]);
//!   `request_checks` looks into parameters and bodies, `redaction` into answers.
//! - `live_connections` ends the connections of keys that are revoked, in a thread that runs while there are some;
//!   `failed_keys` delays those who guess.
//! - `tickets` are for URLs, where a key would be stored in logs and histories.
//! - `keys_command` is `gosling keys`.
#![forbid(unsafe_code)]

mod failed_keys;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod key_file;
mod key_text;
mod keys_command;
mod known_clients;
mod live_connections;
mod redaction;
mod request_checks;
mod roles;
mod tickets;

use gosling_core::part::Part;
use gosling_core::{activity, agent, command_line, extension, http, json, store, sys, text};

pub use roles::{Role, operations, role_of};

/// What the keys add to gosling.
pub const PART: Part = Part {
    commands: &[keys_command::COMMAND],
    routes: Some(known_clients::install),
    info: Some(key_file::facts),
    ..Part::new("keys")
};
