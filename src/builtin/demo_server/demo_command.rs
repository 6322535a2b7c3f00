//! `gosling demo`: runs a whole session over the API and explains each step.

mod api_client;
mod turn;

use crate::command_line::{Command, Failure, failed, print, rest, text};
use crate::mcp::Client;
use crate::mcp::client::{DEFAULT_TIMEOUT, IgnoreNotifications, Options};
use crate::mcp::transport::stdio::{StdioOptions, StdioTransport};
use crate::mcp::types::Implementation;
use crate::sys::CHILDREN_ARE_ASKED_TO_END;
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::sys::process;
use api_client::SpawnedServer;
use gosling_core::extension::program_lookup;
use gosling_core::text::printable;
use gosling_shared::find_program;
use lexopt::prelude::*;
use serde_json::{Value as Json, json};
use std::env;
use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const COMMAND: Command = Command {
    name: "demo",
    summary: "show a whole session with an MCP server, step by step",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling demo [OPTIONS] [-- CMD ARGS...]

Starts gosling in a temporary folder on a free port and uses it as a client
would: activates an MCP server, lists its tools, calls one, reads a resource,
runs a turn that calls the tool too, and stops. The MCP server is the one that
gosling ships, or CMD; the model is a script. Exits with 1 if any step fails.

options:
  --json      print each step as one line of JSON
  -h, --help  show this
";

/// How much of a response is shown, in characters.
const MAX_SHOWN: usize = 600;

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let mut as_json = false;
    let mut server = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("json") => as_json = true,
            Short('h') | Long("help") => return print(HELP),
            Value(command) => {
                server.push(text(command)?);
                for word in rest(&mut parser)? {
                    server.push(text(word)?);
                }
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let ours = server.is_empty();
    if ours {
        let this = env::current_exe().map_err(failed("cannot find this program"))?;
        server = vec![text(this.into())?, "mcp".to_owned(), "demo".to_owned()];
    }
    let mut printer = StepPrinter {
        json: as_json,
        colour: !as_json && stdout().is_terminal() && env::var_os("NO_COLOR").is_none(),
        number: 0,
        failed: 0,
        printed: Ok(()),
    };
    demonstrate(&mut printer, &server, ours)?;
    printer.printed?;
    match printer.failed {
        0 => Ok(()),
        _ => Err(Failure::Reported),
    }
}

fn demonstrate(printer: &mut StepPrinter, server: &[String], ours: bool) -> Result<(), Failure> {
    let begin = Instant::now();
    let gosling = SpawnedServer::start().map_err(failed("cannot start gosling"))?;
    let came = format!("listens on {}", gosling.base);
    printer.note("start gosling", &came, begin.elapsed(), true);
    let what = "check that gosling responds";
    printer.exchange(&gosling, what, "GET", "/status", None)?;
    let config = json!({
        "type": "stdio", "name": "demo", "description": "", "cmd": server[0],
        "args": server[1..], "timeout": 60, "cwd": "session",
    });
    // A relative CMD refers to the user's working directory.
    let working_dir = if ours {
        gosling.root().to_owned()
    } else {
        env::current_dir().map_err(failed("no working directory"))?
    };
    let body = json!({"working_dir": working_dir, "extension_overrides": [config]});
    let what = "start a session with an MCP server";
    let session = printer.exchange(&gosling, what, "POST", "/agent/start", Some(body))?;
    let id = session["id"].as_str().unwrap_or_default().to_owned();
    let body = json!({"session_id": id, "load_model_and_extensions": true});
    let what = "resume the session; this waits for the server";
    let resumed = printer.exchange(&gosling, what, "POST", "/agent/resume", Some(body))?;
    let activated = &resumed["extension_results"][0];
    if activated["success"] != true {
        let reason = activated["error"].as_str().unwrap_or("no reason was given");
        let what = "check that the extension is active";
        printer.note(what, reason, Duration::ZERO, false);
        printer.summarize();
        return Ok(());
    }
    let call = use_server(printer, &gosling, &id, server, &working_dir, ours)?;
    run_turn(printer, &gosling, &id, call)?;
    let body = json!({"session_id": id});
    let what = "stop the agent; the MCP server ends with it";
    printer.exchange(&gosling, what, "POST", "/agent/stop", Some(body))?;
    let begin = Instant::now();
    let status = gosling.stop();
    let clean = status.map_or(!CHILDREN_ARE_ASKED_TO_END, |status| status.success());
    let how = status.map_or("it was killed".to_owned(), |status| status.to_string());
    let what = if CHILDREN_ARE_ASKED_TO_END {
        "end gosling with SIGTERM"
    } else {
        "end gosling"
    };
    printer.note(what, &how, begin.elapsed(), clean);
    printer.summarize();
    Ok(())
}

/// Lists the tools, calls one and reads a resource. Returns the tool and the arguments.
fn use_server(
    printer: &mut StepPrinter,
    gosling: &SpawnedServer,
    id: &str,
    server: &[String],
    working_dir: &Path,
    ours: bool,
) -> Result<Option<(String, Json)>, Failure> {
    let path = format!("/agent/tools?session_id={id}");
    let tools = printer.exchange(gosling, "list its tools", "GET", &path, None)?;
    let offer = ask(server, working_dir).map_err(failed("cannot list the server's tools"))?;
    let chosen = offer.choose_tool(&tools, ours);
    match &chosen {
        None => printer.note("call a tool", "the server has none", Duration::ZERO, true),
        Some((name, arguments, invented)) => {
            let body = json!({"session_id": id, "name": name, "arguments": arguments});
            let what = format!("call the tool {name}");
            let answer =
                printer.exchange(gosling, &what, "POST", "/agent/call_tool", Some(body))?;
            if answer["is_error"] == true && !*invented {
                printer.failed += 1;
            }
        }
    }
    match offer.resources.first() {
        None => {
            let none = "the server has none";
            printer.note("read a resource", none, Duration::ZERO, true);
        }
        Some(uri) => {
            let body = json!({"session_id": id, "extension_name": "demo", "uri": uri});
            let what = format!("read the resource {}", printable(uri, 100));
            printer.exchange(gosling, &what, "POST", "/agent/read_resource", Some(body))?;
        }
    }
    Ok(chosen.map(|(name, arguments, _)| (name, arguments)))
}

/// Runs one turn in which the scripted model makes `call`.
fn run_turn(
    printer: &mut StepPrinter,
    gosling: &SpawnedServer,
    id: &str,
    call: Option<(String, Json)>,
) -> Result<(), Failure> {
    let script = turn::script(call.as_ref());
    let written = gosling.set_script(&script);
    written.map_err(failed("cannot write a script"))?;
    let body = json!({"session_id": id, "provider": "scripted", "model": "script"});
    let what = "choose a model: a script, which needs no network and no key";
    printer.exchange(gosling, what, "POST", "/agent/update_provider", Some(body))?;
    printer.reply(gosling, id, call.is_some())
}

/// The tools and resources of the server. The MCP client of this crate lists them, because the API has neither
/// schemas nor a list of resources.
struct Offer {
    tools: Vec<OfferedTool>,
    resources: Vec<String>,
}

struct OfferedTool {
    name: String,
    schema: Json,
    /// Whether the tool may change something; false if the server marks it as read-only.
    changes: bool,
}

fn ask(server: &[String], working_dir: &Path) -> Result<Offer, String> {
    let folders = program_lookup::search_path();
    let program = find_program(&server[0], working_dir, &folders)?;
    let mut command = process::Command::new(program);
    command.args(&server[1..]).current_dir(working_dir);
    command.envs(program_lookup::child_path(&folders).map(|path| ("PATH", path)));
    let mut options = StdioOptions::new("demo");
    options.start = DEFAULT_TIMEOUT;
    let cancel = Cancel::new();
    let transport = StdioTransport::spawn(command, options, &cancel).map_err(|e| e.to_string())?;
    let ignored = Arc::new(IgnoreNotifications);
    let own = Implementation::new("gosling", env!("CARGO_PKG_VERSION"));
    let options = Options::new("demo", own);
    let client = Client::connect(Arc::new(transport), options, ignored, &cancel);
    let client = client.map_err(|e| e.to_string())?;
    let tools = client.list_tools(&cancel).map_err(|e| e.to_string())?;
    let resources = client.list_resources(&cancel).map_err(|e| e.to_string())?;
    Ok(Offer {
        tools: tools
            .into_iter()
            .map(|tool| OfferedTool {
                name: tool.name,
                schema: gosling_core::json::from_str(tool.input_schema.get()).unwrap_or_default(),
                changes: tool.annotations.and_then(|a| a.read_only_hint) != Some(true),
            })
            .collect(),
        resources: resources.into_iter().map(|resource| resource.uri).collect(),
    })
}

impl Offer {
    /// Chooses a tool to call. Returns its name, the arguments, and whether the arguments are guessed. A
    /// read-only tool with few required arguments is preferred.
    fn choose_tool(&self, listed: &Json, ours: bool) -> Option<(String, Json, bool)> {
        if ours {
            let arguments = json!({"message": "hello from the demo"});
            return Some(("demo__echo".to_owned(), arguments, false));
        }
        let listed = listed.as_array()?;
        let is_listed = |name: &str| listed.iter().any(|tool| tool["name"] == name);
        let required = |tool: &OfferedTool| tool.schema["required"].as_array().map_or(0, Vec::len);
        let offered = self
            .tools
            .iter()
            .map(|tool| (format!("demo__{}", tool.name), tool));
        let (name, tool) = offered
            .filter(|(name, _)| is_listed(name))
            // A tool that prints environment variables could reveal secrets.
            .min_by_key(|(_, tool)| (tool.changes, tool.name.contains("env"), required(tool)))?;
        let fields = tool.schema["required"].as_array().into_iter().flatten();
        let arguments: serde_json::Map<_, _> = fields
            .filter_map(Json::as_str)
            .map(|field| (field.to_owned(), guess(&tool.schema["properties"][field])))
            .collect();
        let invented = !arguments.is_empty();
        Some((name, arguments.into(), invented))
    }
}

/// A value that probably fits a schema: one that the schema suggests, an example that its description quotes, or
/// a simple value of its type.
fn guess(schema: &Json) -> Json {
    let suggested = [
        &schema["default"],
        &schema["const"],
        &schema["enum"][0],
        &schema["examples"][0],
    ];
    if let Some(value) = suggested.into_iter().find(|value| !value.is_null()) {
        return value.clone();
    }
    let quoted = schema["description"]
        .as_str()
        .and_then(|text| text.split('\'').nth(1));
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!(quoted.unwrap_or("hello")),
    }
}

/// A request to gosling, and the status of its response.
struct Exchange<'a> {
    method: &'a str,
    path: &'a str,
    body: Option<Json>,
    status: u16,
}

/// Prints the steps.
struct StepPrinter {
    json: bool,
    colour: bool,
    number: usize,
    failed: usize,
    /// What has come of it; after a failure nothing more is printed.
    printed: Result<(), Failure>,
}

impl StepPrinter {
    /// One request to gosling. Any status but 200 makes the step a failure.
    fn exchange(
        &mut self,
        gosling: &SpawnedServer,
        what: &str,
        method: &str,
        path: &str,
        body: Option<Json>,
    ) -> Result<Json, Failure> {
        let begin = Instant::now();
        let (status, answer) = gosling
            .call(method, path, body.as_ref())
            .map_err(failed(format!("{method} {path}")))?;
        let took = begin.elapsed();
        let exchange = Exchange {
            method,
            path,
            body,
            status,
        };
        let shown = summary(&answer);
        self.step(what, status == 200, took, Some(exchange), &answer, &shown);
        Ok(answer)
    }

    /// One turn. It must finish, with a tool response if there is a tool.
    fn reply(&mut self, gosling: &SpawnedServer, id: &str, tool: bool) -> Result<(), Failure> {
        let what = "chat: the model calls the tool and repeats its answer";
        let path = "/reply";
        let body = turn::question(id, "What does the tool say?", clock::unix_seconds());
        let begin = Instant::now();
        let (status, events) = gosling
            .events(path, &body)
            .map_err(failed(format!("POST {path}")))?;
        let took = begin.elapsed();
        let turn = turn::summarize(&events);
        let good = status == 200 && turn.finished && turn.results == usize::from(tool);
        let exchange = Exchange {
            method: "POST",
            path,
            body: Some(body),
            status,
        };
        let shown = format!("{} events", events.len());
        let response = Json::Array(events);
        self.step(what, good, took, Some(exchange), &response, &shown);
        if !self.json {
            for line in turn.lines {
                self.text(&format!("   {line}"));
            }
        }
        Ok(())
    }

    /// A step without a request.
    fn note(&mut self, what: &str, came: &str, took: Duration, good: bool) {
        self.step(what, good, took, None, &came.into(), came);
    }

    /// Counts and prints a step; `shown` is what people see of the response.
    fn step(
        &mut self,
        what: &str,
        good: bool,
        took: Duration,
        exchange: Option<Exchange<'_>>,
        response: &Json,
        shown: &str,
    ) {
        self.number += 1;
        self.failed += usize::from(!good);
        let ms = (took.as_secs_f64() * 1e4).round() / 10.0;
        if self.json {
            let mut line = json!({"step": what, "ok": good, "ms": ms});
            if let Some(exchange) = exchange {
                line["method"] = exchange.method.into();
                line["path"] = exchange.path.into();
                line["request"] = exchange.body.into();
                line["status"] = exchange.status.into();
            }
            line["response"] = response.clone();
            self.print(&format!("{line}\n"));
            return;
        }
        let mark = if good { "ok" } else { "FAILED" };
        let colour = if good { "\x1b[32m" } else { "\x1b[31m" };
        let (on, off) = if self.colour {
            (colour, "\x1b[0m")
        } else {
            ("", "")
        };
        self.print(&format!("{}. {what}: {on}{mark}{off}\n", self.number));
        let status = exchange.map_or(String::new(), |exchange| {
            let body = exchange
                .body
                .map_or(String::new(), |body| format!(" {body}"));
            self.text(&format!("-> {} {}{body}", exchange.method, exchange.path));
            format!("{} ", exchange.status)
        });
        self.text(&format!("<- {status}in {ms} ms: {shown}"));
    }

    fn summarize(&mut self) {
        if !self.json {
            let text = match self.failed {
                0 => format!("{} steps, all good\n", self.number),
                n => format!("{} steps, {n} failed\n", self.number),
            };
            self.print(&text);
        }
    }

    fn text(&mut self, text: &str) {
        self.print(&format!("   {}\n", printable(text, MAX_SHOWN)));
    }

    fn print(&mut self, text: &str) {
        if self.printed.is_ok() {
            self.printed = print(text);
        }
    }
}

/// The names of a list of tools; any other response as it is.
fn summary(answer: &Json) -> String {
    match answer.as_array() {
        Some(tools) if tools.iter().all(|tool| tool["name"].is_string()) => {
            let names = tools.iter().filter_map(|tool| tool["name"].as_str());
            let names: Vec<&str> = names.collect();
            format!("{} tools: {}", names.len(), names.join(", "))
        }
        _ if answer.is_null() => "(nothing)".to_owned(),
        _ => answer.to_string(),
    }
}

#[cfg(test)]
mod tests;
