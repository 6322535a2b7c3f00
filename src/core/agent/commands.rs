//! Slash commands.

pub mod command_list;
pub(super) mod slash_commands;
