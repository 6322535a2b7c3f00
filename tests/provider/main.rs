//! Providers behind HTTP, called through the library as the agent calls them.

#[path = "../support/http_peer.rs"]
#[allow(dead_code)]
mod http_peer;
#[path = "../support/model_server.rs"]
#[allow(dead_code)]
mod model_server;

#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod anthropic_and_google;
#[cfg(feature = "ollama")]
mod catalog;
mod harness;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod images;
#[cfg(feature = "ollama")]
mod model_lists;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod output_limits;
mod provider_fields;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod request_forms;
mod responses;
mod transport;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod truncated_calls;
