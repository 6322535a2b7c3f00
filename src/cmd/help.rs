//! `gosling help`: the commands, their options, and the pages of the manual.

use super::{Failure, agent, call, chat, demo, mcp, print, rest};
use crate::manual::TOPICS;
use std::fmt::Write;

const INTRODUCTION: &str = "\
gosling: a small server that speaks Goose's HTTP API and runs MCP extensions

usage: gosling COMMAND [OPTIONS]

commands:
  agent   serve the API; a drop-in for `goosed agent`
  chat    talk to a model, in the terminal or through a pipe
  demo    show a whole session with an MCP server, step by step
  call    call one tool of an MCP server, without starting `agent`
  mcp     run one of the MCP servers that gosling ships, on stdin and stdout or
          over HTTP
  help    print this, the help of a command, or a page of the manual

options:
  -h, --help      show help, also after a command
  -V, --version   show the version

exit codes: 0 done, 1 tried and failed, 2 the command line makes no sense
";

/// The help text of each command.
const COMMANDS: [(&str, &str); 6] = [
    ("agent", agent::HELP),
    ("chat", chat::HELP),
    ("demo", demo::HELP),
    ("call", call::HELP),
    ("mcp", mcp::HELP),
    ("help", HELP),
];

const HELP: &str = "\
usage: gosling help [COMMAND | TOPIC]

Prints the help of a command, or a page of the manual; without a name, lists
both.
";

/// Prints what the rest of the command line asks for.
///
/// # Errors
/// [`Failure::Usage`] with all names, if there is no such command or topic.
pub(super) fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
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
            "there is no help topic {name:?}; the commands are {}; the topics are {}",
            join(COMMANDS.iter().map(|(name, _)| *name)),
            join(TOPICS.iter().map(|topic| topic.name)),
        ))),
    }
}

/// The commands, their options, and the topics of the manual.
pub(super) fn overview() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\nmanual: `gosling help TOPIC` prints a page\n");
    for topic in TOPICS {
        let _ = writeln!(text, "  {:<13}  {}", topic.name, topic.summary);
    }
    text
}

/// The options of the command of this name, and the page of the manual.
fn find(name: &str) -> Option<String> {
    let command = COMMANDS.iter().find(|(command, _)| *command == name);
    let command = command.map(|(_, text)| *text);
    let topic = TOPICS.iter().find(|topic| topic.name == name);
    let topic = topic.map(|topic| topic.text);
    match (command, topic) {
        (Some(options), Some(page)) => Some(format!("{options}\n{page}")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
