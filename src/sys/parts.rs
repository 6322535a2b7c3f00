//! What only parts of a program need of the system, so that a build without them does not have it.

pub mod alarm;
#[cfg_attr(windows, path = "windows/datagrams.rs")]
pub mod datagrams;
#[cfg_attr(windows, path = "windows/family.rs")]
mod family;
#[cfg_attr(windows, path = "windows/file_owner.rs")]
pub mod file_owner;
#[cfg_attr(windows, path = "windows/hidden_input.rs")]
mod hidden_input;
mod host;
#[cfg_attr(windows, path = "windows/listening_sockets.rs")]
mod listening_sockets;
pub mod output_drain;
#[cfg_attr(windows, path = "windows/own_stdio.rs")]
pub mod own_stdio;
pub mod paths;
mod random_byte;
#[cfg_attr(windows, path = "windows/self_signal.rs")]
mod self_signal;
mod socket_shutdown;
mod started_children;
mod trace;
mod usage;
pub mod walls;
#[cfg_attr(windows, path = "windows/without_blocking.rs")]
pub mod without_blocking;

pub use family::Family;
pub use file_owner::{is_executable, program_at};
pub use hidden_input::{HiddenInput, has_terminal};
pub use host::{Host, host};
pub use listening_sockets::{
    ListeningSocket, is_socket, listen_privately, monotonic_micros, open_path, take_inherited,
    wait_told,
};
pub use random_byte::random_byte;
pub use self_signal::{signal_of, terminate_self};
pub use socket_shutdown::STD_SHUTDOWN_ENDS_READS;
pub use started_children::CHILDREN_ARE_ASKED_TO_END;
pub use trace::{Trace, current_trace, set_trace_source};
pub use usage::{Usage, effective_user, os_version, resident_of_group, usage};

#[cfg(test)]
#[path = "net/tests.rs"]
mod net_tests;
