//! Measures the memory that parsing patches and commands takes, see `gosling_testing::memory_ratio`.

use super::shell::MAX_COMMAND;
use super::shell_words;
use super::unified_diff::{self, MAX_DIFF};
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
            "a ", "a", "$(", "${a:-", "a;", "\"a\" ", "$a ", "{a,b}", "{a,", "{a,b", "a\n", "`",
            "<<a\n", "a=b ", "'a'", "a=$a$a ", "eval ",
        ],
    );
    // Values that are repeated, and alternatives with a long text around them.
    let value = "v".repeat(2_000);
    for (begin, unit) in [
        (format!("A={value};"), "$A "),
        (format!("A={value};"), "$A"),
        ("A='a a a a a a a a a a';".to_owned(), "$A "),
        (format!("{{{}}}", ",".repeat(7)), "x"),
        (format!("{{{}}}", ",".repeat(1_000)), "x"),
        ("{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}{,} ".to_owned(), "x "),
        ("eval 'eval \"eval ".to_owned(), "x "),
    ] {
        commands.push(filled(MAX_COMMAND, &begin, unit, ""));
    }
    at_most(23, "shell command", &commands, |command| {
        shell_words::words_of(text(command), &|_| Some("x".to_owned()))
    });
}
