//! The command line of an extension, for people to read.

use crate::extension::inline_python::PythonRunner;
use crate::extension::{Error, ExtensionConfig};

/// The program that starts for an extension, and its arguments; `None` if none does, or the build cannot run it.
/// `{file}` stands for the file with inline Python.
///
/// # Errors
/// The extension cannot start, since a dependency or a setting is invalid.
pub(super) fn launch_line(
    config: &ExtensionConfig,
    python: Option<&dyn PythonRunner>,
) -> Result<Option<Vec<String>>, Error> {
    match config {
        ExtensionConfig::Stdio(stdio) => {
            let mut words = vec![stdio.cmd.clone()];
            words.extend(stdio.args.iter().cloned());
            Ok(Some(words))
        }
        ExtensionConfig::InlinePython(code) => python.map(|python| python.words(code)).transpose(),
        _ => Ok(None),
    }
}
