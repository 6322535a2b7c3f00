//! gosling as a service: its manager, where it listens, reloads, proxies, and what it prints for these.
#![cfg(feature = "service")]

mod artefacts;
mod disks;
#[cfg(unix)] // Sockets and messages of systemd.
mod drain;
mod hosts;
#[allow(dead_code)] // Each test file uses its own part.
#[path = "../support/http_peer.rs"]
mod http_peer;
#[cfg(unix)] // Sockets with paths, or passed on.
mod listeners;
mod logs;
#[cfg(unix)] // Messages to systemd.
mod manager;
#[allow(dead_code)] // Each test file uses its own part.
#[path = "../support/model_server.rs"]
mod model_server;
#[cfg(unix)]
#[path = "../support/policy_file.rs"]
mod policy_file;
mod proxies;
#[cfg(unix)] // SIGHUP.
mod reload;
#[path = "../support/mod.rs"]
mod support;
