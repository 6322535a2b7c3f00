//! Models behind HTTP, asked through the library as the agent asks them.

#[path = "../support/http_peer.rs"]
#[allow(dead_code)]
mod http_peer;
#[path = "../support/model_server.rs"]
#[allow(dead_code)]
mod model_server;

#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod cut_off;
mod harness;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod images;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod limits;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(all(feature = "anthropic", feature = "google", feature = "ollama"))]
mod others;
mod provider_fields;
mod transport;
