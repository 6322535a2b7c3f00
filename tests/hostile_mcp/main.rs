//! MCP servers that misbehave. What can be skipped is skipped, all else is an error that names the
//! extension and the phase; neither leaves anything behind.

#[path = "../support/mod.rs"]
mod support;

mod broken;
mod names;
mod survived;
