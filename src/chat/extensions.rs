//! `gosling extensions`: the extensions in the user's configuration, and lists of bundled ones.

mod add;
mod bundled_list;
mod launch_line;
mod redacted_config;
mod show;

use crate::activity;
use crate::agent::Stores;
use crate::builtin;
use crate::command_line::{Command, Failure, failed, logging, paths, print, text};
use crate::extension::configured::{self, Entry};
use crate::extension::pinning_check::Pinning;
use crate::extension::{ExtensionConfig, config};
use crate::features;
use crate::store::{self, Config, Secrets, files};
use crate::text::printable;
use gosling_shared::configured_extensions::{self, Change, ChangeError};
use gosling_shared::{missing, words};
use lexopt::prelude::*;
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::io::{self, Read};
use std::path::Path;

pub(crate) const COMMAND: Command = Command {
    name: "extensions",
    summary: "list, show, add, enable, disable and remove extensions",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling extensions list [--json]
       gosling extensions show NAME [--start] [--offline] [--json]
       gosling extensions add NAME [OPTIONS] -- CMD [ARGS...]
       gosling extensions add NAME [OPTIONS] --url URL [--header KEY=VALUE]
       gosling extensions add [OPTIONS] --file FILE
       gosling extensions enable | disable | remove NAME...
       gosling extensions accept NAME [--json]
       gosling extensions validate FILE
example: gosling extensions add time -- uvx mcp-server-time

subcommands:
  list      the configured extensions
  show      one of them, with its command line, its secrets (set or not) and
            what the screening says of its packages, and how its tools have
            changed
  add       write a new one into the configuration
  enable    let new sessions start these; `developer`, `memory`, `todo` and
            `demo` need not be added first
  disable   let new sessions not start these
  remove    take these out of the configuration
  accept    accept the changed tools of this one: what `show` says of them
  validate  print every fault of a list of bundled extensions; FILE may be - for
            stdin

Running sessions keep the extensions that they have. No server is needed.

options of show:
  --start             start the extension, list its tools, and end it
options of add:
  --env KEY=VALUE     a variable of the program, or for headers, in plain text
  --env-key KEY       a variable whose value is the secret of that name
  --header KEY=VALUE  with --url: a header of every request; $NAME in its value
                      is a variable
  --timeout SECONDS   how long a request may take (300)
  --description TEXT  what it is for
  --disabled          let new sessions not start it
  --file FILE         add the entry in this JSON or YAML file (- for stdin)
  --replace           replace an extension of the same name
  --yes               also if the screening warns, or Goose has that name
options of all:
  --offline           connect to no other machine
  --json              print JSON (list, show, accept)
  -h, --help          show this

exit codes: 0 done, or a valid list; 1 not done, does not start, or a list with
faults; 2 the command line makes no sense
";

/// The longest text that is printed in a line, in characters.
const WIDTH: usize = 2_000;

/// For errors about the configuration.
const UNREADABLE: &str = "the configuration";

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let subcommand = match parser.next()? {
        None => return Err(Failure::Usage("no subcommand given".to_owned())),
        Some(Short('h') | Long("help")) => return print(HELP),
        Some(Value(name)) => text(name)?,
        Some(other) => return Err(other.unexpected().into()),
    };
    match subcommand.as_str() {
        "list" => list(parser),
        "show" => show::run(parser),
        "add" => add::run(parser),
        "enable" => change(parser, Change::Enable),
        "disable" => change(parser, Change::Disable),
        "remove" => change(parser, Change::Remove),
        "accept" => accept(parser),
        "validate" => validate(parser),
        name => Err(Failure::Usage(format!(
            "there is no subcommand {name:?}; there are list, show, add, enable, disable, remove, \
             accept and validate"
        ))),
    }
}

fn list(parser: lexopt::Parser) -> Result<(), Failure> {
    let (_, [as_json]) = words(parser, 0, ["json"])?;
    let config = Config::new(&paths()?);
    let listed = configured::list(&config).map_err(failed(UNREADABLE))?;
    if as_json {
        let extensions: Vec<Json> = listed.entries.iter().map(as_object).collect();
        let object = json!({"extensions": extensions, "warnings": listed.warnings});
        return print(&format!("{object}\n"));
    }
    let mut lines = String::new();
    // Goose's clients expect the parts of its agent in the list; here they would only be in the way.
    let is_missing_part = |entry: &Entry| {
        let config = entry.config.as_ref();
        let is_part = |config: &ExtensionConfig| matches!(config, ExtensionConfig::Platform(_));
        !entry.enabled && config.is_ok_and(|config| is_part(config) && is_missing(config))
    };
    for entry in listed.entries.iter().filter(|it| !is_missing_part(it)) {
        let _ = writeln!(lines, "{}", as_line(entry));
    }
    for warning in &listed.warnings {
        let warning = printable(warning, WIDTH);
        let _ = writeln!(lines, "{:<8}  {warning}", "invalid");
    }
    print(&lines)
}

fn as_object(entry: &Entry) -> Json {
    let config = entry.config.as_ref();
    let reason = config.err();
    let config = config.ok();
    json!({
        "key": entry.key,
        "name": config.map(ExtensionConfig::name),
        "type": config.map(ExtensionConfig::kind),
        "enabled": entry.enabled,
        "bundled": config.is_some_and(is_bundled),
        "builtin": config.is_some_and(is_builtin),
        "available": config.is_some_and(|config| !is_missing(config)),
        "error": reason,
    })
}

fn as_line(entry: &Entry) -> String {
    let key = printable(&entry.key, WIDTH);
    let config = match &entry.config {
        Ok(config) => config,
        Err(reason) => {
            let reason = printable(reason, WIDTH);
            return format!("{:<8}  {key}: {reason}", "invalid");
        }
    };
    let state = if entry.enabled { "enabled" } else { "disabled" };
    let origin = if matches!(config, ExtensionConfig::Sse(_)) {
        ", unsupported, migrate to streamable_http"
    } else if is_builtin(config) {
        ", part of gosling"
    } else if is_missing(config) {
        ", part of Goose that gosling does not have"
    } else if is_bundled(config) {
        ", bundled"
    } else {
        ""
    };
    let name = printable(config.name(), WIDTH);
    format!("{state:<8}  {:<15}  {name}{origin}", config.kind())
}

/// Whether the extension comes with the client.
fn is_bundled(config: &ExtensionConfig) -> bool {
    config.to_value()["bundled"] == true
}

/// Whether the extension is a server in this program.
fn is_builtin(config: &ExtensionConfig) -> bool {
    is_part(config) && builtin::has(&config.key())
}

/// Whether the extension is a part of Goose that this program does not have, so that it never runs.
fn is_missing(config: &ExtensionConfig) -> bool {
    is_part(config) && !is_builtin(config)
}

fn is_part(config: &ExtensionConfig) -> bool {
    matches!(
        config,
        ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_)
    )
}

fn change(parser: lexopt::Parser, change: Change) -> Result<(), Failure> {
    let (names, []) = words(parser, usize::MAX, [])?;
    if names.is_empty() {
        return Err(missing("NAME"));
    }
    let stores = Stores::new(&paths()?);
    let config = &stores.config;
    for name in names.iter().filter(|_| change == Change::Enable) {
        let entry = configured_extensions::find(config, name).map_err(failed(UNREADABLE))?;
        if entry.is_some_and(|entry| entry.config.is_ok_and(|config| is_missing(&config))) {
            let name = printable(name, WIDTH);
            return Err(Failure::Failed(format!(
                "{name:?} is a part of Goose that gosling does not have, so nothing was enabled; `gosling help \
                 extensions` says what there is in its place"
            )));
        }
    }
    configured_extensions::change(config, &names, change).map_err(|error| match error {
        ChangeError::NotSet(error) => refused(error),
        unknown => Failure::Failed(printable(
            &format!("{unknown}; `gosling extensions list` shows the names"),
            WIDTH,
        )),
    })?;
    let done = match change {
        Change::Enable => "enabled",
        Change::Disable => "disabled",
        Change::Remove => "removed",
    };
    for name in &names {
        print(&format!("{done} {}\n", printable(name, WIDTH)))?;
        if change == Change::Enable {
            let entry = configured_extensions::find(config, name).map_err(failed(UNREADABLE))?;
            if let Some(Ok(extension)) = entry.map(|entry| entry.config) {
                say_missing(&extension, &stores.secrets)?;
            }
        }
    }
    Ok(())
}

fn refused(error: configured::ChangeError) -> Failure {
    let reason = match error {
        configured::ChangeError::Store(error) => format!("{UNREADABLE}: {error}"),
        other => other.to_string(),
    };
    Failure::Failed(printable(&reason, WIDTH))
}

/// The secrets that an extension needs, and whether each is set.
fn secrets_of(
    config: &ExtensionConfig,
    secrets: &Secrets,
) -> Result<Vec<(String, bool)>, store::Error> {
    let names = match config {
        ExtensionConfig::Stdio(stdio) => &stdio.env_keys,
        ExtensionConfig::StreamableHttp(http) => &http.env_keys,
        _ => return Ok(Vec::new()),
    };
    let is_set = |name: &String| Ok((name.clone(), secrets.get(name)?.is_some()));
    names.iter().map(is_set).collect()
}

/// Says which secrets of an extension are not set.
fn say_missing(config: &ExtensionConfig, secrets: &Secrets) -> Result<(), Failure> {
    let needed = secrets_of(config, secrets).map_err(failed("the secrets"))?;
    let missing = needed.into_iter().filter(|(_, is_set)| !is_set);
    let missing: Vec<String> = missing.map(|(name, _)| name).collect();
    if !missing.is_empty() {
        let missing = printable(&missing.join(", "), WIDTH);
        let file = secrets.path().display();
        logging::say(&format!(
            "gosling: not set yet: {missing}; it does not start before that, add it to {file}\n"
        ));
    }
    Ok(())
}

fn accept(parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut names, [as_json]) = words(parser, 1, ["json"])?;
    let name = names.pop().ok_or_else(|| missing("NAME"))?;
    let (key, changes) = accept_tools(&name)?;
    if as_json {
        return print(&format!("{}\n", json!({"key": key, "accepted": changes})));
    }
    let mut lines = String::new();
    for change in &changes {
        let change = printable(&show::change_in_words(change), WIDTH);
        let _ = writeln!(lines, "accepted {change}");
    }
    if changes.is_empty() {
        let _ = writeln!(lines, "accepted {key}: no tool had changed");
    }
    print(&lines)
}

/// Accepts the changed tools of an extension; returns its key and what had changed.
fn accept_tools(name: &str) -> Result<(String, Vec<Json>), Failure> {
    let paths = paths()?;
    let key = config::key(name);
    let stores = Stores::new(&paths);
    let pinning = Pinning::read(&stores.config, &paths);
    let Some(pinner) = pinning.pinner() else {
        let hint = features::hint("pinning");
        return Err(Failure::Failed(format!("tools are not pinned{hint}")));
    };
    let recorded = stores.activity.record(&activity::Entry {
        extension: &key,
        subject: "tools",
        outcome: "accepted",
        ..activity::Entry::new("setting", "")
    });
    recorded.map_err(|error| Failure::Failed(error.to_string()))?;
    let changes = pinner.accept(&key).map_err(|error| {
        let name = printable(name, WIDTH);
        Failure::Failed(format!("nothing of {name:?} was accepted: {error}"))
    })?;
    Ok((key, changes))
}

fn validate(parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut files, []) = words(parser, 1, [])?;
    let file = files.pop().ok_or_else(|| missing("FILE"))?;
    let shown = if file == "-" {
        "stdin".to_owned()
    } else {
        printable(&file, WIDTH)
    };
    let content = read_file(&file, bundled_list::MAX_FILE)?;
    let checked = bundled_list::check(&content).map_err(failed(&shown))?;
    let mut report = String::new();
    for fault in &checked.faults {
        let fault = printable(&fault.to_string(), WIDTH);
        let _ = writeln!(report, "{shown}: {fault}");
    }
    let entries = checked.entries;
    if checked.faults.is_empty() {
        let _ = writeln!(report, "{shown}: valid, {entries} extensions");
        return print(&report);
    }
    let more = match checked.more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let faults = checked.faults.len();
    let _ = writeln!(
        report,
        "{shown}: {faults} faults{more} in {entries} extensions"
    );
    print(&report)?;
    Err(Failure::Reported)
}

/// The content of a file, or of stdin for `-`.
fn read_file(file: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    if file == "-" {
        let mut content = Vec::new();
        let mut limited = io::stdin().lock().take(limit + 1);
        let read = limited.read_to_end(&mut content);
        read.map_err(failed("cannot read stdin"))?;
        if content.len() as u64 > limit {
            let reason = format!("cannot read stdin: it is larger than {} MiB", limit >> 20);
            return Err(Failure::Failed(reason));
        }
        return Ok(content);
    }
    let reason = match files::read_file(Path::new(file), limit) {
        Ok(Some((content, _))) => return Ok(content),
        Ok(None) => "there is no such file".to_owned(),
        Err(store::Error::Broken { reason, .. }) => reason,
        Err(store::Error::Io { source, .. }) => source.to_string(),
        Err(error) => error.to_string(),
    };
    let file = printable(file, WIDTH);
    Err(Failure::Failed(format!("cannot read {file}: {reason}")))
}
