//! `gosling version`.

use crate::build_facts::{COMMIT, CRATES, PROFILE, TARGET, TOOLCHAIN};
use crate::command_line::{Command, Failure, print};
use crate::features::FEATURES;
use lexopt::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(crate) const COMMAND: Command = Command {
    name: "version",
    summary: "the version, and with --verbose what was built from what",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling version [--verbose] [--json]

Prints the version; with --verbose also the commit, the features, the target,
the compiler, and the crates with their checksums. All of it was fixed when the
program was built.

options:
  --verbose     print all of it
  --json        print all of it as JSON
  -h, --help    show this
";

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The columns of a terminal.
const COLUMNS: usize = 80;

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut is_verbose, mut as_json) = (false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long("verbose") => is_verbose = true,
            Long("json") => as_json = true,
            other => return Err(other.unexpected().into()),
        }
    }
    print(&if as_json {
        format!("{:#}\n", to_json())
    } else if is_verbose {
        to_text()
    } else {
        format!("gosling {VERSION}\n")
    })
}

fn features() -> impl Iterator<Item = &'static str> {
    let built = FEATURES.iter().filter(|feature| feature.is_built);
    built.map(|feature| feature.name)
}

fn to_json() -> Value {
    let crates = CRATES.iter().map(
        |it| json!({"name": it.name, "version": it.version, "sha256": it.sha256, "own": it.is_own}),
    );
    let crates: Vec<Value> = crates.collect();
    json!({
        "version": VERSION,
        "commit": COMMIT,
        "target": TARGET,
        "toolchain": TOOLCHAIN,
        "profile": PROFILE,
        "features": features().collect::<Vec<_>>(),
        "crates": crates,
    })
}

fn to_text() -> String {
    let mut out = format!("gosling {VERSION}\n");
    for (name, value) in [
        ("commit", COMMIT),
        ("target", TARGET),
        ("toolchain", TOOLCHAIN),
        ("profile", PROFILE),
    ] {
        let _ = writeln!(out, "{name:9}  {value}");
    }
    let _ = writeln!(out, "{:9}  {}", "features", in_lines(features()));
    if CRATES.is_empty() {
        let _ = writeln!(out, "{:9}  unknown", "crates");
        return out;
    }
    let _ = writeln!(out, "{:9}  {}, with SHA-256", "crates", CRATES.len());
    for it in CRATES {
        let name = format!("{} {}", it.name, it.version);
        let of_others = it
            .sha256
            .unwrap_or("not from a registry, without a checksum");
        let hash = if it.is_own {
            "gosling's own"
        } else {
            of_others
        };
        let _ = writeln!(out, "  {name}  {hash}");
    }
    out
}

/// Words in lines, all but the first of which are indented; "none" if there are none.
fn in_lines(words: impl Iterator<Item = &'static str>) -> String {
    const INDENT: usize = 11;
    let (mut out, mut column) = (String::new(), INDENT);
    for word in words {
        if !out.is_empty() {
            out.push(',');
            if column + word.len() + 3 > COLUMNS {
                let _ = write!(out, "\n{:INDENT$}", "");
                column = INDENT;
            } else {
                out.push(' ');
                column += 2;
            }
        }
        out += word;
        column += word.len();
    }
    if out.is_empty() {
        out.push_str("none");
    }
    out
}
