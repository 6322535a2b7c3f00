//! Printing what has to arrive.

use std::io::{self, Write};

/// Prints to stdout.
///
/// # Errors
/// When it cannot be written, also because its reader has gone.
pub fn print_all(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
