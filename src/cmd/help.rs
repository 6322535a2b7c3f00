//! `gosling help`: the commands, their options, and the pages of the manual.

use super::{command, commands};
use crate::features::{FEATURES, hint};
use crate::parts::PARTS;
use gosling_core::command_line::{Command, Failure, print, rest};
use gosling_core::part::Topic;
use std::fmt::Write;

const TITLE: &str = "\
gosling: a small server that speaks Goose's HTTP API and runs MCP extensions

usage: gosling COMMAND [OPTIONS]
";

const OPTIONS: &str = "\
options:
  -h, --help      show help, also after a command
  -V, --version   show the version
  --policy FILE   after a command: what the administrator allows

exit codes: 0 done, 1 tried and failed, 2 the command line makes no sense, or
the policy cannot be used
";

pub(super) const COMMAND: Command = Command {
    name: "help",
    summary: "print this, a command's help, or a page of the manual",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling help [COMMAND | TOPIC]

Prints the help of a command, or a page of the manual; without a name, lists
both.
";

/// Prints what the rest of the command line asks for.
///
/// # Errors
/// [`Failure::Usage`] with all names, if there is no such command or topic.
fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let names = rest(&mut parser)?;
    let Some(name) = names.first() else {
        return print(&overview());
    };
    if let Some(extra) = names.get(1) {
        return Err(Failure::Usage(format!("unexpected argument {extra:?}")));
    }
    match name.to_str() {
        Some("-h" | "--help") => print(HELP),
        Some(name) if let Some(text) = find(name) => print(&text),
        _ => Err(Failure::Usage(format!(
            "there is no help for {name:?}
commands: {}
{}",
            join(commands().map(|command| command.name)),
            list_of_topics(),
        ))),
    }
}

/// The commands, their options, and the topics of the manual.
pub(super) fn overview() -> String {
    let mut text = format!("{TITLE}\ncommands:\n");
    for command in commands() {
        let _ = writeln!(text, "  {:<8}  {}", command.name, command.summary);
    }
    let _ = write!(text, "\n{OPTIONS}");
    if topics().next().is_some() {
        text.push_str("\nmanual: `gosling help TOPIC` prints a page\n");
    }
    for topic in topics() {
        let _ = writeln!(text, "  {:<13}  {}", topic.name, topic.summary);
    }
    let left_out = FEATURES.iter().filter(|feature| !feature.is_built);
    let left_out = join(left_out.map(|feature| feature.name));
    if !left_out.is_empty() {
        let _ = writeln!(text, "\nleft out of this build: {left_out}");
    }
    text
}

/// The options of the command of this name, and the page of the manual.
fn find(name: &str) -> Option<String> {
    let command = command(name);
    let topic = topics().find(|topic| topic.name == name);
    let options = command.map(|command| command.help);
    let page = topic.map(|topic| topic.text);
    match (options, page) {
        (Some(options), Some(page)) => Some(format!("{options}\n{page}")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

/// The pages of the manual.
fn topics() -> impl Iterator<Item = &'static Topic> {
    PARTS.iter().flat_map(|part| part.topics)
}

/// The topics of the manual, for an error.
fn list_of_topics() -> String {
    let names = join(topics().map(|topic| topic.name));
    if names.is_empty() {
        return format!("there is no manual{}", hint("manual"));
    }
    format!("topics: {names}")
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
