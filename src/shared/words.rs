//! The words of a command line.

use gosling_core::command_line::{Failure, text};
use lexopt::prelude::*;

/// The rest of a command line of at most `most` words: these, and for each of the options `flags` whether it is given.
///
/// # Errors
/// [`Failure::Help`]; [`Failure::Usage`] for anything else.
pub fn words<const N: usize>(
    mut parser: lexopt::Parser,
    most: usize,
    flags: [&str; N],
) -> Result<(Vec<String>, [bool; N]), Failure> {
    let (mut words, mut given) = (Vec::new(), [false; N]);
    while let Some(argument) = parser.next()? {
        let flag = |name| flags.iter().position(|flag| *flag == name);
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long(name) if let Some(at) = flag(name) => given[at] = true,
            Value(word) if words.len() < most => words.push(text(word)?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok((words, given))
}

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
