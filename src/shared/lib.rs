//! What several parts use and the core does not. It stands over the core, so that a build without these parts does not
//! compile it.
#![forbid(unsafe_code)]

mod client_workspace;
pub mod configured_extensions;
mod credential_forms;
mod fenced_block;
mod foreign_file;
mod in_memory_data;
pub mod launchers;
mod object_files;
pub mod packages;
mod print_all;
mod program_files;
mod quiet_logging;
mod session_effort;
mod setting_faults;
mod stored_secrets;
mod temporary_folder;
mod tokens;
pub mod version_order;
mod words;

pub use client_workspace::{ClientWorkspace, TerminalCommand, TerminalResult};
pub use credential_forms::{redact_credentials, url_userinfo};
pub use fenced_block::fenced_block;
pub use foreign_file::without_advice;
pub use in_memory_data::InMemoryData;
pub use object_files::{parse_yaml_object, read_object, read_object_with_text, render_yaml_object};
pub use print_all::print_all;
pub use program_files::find_program;
pub use quiet_logging::start_quiet_logging;
pub use session_effort::set_effort;
pub use setting_faults::value_and_name_faults;
pub use stored_secrets::stored_secrets;
pub use temporary_folder::TemporaryFolder;
pub use tokens::is_token;
pub use words::{missing, quoted, words};

use gosling_core::extension;
