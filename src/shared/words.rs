//! The words of a command line.

use gosling_core::command_line::Failure;

/// The command line lacks this word.
pub fn missing(what: &str) -> Failure {
    Failure::Usage(format!("no {what} given"))
}

/// A word as a person reads it among others: in quotes if it is empty or has blanks.
pub fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("{word:?}")
    } else {
        word.to_owned()
    }
}
