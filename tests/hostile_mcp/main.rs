//! MCP servers that misbehave. A message that can be skipped is skipped; any other fault is an error that
//! names the extension and the phase. Nothing is left behind.

#[path = "../support/mod.rs"]
mod support;

mod broken;
mod languages;
mod names;
mod survived;
