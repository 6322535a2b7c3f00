//! What the pages of Goose Desktop use besides chat and history: custom providers, diagnostics, the
//! configuration's backups, user interfaces of MCP servers.
//!
//! [`PART`] adds the routes, one file of `api` for each resource. What they do stands beside `api`, over the public
//! types of the core: its stores, the catalog of providers, the extensions of a session.
#![forbid(unsafe_code)]

mod api;
mod app_listing;
mod config_recovery;
mod custom_provider_edit;
mod detect_provider;
mod diagnostics;
mod report_files;
mod setting_faults;
mod system_info;
mod zip;

use gosling_core::part::Part;
use gosling_core::{
    activity, agent, extension, features, http, json, mcp, provider, sorting, store, sys, text,
};

/// What these pages add to gosling.
pub const PART: Part = Part {
    routes: Some(api::routes),
    shows_user_interfaces: true,
    ..Part::new("desktop")
};
