//! Checks the server of an extension outside of all sessions.

use super::check_options::CheckOptions;
use super::report::CheckReport;
use super::runner;
use crate::agent::Registry;
use crate::builtin::InMemoryData;
use crate::extension::ExtensionConfig;
use crate::sys::cancel::Cancel;
use std::path::Path;
use std::sync::Arc;

/// The id of the session that the server sees.
const SESSION: &str = "check";

/// Checks the server of an extension, started as a session in `working_dir` would start it. See
/// [`run`](runner::run).
///
/// # Errors
/// Why no check could be made. Nothing of the server is left.
pub fn check_extension(
    registry: &Registry,
    config: &ExtensionConfig,
    working_dir: &Path,
    options: &CheckOptions,
    progress: &dyn Fn(&str),
    cancel: &Cancel,
) -> Result<CheckReport, String> {
    let data = Arc::new(InMemoryData::default());
    let context = (registry.extension_setup()).context(SESSION, working_dir, data);
    runner::run(&context, config, options, progress, cancel)
}
