//! What only parts of a program need of the system, so that a build without them does not have it.

pub mod alarm;
mod family;
pub mod file_owner;
mod hidden_input;
mod host;
mod listening_sockets;
pub mod output_drain;
pub mod own_stdio;
mod random_byte;
mod self_signal;
mod trace;
mod usage;
pub mod walls;
pub mod without_blocking;

pub use family::Family;
pub use file_owner::is_executable;
pub use hidden_input::{HiddenInput, has_terminal};
pub use host::{Host, host};
pub use listening_sockets::{
    ListeningSocket, listen_privately, monotonic_micros, take_inherited, wait_readable,
};
pub use random_byte::random_byte;
pub use self_signal::terminate_self;
pub use trace::{Trace, current_trace, set_trace_source};
pub use usage::{Usage, effective_user, os_version, resident_of_group, usage};
