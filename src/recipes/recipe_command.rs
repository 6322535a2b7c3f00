//! `gosling recipe`: tools for the person who writes recipes.

use crate::command_line::{Command, Failure, logging, print};
use crate::recipe::faults;
use crate::text::printable;
use gosling_shared::{missing, words};
use lexopt::prelude::*;
use std::fmt::Write;
use std::path::Path;

pub(crate) const COMMAND: Command = Command {
    name: "recipe",
    summary: "validate recipe files, with the line of every fault",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling recipe validate FILE...
example: gosling recipe validate standup.yaml

subcommands:
  validate   print every fault of recipe files, each on a line with its file,
             line, column and field

Files are YAML, or JSON if their name ends with .json. Nothing is run, and no
server is needed.

options:
  -h, --help   show this

exit codes: 0 all files are valid, 1 a file has faults or cannot be read, 2 the
command line makes no sense
";

/// The longest reason that is printed, in characters.
const MAX_REASON: usize = 2_000;

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    match parser.next()? {
        None => Err(Failure::Usage("no subcommand given".to_owned())),
        Some(Short('h') | Long("help")) => print(HELP),
        Some(Value(name)) if name == "validate" => validate(parser),
        Some(Value(name)) => Err(Failure::Usage(format!(
            "there is no subcommand {name:?}; there is validate"
        ))),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn validate(parser: lexopt::Parser) -> Result<(), Failure> {
    let (files, []) = words(parser, usize::MAX, [])?;
    if files.is_empty() {
        return Err(missing("FILE"));
    }
    let mut all_valid = true;
    for file in &files {
        let found = match faults::of_file(Path::new(file)) {
            Ok(found) => found,
            Err(error) => {
                let reason = printable(&error.to_string(), MAX_REASON);
                logging::say(&format!("gosling: cannot validate: {reason}\n"));
                all_valid = false;
                continue;
            }
        };
        let file = printable(file, MAX_REASON);
        let mut report = String::new();
        for fault in &found {
            let fault = printable(&fault.to_string(), MAX_REASON);
            let between = if fault.starts_with(|c: char| c.is_ascii_digit()) {
                ""
            } else {
                " "
            };
            let _ = writeln!(report, "{file}:{between}{fault}");
        }
        if found.is_empty() {
            let _ = writeln!(report, "{file}: valid");
        }
        print(&report)?;
        all_valid &= found.is_empty();
    }
    if all_valid {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}
