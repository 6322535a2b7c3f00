//! Goose's HTTP API on a real server that runs real MCP servers.
// Some tests and their helpers need features that the build may leave out.
#![cfg_attr(
    not(all(feature = "developer", feature = "recipes")),
    allow(dead_code, unused_imports)
)]

#[path = "../support/http_peer.rs"]
#[allow(dead_code)] // Each test file uses its own part.
mod http_peer;
#[path = "../support/mod.rs"]
mod support;

#[cfg(feature = "desktop")]
mod apps;
mod call_tool;
mod child_environment;
mod concurrent_calls;
mod config;
#[cfg(feature = "desktop")]
mod config_file;
#[cfg(feature = "desktop")]
mod diagnostics;
mod extension_activation;
mod extension_status;
mod frontend_extensions;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "desktop")]
mod not_offered;
#[cfg(feature = "desktop")]
#[cfg(unix)] // Named pipes and devices.
mod replaced_files;
mod resources_and_prompts;
mod session_history;
mod session_lifecycle;
mod tools_and_resources;
#[cfg(feature = "desktop")]
mod ui_proxy;
mod untrusted_imports;
