//! Turns of a conversation: `/reply` on a real server, with a model that follows a script and MCP
//! servers that misbehave.
// Some tests, and what only they use, need features that the build may leave out.
#![cfg_attr(
    not(all(feature = "chat", feature = "recipes")),
    allow(dead_code, unused_imports)
)]

#[path = "../support/http_peer.rs"]
#[allow(dead_code)] // Each test file uses its own part.
mod http_peer;
#[path = "../support/model_server.rs"]
#[allow(dead_code)]
mod model_server;
#[path = "../support/mod.rs"]
mod support;

mod asking;
mod calls;
mod commands;
mod compaction;
mod crashes;
mod errors;
mod frontends;
mod hang_up;
mod hidden;
mod images;
mod lead;
mod models;
mod modes;
mod naming;
mod notifications;
mod prompts;
mod provider_fields;
mod resources;
mod streams;
mod survival;
mod two_processes;
