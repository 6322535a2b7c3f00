//! The limit on the calls of one response.

use super::Error;

/// The most calls in one response.
const MAX_CALLS: usize = 1000;

/// Checks whether a response with `calls` calls may have another.
///
/// # Errors
/// [`Protocol`](super::ErrorClass::Protocol) if it has [`MAX_CALLS`]: the turn would make all of them.
pub(super) fn check_call_count(calls: usize) -> Result<(), Error> {
    if calls < MAX_CALLS {
        Ok(())
    } else {
        let what = format!("more than {MAX_CALLS} tool calls in one answer");
        Err(Error::protocol(what))
    }
}
