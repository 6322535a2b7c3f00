//! Providers behind HTTP, called through the library as the agent calls them.
#![cfg(feature = "openai")]

#[path = "../support/http_peer.rs"]
#[allow(dead_code)]
mod http_peer;
#[path = "../support/model_server.rs"]
#[allow(dead_code)]
mod model_server;

#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod anthropic_and_google;
#[cfg(feature = "bedrock")]
mod bedrock;
#[cfg(any(
    feature = "bedrock",
    feature = "copilot",
    feature = "ollama",
    feature = "vertex"
))]
mod catalog;
#[cfg(feature = "copilot")]
mod copilot;
mod harness;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod images;
#[cfg(feature = "ollama")]
mod model_lists;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod odd_answers;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod output_limits;
mod provider_fields;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod request_forms;
mod responses;
#[cfg(all(feature = "azure", feature = "databricks", feature = "vertex"))]
mod sign_in;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod thinking_effort;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod tool_schemas;
mod transport;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod truncated_calls;
#[cfg(feature = "vertex")]
mod vertex;
