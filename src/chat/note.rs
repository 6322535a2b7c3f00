//! What a person at the terminal is told besides the conversation.

use std::io::{self, Write};

/// Prints a line to stderr. A closed stderr is not an error.
pub fn print_note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
