//! Fuzz targets for what models and repositories hand to the tools: diffs, commands, patterns.

use super::gitignore::{self, Gitignore};
use super::{gooseignore, line_endings, shell_words, unified_diff};
use gosling_core::text::fuzz_input::Target;
#[cfg(test)]
use gosling_core::text::fuzz_input::check_seeds;
use gosling_core::text::fuzz_input::texts;
use std::path::Path;

/// The targets.
pub const TARGETS: &[Target] = &[
    Target::new("patch", patch, 300),
    Target {
        // A command of any length may have the most words, and the most text.
        base_memory: 4 << 20,
        ..Target::new("shell_words", shell_words, 300)
    },
    #[cfg(feature = "image")]
    Target::new("image_header", super::image::fuzzing::image_header, 50),
    #[cfg(feature = "analyze")]
    Target::new("source", super::analyze::fuzzing::source, 1000),
];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}

/// A diff of two texts turns the first into the second; any other diff changes only the lines that it names.
pub fn patch(input: &[u8]) {
    let [old, new, diff] = texts(input);
    if let Ok(patches) = unified_diff::parse(&diff) {
        assert!(!patches.is_empty());
        for patch in &patches {
            if let Ok((made, first, last)) = patch.apply(&old) {
                only_between(&old, &made, first, last);
            }
        }
    }
    let is_plain = |text: &str| !text.contains('\r');
    if is_plain(&old) && is_plain(&new) && old != new {
        let diff = diff_of(&old, &new);
        let patches = unified_diff::parse(&diff).unwrap_or_else(|why| panic!("{why}: {diff:?}"));
        assert_eq!(patches.len(), 1, "{diff:?}");
        let made = patches[0].apply(&old).map(|(made, ..)| made);
        assert_eq!(made.as_deref(), Ok(new.as_str()), "{diff:?}");
        // CR LF line ends are kept.
        let windows = |text: &str| text.replace('\n', "\r\n");
        if old.contains('\n') {
            let made = patches[0].apply(&windows(&old)).map(|(made, ..)| made);
            assert_eq!(made, Ok(windows(&new)), "{diff:?}");
        }
    }
    edited(&old, &new);
}

/// The lines before the first changed one and after the last one are unchanged.
fn only_between(old: &str, new: &str, first: usize, last: usize) {
    // The last line may gain or lose its line end; a CR before it is part of the line then.
    let lines = |text: &str| -> Vec<String> {
        let lines = line_endings::split(text).into_iter();
        lines
            .map(|line| line.text.trim_end_matches('\r').to_owned())
            .collect()
    };
    let old_lines = lines(old);
    let new_lines = lines(new);
    let before = &new_lines[..first.saturating_sub(1).min(new_lines.len())];
    let behind = &new_lines[last.min(new_lines.len())..];
    let shown = || format!("{old:?} became {new:?}, from {first} to {last}");
    assert!(old_lines.starts_with(before), "{}", shown());
    assert!(old_lines.ends_with(behind), "{}", shown());
}

/// A unified diff with one hunk, without lines around it.
fn diff_of(old: &str, new: &str) -> String {
    let old_lines = line_endings::split(old);
    let new_lines = line_endings::split(new);
    let count = |lines: &[line_endings::Line<'_>]| match lines.len() {
        0 => "0,0".to_owned(),
        count => format!("1,{count}"),
    };
    let mut diff = format!(
        "--- a/f\n+++ b/f\n@@ -{} +{} @@\n",
        count(&old_lines),
        count(&new_lines)
    );
    for (sign, lines) in [('-', &old_lines), ('+', &new_lines)] {
        for line in lines {
            diff.push(sign);
            diff.push_str(line.text);
            diff.push('\n');
            if line.end.is_empty() {
                diff.push_str("\\ No newline at end of file\n");
            }
        }
    }
    diff
}

/// The edits that are not diffs.
fn edited(text: &str, new: &str) {
    let plain = line_endings::with_lf(text);
    let plain_new = line_endings::with_lf(new);
    // The result is unspecified where a lone CR ends up before a line feed.
    if !plain.contains('\r') && !plain_new.contains('\r') {
        let from = plain.len() / 3;
        let to = plain.len() - plain.len() / 4;
        let place = plain.floor_char_boundary(from)..plain.ceil_char_boundary(to);
        let made = line_endings::splice(text, &place, &plain_new);
        let expected = [&plain[..place.start], &plain_new, &plain[place.end..]].concat();
        assert_eq!(
            line_endings::with_lf(&made),
            expected,
            "{text:?} {place:?} {new:?}"
        );
    }
    let lines = line_endings::split(text).len();
    let made = line_endings::insert(text, lines / 2, new);
    assert_eq!(
        line_endings::lacks_final_newline(&made),
        line_endings::lacks_final_newline(text)
    );
    let made = line_endings::rewrite(text, new);
    assert!(
        line_endings::with_lf(&made)
            .ends_with(&*line_endings::with_lf(line_endings::split_bom(new).1))
    );
}

/// The words of a command and the patterns of `.gooseignore`: a plainly written name is found.
pub fn shell_words(input: &[u8]) {
    let [command, patterns, name] = texts(input);
    let variable = |name: &str| (name.len() < 3).then(|| "a value".to_owned());
    let found = shell_words::words_of(&command, &variable).unwrap_or_default();
    for word in found.iter().take(50) {
        let is_hidden = word.text.starts_with('.');
        assert_eq!(gooseignore::matches(b"*", word.text.as_bytes()), !is_hidden);
    }
    let is_plain = |c: char| !c.is_control() && c != '\'';
    if !name.is_empty() && name.chars().all(is_plain) {
        for command in [
            format!("cat '{name}'"),
            format!("cd x && cat <'{name}' | wc; true"),
            format!("bash -c \"cat '{}'\"", in_double_quotes(&name)),
        ] {
            let found = shell_words::words_of(&command, &variable).expect("a plain command");
            assert!(
                found.iter().any(|word| word.text == name),
                "{command:?}: {found:?}"
            );
        }
        let literal = name
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.".contains(c));
        assert!(!literal || gooseignore::matches(name.as_bytes(), name.as_bytes()));
    }
    ignored(&patterns, &name);
}

fn in_double_quotes(text: &str) -> String {
    let mut quoted = String::new();
    for c in text.chars() {
        if "\"\\$`".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

fn ignored(patterns: &str, name: &str) {
    let mut rules = Gitignore::new(None);
    let lines: Vec<_> = gitignore::lines(patterns.as_bytes()).take(20).collect();
    for line in &lines {
        if line.len() > 1_000 || rules.add(line).is_err() {
            return;
        }
    }
    let _ = rules.matched(Path::new(name), false);
    let last = lines.last().map_or(Ok(""), |line| str::from_utf8(line));
    let last = last.expect("a line of a text is a text");
    let plainly = |c: char| c.is_alphanumeric() || "-_.{}".contains(c);
    if !last.is_empty() && last.chars().all(plainly) && !matches!(last, "." | "..") {
        let rule = rules.matched(Path::new(last), false);
        assert!(rule.is_some_and(|rule| !rule.negated), "{last:?}");
    }
}
