//! What service managers of Unix pass on, and sockets with a path: neither exists here.

use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

/// A listening stream socket that another process has opened: there is none.
#[derive(Debug)]
pub enum ListeningSocket {}

/// No socket can be passed on: why, for each of so many.
pub fn take_inherited(count: u16) -> Vec<io::Result<ListeningSocket>> {
    let refused = || Err(io::ErrorKind::Unsupported.into());
    std::iter::repeat_with(refused).take(count.into()).collect()
}

/// No socket with a path can be made.
///
/// # Errors
/// Always `Unsupported`.
pub fn listen_privately(_: &Path) -> io::Result<ListeningSocket> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A clock that never goes back, in microseconds since this was first asked.
pub fn monotonic_micros() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_micros() as u64
}
