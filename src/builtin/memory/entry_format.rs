//! Reads and writes the file of a category, in Goose's format.
//!
//! Empty lines separate entries. The first line of an entry may be `#` and its tags; the other lines are its
//! text. An empty line within an entry is written as a single space: Goose, which does not support such entries,
//! then still reads one entry, and shows the line as it is. A text that begins with `#` is preceded by a line
//! that is only `#`, so that it is not read as tags.

use std::ops::Range;

/// A memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Words without white space.
    pub(super) tags: Vec<String>,
    /// One or more lines. The first and the last one are not empty.
    pub(super) text: String,
}

impl Entry {
    /// Creates an entry that a file can represent: line ends become `\n`, control characters and the blanks
    /// of blank lines are removed, and each tag becomes one word.
    pub(super) fn new(text: &str, tags: &[String]) -> Self {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let allowed = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
        let text: String = text.chars().filter(allowed).collect();
        Entry {
            tags: tags.iter().filter_map(|tag| tag_word(tag)).collect(),
            text: tidy(text.lines()),
        }
    }

    /// The entry as text for the file, with the empty line after it.
    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        if !self.tags.is_empty() {
            out = format!("# {}\n", self.tags.join(" "));
        } else if self.text.starts_with('#') {
            out.push_str("#\n");
        }
        for line in self.text.lines() {
            out.push_str(if line.is_empty() { " " } else { line });
            out.push('\n');
        }
        out.push('\n');
        out
    }
}

fn tag_word(tag: &str) -> Option<String> {
    let tag = tag.trim().trim_start_matches('#');
    let words: Vec<&str> = tag.split_whitespace().collect();
    let tag_word: String = words.join("-");
    let tag_word: String = tag_word.chars().filter(|c| !c.is_control()).collect();
    (!tag_word.is_empty()).then_some(tag_word)
}

/// Joins the lines; blank lines become empty, and those at both ends are removed.
fn tidy<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let empty = |line: &str| line.trim().is_empty();
    let lines = lines.map(|line| if empty(line) { "" } else { line });
    let lines: Vec<&str> = lines.skip_while(|line| empty(line)).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The entries of a file, with their byte ranges.
pub(super) fn parse(content: &str) -> Vec<(Entry, Range<usize>)> {
    let mut found = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in content.split_inclusive('\n') {
        let end = at + line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            found.extend(entry(&lines).map(|entry| (entry, start..at)));
            lines.clear();
        } else {
            if lines.is_empty() {
                start = at;
            }
            lines.push(line);
        }
        at = end;
    }
    found.extend(entry(&lines).map(|entry| (entry, start..at)));
    found
}

fn entry(lines: &[&str]) -> Option<Entry> {
    let (first, rest) = lines.split_first()?;
    let (tags, text) = match first.strip_prefix('#') {
        Some(tags) => (tags, rest),
        None => ("", lines),
    };
    let entry = Entry {
        tags: tags.split_whitespace().map(str::to_owned).collect(),
        text: tidy(text.iter().copied()),
    };
    (entry != Entry::default()).then_some(entry)
}

/// Removes these ranges from the content, which is otherwise unchanged.
pub(super) fn without(content: &str, places: &[Range<usize>]) -> String {
    let mut left = String::with_capacity(content.len());
    let mut at = 0;
    for place in places {
        left.push_str(&content[at..place.start]);
        // The empty lines after an entry are removed with it.
        let behind = content[place.end..].bytes();
        let empty = behind.take_while(|byte| matches!(byte, b'\n' | b'\r'));
        at = place.end + empty.count();
    }
    left.push_str(&content[at..]);
    left
}

#[cfg(test)]
mod tests;
