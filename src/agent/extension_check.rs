//! Checks the server of an extension outside of all sessions.

use super::Registry;
use crate::builtin::InMemoryData;
use crate::check::{self, Options, Report};
use crate::extension::ExtensionConfig;
use crate::sys::cancel::Cancel;
use std::path::Path;
use std::sync::Arc;

/// The id of the session that the server sees.
const SESSION: &str = "check";

impl Registry {
    /// Checks the server of an extension, started as a session in `working_dir` would start it. See
    /// [`check::run`].
    ///
    /// # Errors
    /// Why no check could be made. Nothing of the server is left.
    pub fn check_extension(
        &self,
        config: &ExtensionConfig,
        working_dir: &Path,
        options: &Options,
        progress: &dyn Fn(&str),
        cancel: &Cancel,
    ) -> Result<Report, String> {
        let data = Arc::new(InMemoryData::default());
        let context = self.extension_context(SESSION, working_dir, data);
        check::run(&context, config, options, progress, cancel)
    }
}
