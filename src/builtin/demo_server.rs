//! The demo server as a part of gosling: in sessions, with a requirement broken, and with the command that shows it.

mod broken_http;
pub(crate) mod broken_server;
mod demo_command;

use crate::in_process;
use gosling_core::builtin::BuiltinServer;
use gosling_core::part::Part;

pub use gosling_demo::{faults, server};

/// What this server adds to gosling.
pub const PART: Part = Part {
    commands: &[demo_command::COMMAND],
    servers: &[BuiltinServer {
        name: "demo",
        connect: |_| in_process(server(false)),
    }],
    ..Part::new("demo")
};
