//! Measures the memory that parsing patches and commands takes, see `gosling_testing::memory_ratio`.

use super::shell::MAX_COMMAND;
use super::unified_diff::{self, MAX_DIFF};
use super::{shell_patterns, shell_words};
use gosling_testing::memory_ratio::{at_most, filled};

/// Texts of `size` bytes, each a repetition of one unit.
fn texts(size: usize, units: &[&str]) -> Vec<Vec<u8>> {
    units
        .iter()
        .map(|unit| filled(size, "", unit, ""))
        .collect()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the text is ASCII")
}

#[test]
fn memory_ratio_of_patches() {
    let hunk = "--- a/f\n+++ b/f\n@@ -0,0 +1,9999999 @@\n";
    let mut diffs = texts(
        MAX_DIFF,
        &[
            "\n",
            "--- a\n+++ b\n",
            "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n",
            "diff --git a/a b/a\n",
        ],
    );
    diffs.extend([
        filled(MAX_DIFF, hunk, "\n", ""),
        filled(MAX_DIFF, hunk, "+\n", ""),
        filled(MAX_DIFF, hunk, "+\r\n", "+\n"),
        filled(MAX_DIFF, "--- a/f\n+++ b/f\n", "@@ -1 +1 @@\n-\n+\n", ""),
    ]);
    at_most(49, "patch", &diffs, |diff| unified_diff::parse(text(diff)));
}

#[test]
fn memory_ratio_of_commands() {
    let mut commands = texts(
        MAX_COMMAND,
        &[
            "a ",
            "a",
            "$(",
            "$(echo ",
            "${a:-",
            "${{'}'}",
            "a;",
            "\"a\" ",
            "$a ",
            "{a,b}",
            "a\n",
            "`",
            "<<a\n",
            "bash <<a\n",
            "a=b ",
            "'a'",
            "a=$a$a ",
        ],
    );
    // Words that stand for many values.
    let value = "v".repeat(2_000);
    let values: String = (0..40).map(|n| format!("A={n}{value};")).collect();
    let numbers: String = (0..40).map(|n| format!("A={n};")).collect();
    for (begin, unit) in [
        (format!("{numbers}$A$A."), "a"),
        (format!("{values}$A."), "a"),
        (values.clone(), "$A "),
        (values.clone(), "a=$A "),
        (values.clone(), "$A\n"),
        (format!("{values}L={value};"), "$L$A "),
        (format!("{values}N=A;"), "${!N} "),
    ] {
        commands.push(filled(MAX_COMMAND, &begin, unit, ""));
    }
    at_most(70, "shell command", &commands, |command| {
        shell_words::words_of(text(command), &|_| Some("x".to_owned()))
    });
    let mut patterns = texts(MAX_COMMAND, &["{a,b}", "{a,", "{", "{}", "{1..9}", "{a,b"]);
    for count in [2, 8, 32, 99, 1_000, 30_000, MAX_COMMAND / 2] {
        let begin = format!("{{{}}}", ",".repeat(count - 1));
        patterns.push(filled(MAX_COMMAND, &begin, "x", ""));
        patterns.push(filled(MAX_COMMAND, &begin, "{,}", ""));
    }
    at_most(34, "braces", &patterns, |word| {
        shell_patterns::expand_braces(text(word))
    });
}
