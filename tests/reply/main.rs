//! Turns of a conversation: `/reply` on a real server, with a scripted model and scripted MCP servers.
// Some tests and their helpers need features that the build may leave out.
#![cfg_attr(
    not(all(
        feature = "chat",
        feature = "openai",
        feature = "recipes",
        feature = "todo"
    )),
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

mod cancelled_turns;
mod compaction;
mod crashes;
mod event_streams;
mod frontend_tools;
mod invisible_characters;
#[cfg(feature = "openai")]
mod lead_worker;
mod model_errors;
#[cfg(feature = "openai")]
mod model_requests;
mod notifications;
mod odd_json;
mod permission_modes;
#[cfg(feature = "todo")]
mod prompt_prefix;
#[cfg(feature = "desktop")]
mod prompt_templates;
#[cfg(feature = "openai")]
mod provider_fields;
#[cfg(feature = "openai")]
mod refused_images;
mod resources;
mod restarts;
mod server_requests;
#[cfg(feature = "openai")]
mod session_naming;
mod slash_commands;
mod steering;
mod system_prompt;
mod tool_calls;
mod two_processes;
