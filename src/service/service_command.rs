//! The command: prints what a service needs, made for this program.

use crate::command_line::{Command, Failure, failed, print, text};
use lexopt::prelude::*;
use std::env;

pub(crate) const COMMAND: Command = Command {
    name: "service",
    summary: "the unit with which systemd runs the server",
    help: HELP,
    run,
};

const HELP: &str = "\
usage: gosling service systemd [--socket]

Prints a unit for systemd, which runs this program as a user of its own with
nothing but its state folder, tells it when the server is ready, and ends a
server that hangs. How to install it: `gosling help service`.

options:
  --socket     print the unit with sockets that systemd opens for the server
  -h, --help   show this
";

/// The unit; `@program@` stands for the path of this program.
const UNIT: &str = include_str!("gosling.service");
const SOCKET: &str = include_str!("gosling.socket");

fn run(mut parser: lexopt::Parser, _: Option<String>) -> Result<(), Failure> {
    let (mut kind, mut socket) = (None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long("socket") => socket = true,
            Value(value) if kind.is_none() => kind = Some(text(value)?),
            other => return Err(other.unexpected().into()),
        }
    }
    match kind.as_deref() {
        Some("systemd") if socket => print(SOCKET),
        Some("systemd") => {
            let program = env::current_exe().map_err(failed("no path of this program"))?;
            let program = program.to_str().ok_or_else(|| {
                Failure::Failed(format!("the path {} is not Unicode", program.display()))
            })?;
            print(&UNIT.replace("@program@", &quoted(program)))
        }
        Some(other) => Err(Failure::Usage(format!("{other:?} is not `systemd`"))),
        None => Err(Failure::Usage("name what to print: `systemd`".to_owned())),
    }
}

/// A path as systemd reads one in a command line: specifiers, variables and quotes mean nothing.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    let mut text = String::from("\"");
    for c in path.chars() {
        match c {
            '%' | '$' => text.extend([c, c]),
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_are_quoted_for_systemd() {
        assert_eq!(quoted("/usr/bin/gosling"), "/usr/bin/gosling");
        assert_eq!(quoted("/a b/%h/$x\"\\"), r#""/a b/%%h/$$x\"\\""#);
        assert_eq!(quoted("/a\nExecStart=x"), "\"/a\\nExecStart=x\"");
    }
}
