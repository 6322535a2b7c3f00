//! Turns of a conversation: `/reply` on a real server, with a model that follows a script and MCP
//! servers that misbehave.

#[path = "../support/mod.rs"]
mod support;

mod asking;
mod calls;
mod compaction;
mod errors;
mod hang_up;
mod modes;
mod notifications;
mod streams;
mod survival;
