//! Variables for this process alone: what starts here does not get them.

use crate::{lock, os};
use std::ffi::OsString;
use std::sync::Mutex;

static TAKEN: Mutex<Vec<OsString>> = Mutex::new(Vec::new());

/// Takes a variable, such as a secret, out of the environment and returns its value if it is Unicode; `None` the second
/// time. No [`Command`](crate::process::Command) inherits it from now on.
///
/// Where the system says that this process has one thread, the variable is removed, and the memory in which other
/// processes see it is overwritten. Otherwise another thread could read the environment at the same time, so it stays as
/// it is: call this first in `main`.
pub fn take_variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    let mut taken = lock(&TAKEN);
    if taken.iter().any(|other| other == name) {
        return None;
    }
    taken.push(name.into());
    if os::is_only_thread() {
        os::erase_variable(name);
    }
    value.into_string().ok()
}

/// The names of the variables that were taken. On Windows they are removed, always.
#[cfg(not(windows))]
pub(crate) fn taken() -> Vec<OsString> {
    lock(&TAKEN).clone()
}

#[cfg(all(test, not(windows)))]
mod tests;
