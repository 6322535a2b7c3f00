//! The commands for people at a terminal: `gosling chat`, `gosling run`, `gosling call`, `gosling extensions`.
#![forbid(unsafe_code)]

mod argument_rows;
mod call;
mod chat_command;
mod elicitation_form;
mod escaped_text;
mod extension_options;
mod extensions;
mod interrupt;
mod mistyped_commands;
mod note;
#[cfg(feature = "recipes")]
mod run;
mod stdin_lines;
mod turn_display;

use gosling_core::part::Part;
use gosling_core::{
    activity, agent, builtin, command_line, conversation, extension, features, json, mcp, provider,
    store, sys, text,
};

/// What these commands add to gosling.
pub const PART: Part = Part {
    commands: &[
        chat_command::COMMAND,
        call::COMMAND,
        #[cfg(feature = "recipes")]
        run::COMMAND,
        extensions::COMMAND,
    ],
    ..Part::new("chat")
};
