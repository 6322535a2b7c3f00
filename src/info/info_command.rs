//! The command.

use crate::command_line::{Command, Failure, paths, print};
use crate::sections::{self, Surroundings};
use lexopt::prelude::*;
use std::path::PathBuf;

pub(crate) const COMMAND: Command = Command {
    name: "info",
    summary: "what this is, where its files are, and what is on",
    help: HELP,
    run,
};

const HELP: &str = "\
usage: gosling info [--policy FILE] [--json]

Prints the version and features of this program, its folders and files, where
it would listen, which restrictions hold, and what is wrong. Run it as the user
of the service, with its variables. It starts and changes nothing, and prints no
secret.

options:
  --policy FILE   the administrator's policy (/etc/gosling/policy.yaml)
  --json          print JSON
  -h, --help      show this

exit codes: 0 done, also if something is wrong, 1 no folder for files is known,
2 the command line makes no sense
";

fn run(mut parser: lexopt::Parser, server_key: Option<String>) -> Result<(), Failure> {
    let (mut policy, mut as_json) = (None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Err(Failure::Help),
            Long("json") => as_json = true,
            Long("policy") if policy.is_none() => {
                policy = Some(PathBuf::from(parser.value()?));
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let report = sections::collect(&Surroundings {
        paths: paths()?,
        policy,
        has_key: server_key.is_some(),
    });
    print(&if as_json {
        report.to_json()
    } else {
        report.to_text()
    })
}
