//! https: what the server serves over TLS, with which certificate, and that clients cannot exhaust it.
#![cfg(feature = "tls")]

#[allow(dead_code)] // Each test file uses its own part.
#[path = "../http_edge/harness.rs"]
mod harness;
#[allow(dead_code)]
#[path = "../support/http_peer.rs"]
mod http_peer;
#[allow(dead_code)]
#[path = "../support/relay.rs"]
mod relay;
#[path = "../support/mod.rs"]
mod support;

mod attacks;
mod certificates;
mod client;
mod serving;
