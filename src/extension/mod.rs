//! Extensions: configuration, environment, activation, and the manager that dispatches to them. Every active
//! extension is an MCP client, whatever its type. CORE §5, §6, §8, §10.

mod active_extension;
mod apps;
pub mod config;
mod connect;
mod container;
pub mod environment;
mod error;
mod imported_extensions;
mod listing;
mod manager;
pub mod platform_extensions;
pub mod program_lookup;
pub mod resource_tools;
mod restart_policy;
pub mod server_requests;
mod status;
mod subscriptions;
mod supervisor;
pub(crate) mod tool_names;
pub(crate) mod unsupported;

pub use apps::App;
pub use config::ExtensionConfig;
pub use container::{Container, Containers};
pub use error::{Error, Phase};
pub use imported_extensions::{ImportedExtensions, classify_imported};
pub use listing::{ExtensionItem, Listing};
pub use manager::{Context, Limits, ListedTool, Manager};
pub use server_requests::{Origin, ServerRequestHandler};
pub use status::{Latency, Location, ServerInfo, State, Status};
pub use subscriptions::OnResourceUpdated;
