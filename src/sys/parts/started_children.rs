//! What only some need to know of commands and of children.

use crate::process::Command;
use std::ffi::OsStr;

/// Whether this system has a request to end that comes before a child is killed, as SIGTERM is on Unix.
pub const CHILDREN_ARE_ASKED_TO_END: bool = cfg!(not(windows));

impl Command {
    /// The variables that are set beside the inherited ones.
    pub fn set_variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let all = self.variables.iter();
        all.filter_map(|(name, value)| Some((name.as_os_str(), value.as_deref()?)))
    }
}
