//! The command: prints what a service needs, made for this program.

use crate::command_line::{Command, Failure, failed, print, text};
use lexopt::prelude::*;
use std::env;

pub(crate) const COMMAND: Command = Command {
    name: "service",
    summary: "units, manifests and proxies for the server",
    help: HELP,
    run,
};

const HELP: &str = "\
usage: gosling service KIND [--socket]

Prints what runs the server as a service, or stands before it:

  systemd      the unit for systemd, which runs this program as a user of its
               own with nothing but its state folder, tells it when the server
               is ready, and ends a server that hangs
  container    the build file of an image with nothing but gosling
  kubernetes   a StatefulSet with probes, a volume and a read-only root, and its
               Service
  nginx        the part of nginx's configuration for a proxy
  haproxy      the same for HAProxy

What to do with it: `gosling help service`.

options:
  --socket     the unit with sockets that systemd opens for the server
  -h, --help   show this
";

/// What is printed as it is, by its name.
const FILES: [(&str, &str); 4] = [
    ("container", include_str!("printed/Containerfile")),
    ("kubernetes", include_str!("printed/kubernetes.yaml")),
    ("nginx", include_str!("printed/nginx.conf")),
    ("haproxy", include_str!("printed/haproxy.cfg")),
];

/// The unit; `@program@` stands for the path of this program.
const UNIT: &str = include_str!("printed/gosling.service");
const SOCKET: &str = include_str!("printed/gosling.socket");

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
    let kind = kind.unwrap_or_default();
    if kind == "systemd" {
        return if socket { print(SOCKET) } else { unit() };
    }
    let file = FILES.iter().find(|(name, _)| *name == kind && !socket);
    let Some((_, text)) = file else {
        let wrong = "name what to print: `systemd` (with or without --socket), `container`, `kubernetes`, `nginx` or \
                     `haproxy`";
        return Err(Failure::Usage(wrong.to_owned()));
    };
    print(text)
}

fn unit() -> Result<(), Failure> {
    let program = env::current_exe().map_err(failed("no path of this program"))?;
    let program = program
        .to_str()
        .ok_or_else(|| Failure::Failed(format!("the path {} is not Unicode", program.display())))?;
    print(&UNIT.replace("@program@", &quoted(program)))
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
