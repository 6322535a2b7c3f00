//! Extensions: configuration, environment, activation, and the manager that dispatches to them. Every active
//! extension is an MCP client, whatever its type. CORE §5, §6, §8, §10.

mod active_extension;
pub mod config;
pub mod configured;
mod configured_variables;
mod connect;
pub mod container;
mod context;
pub mod environment;
mod error;
mod from_parts;
mod imported_extensions;
pub mod inline_python;
pub mod launch;
mod listing;
mod manager;
pub mod offline_variables;
pub mod pinning_check;
pub mod platform_extensions;
pub mod program_lookup;
pub mod resource_tools;
mod restart_policy;
pub mod sandbox;
pub mod screening_check;
mod start_folder;
mod status;
mod supervisor;
pub(crate) mod tool_names;
pub(crate) mod unsupported;
pub mod wrappers;

pub use config::ExtensionConfig;
pub use connect::{Started, UI_MIME_TYPE};
pub use container::Containers;
pub use context::{Context, Limits, RequestHandlers};
pub use error::{Class, Error, Phase};
pub use from_parts::python_runner;
pub use imported_extensions::{ImportedExtensions, classify_imported};
pub use listing::{ExtensionItem, Listing};
pub use manager::{ListedTool, Manager};
pub use sandbox::Sandboxing;
pub use status::{Latency, Location, ServerInfo, State, Status};
pub use unsupported::is_reserved;
