//! `gosling call`: calls one tool of an MCP server, without `gosling agent`.

use crate::agent::{Registry, Stores};
use crate::command_line::{Command, Failure, print, text};
use crate::escaped_text::escape_in_json;
use crate::extension::pinning_check::Pinning;
use crate::extension::sandbox::Level;
use crate::extension::screening_check::Screening;
use crate::extension::{Containers, Context, ExtensionConfig, Limits, Manager, Sandboxing};
use crate::mcp::client::CallOptions;
use crate::mcp::types::CallToolResult;
use crate::store::Config;
use crate::sys::cancel::Cancel;
use crate::text::{printable, split_command, strip_invisible};
use gosling_core::part;
use gosling_shared::InMemoryData;
use lexopt::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};
use std::env;
use std::fmt::Write;
use std::sync::Arc;

pub(crate) const COMMAND: Command = Command {
    name: "call",
    summary: "call one tool of an MCP server, without starting `agent`",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling call (--server 'CMD ARGS' | --url URL) [OPTIONS] [TOOL [JSON]]
example: gosling call --server 'gosling mcp demo' add '{\"a\": 1, \"b\": 2}'

Calls one tool of an MCP server and prints its result; without TOOL, lists the
tools and their arguments. JSON is an object with the tool's arguments ({}).

options:
  --server 'CMD ARGS'  run this MCP server for the call
  --url URL            connect to this Streamable HTTP server
  --header 'K: V'      send this with every request to URL; may be given several
                       times
  --timeout SECONDS    how long the server may take (300); progress that it
                       reports extends this
  --offline            connect to no other machine, and ask the programs
                       that gosling starts to do the same
  --json               print the result as JSON, or each tool as a line of JSON
  -h, --help           show this
";

/// The name of the only extension.
const NAME: &str = "server";

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let mut server = None;
    let mut url = None;
    let mut headers = serde_json::Map::new();
    let mut timeout = None::<u64>;
    let mut words_left = Vec::new();
    let mut as_json = false;
    let mut offline = false;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("server") => server = Some(text(parser.value()?)?),
            Long("url") => url = Some(text(parser.value()?)?),
            Long("header") => {
                let header = text(parser.value()?)?;
                let (name, value) = header.split_once(':').ok_or_else(|| {
                    Failure::Usage(format!("--header: {header:?} is not 'name: value'"))
                })?;
                headers.insert(name.trim().to_owned(), value.trim().into());
            }
            Long("timeout") => timeout = Some(parser.value()?.parse()?),
            Long("offline") => offline = true,
            Long("json") => as_json = true,
            Short('h') | Long("help") => return print(HELP),
            Value(value) if words_left.len() < 2 => words_left.push(text(value)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let config = match (server, url) {
        (Some(_), None) if !headers.is_empty() => {
            return Err(Failure::Usage("--header goes with --url only".to_owned()));
        }
        (Some(server), None) => {
            let words = split_command::split(&server)
                .map_err(|reason| Failure::Usage(format!("--server: {reason}")))?;
            let (cmd, args) = words
                .split_first()
                .ok_or_else(|| Failure::Usage("--server: no command".to_owned()))?;
            json!({"type": "stdio", "name": NAME, "cmd": cmd, "args": args, "timeout": timeout, "cwd": "session"})
        }
        (None, Some(url)) => json!({
            "type": "streamable_http", "name": NAME, "uri": url, "headers": headers,
            "timeout": timeout,
        }),
        _ => {
            let reason = "give --server or --url, and not both";
            return Err(Failure::Usage(reason.to_owned()));
        }
    };
    let config = ExtensionConfig::from_value(config).map_err(Failure::Usage)?;
    let mut words_left = words_left.into_iter();
    match words_left.next() {
        None => list(&config, offline, as_json),
        Some(tool) => {
            let arguments = words_left.next().unwrap_or_else(|| "{}".to_owned());
            call(&config, &tool, arguments, offline, as_json)
        }
    }
}

fn connect(config: &ExtensionConfig, offline: bool) -> Result<Manager, Failure> {
    let working_dir =
        env::current_dir().map_err(crate::command_line::failed("no working directory"))?;
    let paths = crate::command_line::paths()?;
    let registry = Registry::new(Stores::new(&paths), part::all(), offline);
    // The policy may require it.
    let offline = registry.is_offline();
    let manager = Manager::new(Context {
        session_id: "call".to_owned(),
        working_dir,
        secrets: Arc::new(|_| Ok(None)),
        screening: Screening::read(&Config::new(&paths), &paths, offline),
        sandboxing: Sandboxing::read(&Config::new(&paths), &paths, Level::Off),
        pinning: Pinning::default(),
        paths: Arc::new(paths),
        data: Arc::new(InMemoryData::default()),
        servers: Default::default(),
        offline,
        limits: Limits::default(),
        roots: false,
        more_roots: Vec::new(),
        user_interfaces: false,
        log_level: None,
        containers: Containers::default(),
        inherited: registry.extension_setup().inherited(),
        inline_python: None,
        activity: registry.stores().activity.clone(),
        request_handlers: None,
    });
    match manager.add(config, &Cancel::new()) {
        Ok(()) => Ok(manager),
        Err(error) => Err(Failure::Failed(error.to_string())),
    }
}

fn list(config: &ExtensionConfig, offline: bool, as_json: bool) -> Result<(), Failure> {
    let manager = connect(config, offline)?;
    let tools = manager.tools(None, &Cancel::new());
    manager.close();
    let mut out = String::new();
    for listed in tools {
        let tool = listed.tool;
        let line = if as_json {
            escape_in_json(&serde_json::to_string(&tool).unwrap_or_default())
        } else {
            let description = tool.description.as_deref().unwrap_or_default();
            let description = description.lines().next().unwrap_or_default();
            let parameters = tool.parameters().join(", ");
            let line = format!("{} {{{parameters}}}  {description}", tool.name);
            printable(&line, usize::MAX)
        };
        let _ = writeln!(out, "{}", line.trim_end());
    }
    print(&out)
}

fn call(
    config: &ExtensionConfig,
    tool: &str,
    arguments: String,
    offline: bool,
    as_json: bool,
) -> Result<(), Failure> {
    let arguments = crate::json::sanitize(&arguments).into_owned();
    if !crate::json::from_str::<Json>(&arguments).is_ok_and(|json| json.is_object()) {
        let reason = format!("the arguments {arguments:?} are not a JSON object");
        return Err(Failure::Usage(reason));
    }
    let arguments =
        RawValue::from_string(arguments).map_err(crate::command_line::failed("arguments"))?;
    let manager = connect(config, offline)?;
    let name = format!("{NAME}__{tool}");
    let call = CallOptions {
        allowed_by: "user",
        ..CallOptions::default()
    };
    let result = manager.call(&name, &arguments, call, &Cancel::new());
    manager.close();
    let result = result.map_err(|error| Failure::Failed(error.to_string()))?;
    if as_json {
        let json = serde_json::to_string(&result).unwrap_or_default();
        print(&format!("{}\n", escape_in_json(&json)))?
    } else {
        print(&readable(&result))?
    }
    match result.is_error {
        Some(true) => Err(Failure::Reported),
        _ => Ok(()),
    }
}

/// Text content as text, everything else as one line of JSON each. Nothing in it steers a terminal.
fn readable(result: &CallToolResult) -> String {
    let mut out = String::new();
    for part in &result.content {
        let json: Json = crate::json::from_str(part.as_json()).unwrap_or_default();
        let line = match (json["type"].as_str(), json["text"].as_str()) {
            (Some("text"), Some(text)) => strip_invisible(text),
            _ => escape_in_json(part.as_json()),
        };
        let _ = writeln!(out, "{line}");
    }
    if let (true, Some(structured)) = (result.content.is_empty(), &result.structured_content) {
        let _ = writeln!(out, "{}", escape_in_json(structured.get()));
    }
    out
}
