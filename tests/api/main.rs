//! Goose's HTTP API, spoken with a real server that runs real MCP servers.
// Some tests, and what only they use, need features that the build may leave out.
#![cfg_attr(
    not(all(feature = "developer", feature = "recipes")),
    allow(dead_code, unused_imports)
)]

#[path = "../support/http_peer.rs"]
#[allow(dead_code)] // Each test file uses its own part.
mod http_peer;
#[path = "../support/mod.rs"]
mod support;

mod activation;
mod calls;
mod config;
mod environment;
mod frontends;
mod history;
mod imports;
mod offers;
mod sessions;
mod status;
mod storm;
mod tools;
