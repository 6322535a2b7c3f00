//! `gosling check`: checks an MCP server against the contract that Goose's clients expect.

use crate::agent::{Registry, Stores};
use crate::catalogue::all_checks;
use crate::command_line::{Command, Failure, failed, paths, print, text};
use crate::extension::ExtensionConfig;
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::text::printable;
use crate::{CheckOptions, CheckReport, Profile, check_extension, report};
use gosling_core::part;
use gosling_shared::configured_extensions;
use lexopt::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const COMMAND: Command = Command {
    name: "check",
    summary: "say whether Goose can use an MCP server, and what to fix",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling check [OPTIONS] -- CMD [ARGS...]
       gosling check [OPTIONS] --url URL
       gosling check [OPTIONS] --extension NAME
       gosling check --list
example: gosling check -- uvx mcp-server-time

Checks an MCP server against the contract that Goose's clients expect of it, and
says how to fix what fails. The server is started a few times. Its tools are
called only if they say that they are read-only, or with --call.

options:
  --url URL           a Streamable HTTP server
  --extension NAME    an extension in the configuration
  --header KEY=VALUE  with --url: a header of every request
  --env KEY=VALUE     with CMD: a variable
  --cwd DIR           with CMD: the working directory
  --timeout SECONDS   how long a request may take (10)
  --call TOOL[=JSON]  call this tool with these arguments ({}); it must succeed
  --read URI          read this resource; it must exist
  --prompt NAME[=JSON]
                      get this prompt with these arguments; it must succeed
  --profile PROFILE   what the server must hold: minimum, extended, full or ui;
                      without it, all that it declares
  --only LIST         these checks: numbers, names or sections (5.1), with
                      commas
  --json              print the report as JSON
  --junit FILE        write the report as JUnit XML as well
  --list              print all checks
  --offline           connect to no other machine
  -h, --help          show this

exit codes: 0 the server holds what was asked, 1 it does not, 2 it could not be
checked
";

/// The name of a server that is not in the configuration.
const NAME: &str = "server";

#[derive(Default)]
struct Arguments {
    command: Vec<String>,
    url: Option<String>,
    extension: Option<String>,
    headers: Map<String, Json>,
    envs: Map<String, Json>,
    working_dir: Option<PathBuf>,
    options: CheckOptions,
    profile: Option<Profile>,
    as_json: bool,
    junit: Option<PathBuf>,
    offline: bool,
}

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let mut given = Arguments::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("url") => given.url = Some(text(parser.value()?)?),
            Long("extension") => given.extension = Some(text(parser.value()?)?),
            Long("header") => add_pair(&mut given.headers, "--header", parser.value()?)?,
            Long("env") => add_pair(&mut given.envs, "--env", parser.value()?)?,
            Long("cwd") => given.working_dir = Some(parser.value()?.into()),
            Long("timeout") => {
                let seconds: u64 = parser.value()?.parse()?;
                given.options.timeout = Duration::from_secs(seconds.clamp(1, 3_600));
            }
            Long("call") => given.options.calls.push(named(parser.value()?)?),
            Long("read") => given.options.reads.push(text(parser.value()?)?),
            Long("prompt") => given.options.prompts.push(named(parser.value()?)?),
            Long("profile") => {
                let profile = text(parser.value()?)?.parse();
                let wrong = |reason| Failure::Usage(format!("--profile: {reason}"));
                given.profile = Some(profile.map_err(wrong)?);
            }
            Long("only") => add_checks(&mut given.options, &text(parser.value()?)?)?,
            Long("json") => given.as_json = true,
            Long("junit") => given.junit = Some(parser.value()?.into()),
            Long("list") => return print(&report::list_of_checks::write()),
            Long("offline") => given.offline = true,
            Short('h') | Long("help") => return print(HELP),
            Value(first) => {
                given.command.push(text(first)?);
                for argument in parser.raw_args()? {
                    given.command.push(text(argument)?);
                }
            }
            other => return Err(other.unexpected().into()),
        }
    }
    check(given)
}

/// `KEY=VALUE`.
fn add_pair(pairs: &mut Map<String, Json>, option: &str, value: OsString) -> Result<(), Failure> {
    let pair = text(value)?;
    let (key, value) = pair
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| Failure::Usage(format!("{option}: it is not KEY=VALUE")))?;
    pairs.insert(key.to_owned(), value.into());
    Ok(())
}

/// `NAME` or `NAME=JSON`.
fn named(value: OsString) -> Result<(String, Map<String, Json>), Failure> {
    let value = text(value)?;
    let (name, arguments) = value.split_once('=').unwrap_or((&value, "{}"));
    let arguments = crate::json::from_str(arguments).map_err(|e| {
        Failure::Usage(format!(
            "the arguments of {name} are not a JSON object: {e}"
        ))
    })?;
    Ok((name.to_owned(), arguments))
}

fn add_checks(options: &mut CheckOptions, list: &str) -> Result<(), Failure> {
    for wanted in list.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let section = wanted.trim_start_matches('§');
        let mut found = all_checks();
        found.retain(|it| {
            it.name == wanted || it.number.to_string() == wanted || it.section == section
        });
        if found.is_empty() {
            return Err(Failure::Usage(format!(
                "--only: there is no check {wanted:?}; `gosling check --list` prints them"
            )));
        }
        options.only.extend(found);
    }
    Ok(())
}

fn check(given: Arguments) -> Result<(), Failure> {
    sys::protect_memory();
    let paths = paths()?;
    let registry = Registry::new(Stores::new(&paths), part::all(), given.offline);
    let config = config(&given, &registry)?;
    let working_dir = match &given.working_dir {
        Some(dir) => fs::canonicalize(dir).map_err(failed(dir.display())),
        None => env::current_dir().map_err(failed("no working directory")),
    };
    let working_dir = working_dir.map_err(not_run)?;
    gosling_shared::start_quiet_logging(&paths);
    let is_terminal = io::stderr().is_terminal();
    let progress = |group: &str| {
        if is_terminal {
            let _ = write!(io::stderr(), "\r\x1b[Kchecking: {group}");
        }
    };
    let checked = check_extension(
        &registry,
        &config,
        &working_dir,
        &given.options,
        &progress,
        &Cancel::new(),
    );
    if is_terminal {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    registry.close();
    let checked = checked.map_err(|reason| not_run(Failure::Failed(reason)))?;
    write(&checked, &given)?;
    if checked.passes(given.profile) {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// The failure of a check that could not be made.
fn not_run(failure: Failure) -> Failure {
    match failure {
        Failure::Failed(reason) => Failure::NotChecked(reason),
        other => other,
    }
}

fn config(given: &Arguments, registry: &Registry) -> Result<ExtensionConfig, Failure> {
    let wrong = |reason: &str| Err(Failure::Usage(reason.to_owned()));
    let is_command = !given.command.is_empty();
    if !given.headers.is_empty() && given.url.is_none() {
        return wrong("--header goes with --url only");
    }
    let is_for_command = !given.envs.is_empty() || given.working_dir.is_some();
    if is_for_command && !is_command {
        return wrong("--env and --cwd go with CMD only");
    }
    let value = match (&*given.command, &given.url, &given.extension) {
        ([cmd, args @ ..], None, None) => {
            json!({"type": "stdio", "name": NAME, "cmd": cmd, "args": args, "envs": given.envs, "cwd": "session"})
        }
        ([], Some(url), None) => json!({
            "type": "streamable_http", "name": NAME, "uri": url, "headers": given.headers,
        }),
        ([], None, Some(name)) => return configured(name, registry),
        _ => return wrong("give one of CMD, --url and --extension"),
    };
    ExtensionConfig::from_value(value).map_err(Failure::Usage)
}

fn configured(name: &str, registry: &Registry) -> Result<ExtensionConfig, Failure> {
    let config = &registry.stores().config;
    let found = configured_extensions::find(config, name).map_err(failed("the configuration"));
    let shown = printable(name, 200);
    let Some(entry) = found.map_err(not_run)? else {
        return Err(Failure::NotChecked(format!(
            "no extension is called {shown:?}; `gosling extensions list` shows the names"
        )));
    };
    entry.config.map_err(|reason| {
        let reason = printable(&reason, 2_000);
        Failure::NotChecked(format!("the entry of {shown:?} cannot be read: {reason}"))
    })
}

fn write(checked: &CheckReport, given: &Arguments) -> Result<(), Failure> {
    if let Some(file) = &given.junit {
        let written = fs::write(file, report::junit::write(checked));
        written.map_err(|e| not_run(failed(file.display())(e)))?;
    }
    if given.as_json {
        let object = report::for_machines::write(checked, given.profile);
        print(&format!("{object}\n"))
    } else {
        let has_colours = io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none();
        print(&report::for_people::write(
            checked,
            given.profile,
            has_colours,
        ))
    }
}
