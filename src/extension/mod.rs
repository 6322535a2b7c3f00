//! Extensions: their configuration, the environment they may have, their activation, and the manager
//! that dispatches to them. Whatever its type, an active extension is an MCP client.
//! CORE §5, §6, §8, §10.

pub(crate) mod absent;
mod active;
pub mod callbacks;
pub mod command;
pub mod config;
mod connect;
mod container;
pub mod environment;
mod error;
mod imported;
mod listing;
mod manager;
mod names;
pub mod platform;
mod recovery;
pub mod resources;
mod server;
mod status;
mod wishes;

pub use callbacks::{Callbacks, Origin};
pub use config::ExtensionConfig;
pub use container::{Container, Containers};
pub use error::{Error, Phase};
pub use imported::{Divided, divide};
pub use listing::{Listing, Of};
pub use manager::{Bounds, Context, ListedTool, Manager};
pub use status::{Latency, Place, ServerInfo, State, Status};
pub use wishes::Updated;
