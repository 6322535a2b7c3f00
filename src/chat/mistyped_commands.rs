//! Mistyped slash commands, which do not go to the model.

use crate::agent::command_list;
use crate::store::Config;

/// The commands that the chat runs itself.
const OWN: [&str; 5] = ["effort", "exit", "help", "quit", "steer"];
/// The longest word that is compared with the commands, in bytes.
const MAX_COMPARED: usize = 64;
/// How many letters of a mistyped command differ at most.
const MAX_DISTANCE: usize = 2;

/// Why the line is not sent: it begins with a slash and a word that is not a command. Lines that begin with a path or
/// with a blank are sent.
pub(super) fn mistyped(line: &str, config: &Config) -> Option<String> {
    let word = line.strip_prefix('/')?.split(char::is_whitespace).next()?;
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    if word.is_empty() || !word.chars().all(is_word) {
        return None;
    }
    // The turn reports a configuration that cannot be read.
    let listed = command_list::list(config).ok()?;
    let listed = listed.iter().map(|command| command.command.as_str());
    let known: Vec<&str> = OWN.into_iter().chain(listed).collect();
    if known.contains(&word) {
        return None;
    }
    let near = match closest(word, &known) {
        Some(near) => format!("did you mean /{near}?"),
        None => "/help lists the commands.".to_owned(),
    };
    Some(format!(
        "there is no command /{word}; {near} Nothing was sent: a line that begins with a blank goes to the model"
    ))
}

/// The command that differs least from the word.
fn closest<'c>(word: &str, known: &[&'c str]) -> Option<&'c str> {
    if word.len() > MAX_COMPARED {
        return None;
    }
    let word = word.to_lowercase();
    let distances = known
        .iter()
        .map(|command| (distance(&word, command), *command));
    let (distance, command) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= MAX_DISTANCE.min(command.len() - 1)).then_some(command)
}

/// How many letters have to be changed, added or removed (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            let least = changed.min(row[j].min(row[j + 1]) + 1);
            diagonal = std::mem::replace(&mut row[j + 1], least);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests;
