//! Files that are read, and are not those of gosling's user.

use gosling_core::store::Error;

/// What is wrong with a file that was downloaded, or that another program has made. What to do with a broken file of the
/// user is no advice for these.
pub fn without_advice(error: Error) -> String {
    match error {
        Error::Broken { path, reason, .. } => format!("{}: {reason}", path.display()),
        error => error.to_string(),
    }
}
