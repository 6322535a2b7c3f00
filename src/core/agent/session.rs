//! The sessions: their live agents, how they start, change and end, and what is stored of them.

pub(super) mod agent_table;
pub(super) mod export_copy_import;
pub(super) mod extension_setup;
pub(super) mod housekeeper;
pub(super) mod import_notice;
pub(super) mod left_out_tools;
pub(super) mod model_selection;
pub(super) mod observers;
pub(super) mod session_agent;
pub(super) mod session_changes;
pub(super) mod session_extensions;
pub(super) mod session_naming;
pub mod session_recipes;
pub(super) mod shown_settings;
pub(super) mod stored_session_data;
