//! `gosling help`: the commands, their options, and the pages of the manual.

use super::{Failure, agent, print, rest};
use crate::features::{FEATURES, hint};
use crate::manual::TOPICS;
use std::fmt::Write;

const TITLE: &str = "\
gosling: a small server that speaks Goose's HTTP API and runs MCP extensions

usage: gosling COMMAND [OPTIONS]
";

const OPTIONS: &str = "\
options:
  -h, --help      show help, also after a command
  -V, --version   show the version

exit codes: 0 done, 1 tried and failed, 2 the command line makes no sense
";

const HELP: &str = "\
usage: gosling help [COMMAND | TOPIC]

Prints the help of a command, or a page of the manual; without a name, lists
both.
";

/// A command of this build.
struct Command {
    name: &'static str,
    /// What the command does, in half a line.
    summary: &'static str,
    /// What `gosling NAME --help` prints.
    help: &'static str,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "agent",
        summary: "serve the API; a drop-in for `goosed agent`",
        help: agent::HELP,
    },
    #[cfg(feature = "chat")]
    Command {
        name: "chat",
        summary: "talk to a model, in the terminal or through a pipe",
        help: super::chat::HELP,
    },
    #[cfg(feature = "acp")]
    Command {
        name: "acp",
        summary: "speak the Agent Client Protocol, for an editor that starts it",
        help: super::acp::HELP,
    },
    #[cfg(feature = "demo")]
    Command {
        name: "demo",
        summary: "show a whole session with an MCP server, step by step",
        help: super::demo::HELP,
    },
    #[cfg(feature = "chat")]
    Command {
        name: "call",
        summary: "call one tool of an MCP server, without starting `agent`",
        help: super::call::HELP,
    },
    #[cfg(all(feature = "chat", feature = "recipes"))]
    Command {
        name: "run",
        summary: "run a recipe and leave",
        help: super::run::HELP,
    },
    #[cfg(feature = "recipes")]
    Command {
        name: "recipe",
        summary: "validate recipe files, with the line of every fault",
        help: super::recipe::HELP,
    },
    #[cfg(feature = "schedules")]
    Command {
        name: "schedule",
        summary: "list recipes that run at set times, with their next runs",
        help: super::schedule::HELP,
    },
    #[cfg(feature = "deeplinks")]
    Command {
        name: "deeplink",
        summary: "say what a goose:// link would install, and install it",
        help: super::deeplink::HELP,
    },
    #[cfg(feature = "chat")]
    Command {
        name: "extensions",
        summary: "list, show, add, enable, disable and remove extensions",
        help: super::extensions::HELP,
    },
    #[cfg(feature = "check")]
    Command {
        name: "check",
        summary: "say whether Goose can use an MCP server, and what to fix",
        help: super::check::HELP,
    },
    #[cfg(feature = "screening")]
    Command {
        name: "advisories",
        summary: "make the index of malware that packages are checked against",
        help: super::advisories::HELP,
    },
    #[cfg(feature = "builtin")]
    Command {
        name: "mcp",
        summary: "run an MCP server that gosling ships, on stdio or over HTTP",
        help: super::mcp::HELP,
    },
    Command {
        name: "help",
        summary: "print this, a command's help, or a page of the manual",
        help: HELP,
    },
];

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
            "there is no help for {name:?}
commands: {}
{}",
            join(COMMANDS.iter().map(|command| command.name)),
            topics(),
        ))),
    }
}

/// The commands, their options, and the topics of the manual.
pub(super) fn overview() -> String {
    let mut text = format!("{TITLE}\ncommands:\n");
    for command in COMMANDS {
        let _ = writeln!(text, "  {:<8}  {}", command.name, command.summary);
    }
    let _ = write!(text, "\n{OPTIONS}");
    if !TOPICS.is_empty() {
        text.push_str("\nmanual: `gosling help TOPIC` prints a page\n");
    }
    for topic in TOPICS {
        let _ = writeln!(text, "  {:<13}  {}", topic.name, topic.summary);
    }
    let left_out = FEATURES.iter().filter(|(_, is_built)| !is_built);
    let left_out = join(left_out.map(|(name, _)| *name));
    if !left_out.is_empty() {
        let _ = writeln!(text, "\nleft out of this build: {left_out}");
    }
    text
}

/// The options of the command of this name, and the page of the manual.
fn find(name: &str) -> Option<String> {
    let command = COMMANDS.iter().find(|command| command.name == name);
    let topic = TOPICS.iter().find(|topic| topic.name == name);
    let options = command.map(|command| command.help);
    let page = topic.map(|topic| topic.text);
    match (options, page) {
        (Some(options), Some(page)) => Some(format!("{options}\n{page}")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

/// The topics of the manual, for an error.
fn topics() -> String {
    if TOPICS.is_empty() {
        return format!("there is no manual{}", hint("manual"));
    }
    let names = join(TOPICS.iter().map(|topic| topic.name));
    format!("topics: {names}")
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
