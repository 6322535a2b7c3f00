//! What patches and commands take while they are read, see `crate::memory_ratio`.

use super::{patch, patterns, words};
use crate::memory_ratio::{at_most, filled};

const SIZE: usize = 1 << 18;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the text is ASCII")
}

#[test]
fn memory_ratio_of_patches() {
    let hunk = "--- a/f\n+++ b/f\n@@ -0,0 +1,999999 @@\n";
    let diffs = [
        filled(SIZE, "", "\n", ""),
        filled(SIZE, hunk, "\n", ""),
        filled(SIZE, hunk, "+\n", ""),
        filled(SIZE, hunk, "+\r\n", "+\n"),
        filled(SIZE, "", "--- a\n+++ b\n", ""),
        filled(SIZE, "", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", ""),
        filled(SIZE, "", "diff --git a/a b/a\n", ""),
        filled(SIZE, "--- a/f\n+++ b/f\n", "@@ -1 +1 @@\n-\n+\n", ""),
    ];
    at_most(60, "patch", &diffs, |diff| patch::parse(text(diff)));
}

#[test]
fn memory_ratio_of_commands() {
    let commands = [
        "a ", "$(", "a;", "\"a\" ", "$a ", "{a,b}", "a\n", "`", "<<a\n", "a=b ", "'a'",
    ];
    let commands = commands.map(|unit| filled(SIZE, "", unit, ""));
    at_most(30, "shell command", &commands, |command| {
        words::of(text(command), &|_| Some("x".to_owned()))
    });
    let patterns =
        ["{a,b}", "{a,", "{", "{}", "{1..9}", "{a,b"].map(|unit| filled(SIZE, "", unit, ""));
    let far = format!("{{{}}}", ",".repeat(SIZE / 2));
    let patterns = [&patterns[..], &[filled(SIZE, &far, "x", "")]].concat();
    at_most(120, "braces", &patterns, |word| {
        patterns::braces(text(word))
    });
}
