//! `gosling mcp NAME`: runs a builtin MCP server over stdio or Streamable HTTP.

use crate::command_line::serve::{self, parse_port, read_secret};
use crate::command_line::{Command, Failure, failed, logging, print, text};
use crate::features;
use crate::http::AccessControl;
use crate::mcp::server::{Server, serve_stdio_process};
use crate::mcp_endpoint::{self, Sessions};
use crate::store::Paths;
use crate::sys::cancel::Cancel;
use crate::sys::{self, signal};
use crate::{InMemoryData, SessionData};
use gosling_core::builtin::{self, BuiltinContext};
use lexopt::prelude::*;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) const COMMAND: Command = Command {
    name: "mcp",
    summary: "run an MCP server that gosling ships, on stdio or over HTTP",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling mcp NAME [OPTIONS]

Speaks MCP on stdin and stdout, one JSON-RPC message a line, until stdin ends or
a signal comes; or over Streamable HTTP, until a signal comes.

names:
  demo        a little of everything: tools, resources, a prompt
  developer   a shell and files, for coding
  memory      notes for later sessions, of a project or of the user
  todo        a checklist, for as long as the client stays

options:
  --http PORT         serve at http://127.0.0.1:PORT/mcp instead, with a session
                      for each client; 0 takes a free port
  --secret-file FILE  over HTTP: clients must send the first line of FILE as
                      X-Secret-Key; without it, every user of this machine may
                      call the server
  --pages             demo: three pages of each
  --break NAME        demo: break one requirement of MCP servers, to try clients
                      and `gosling check`; `list` prints the names
  -h, --help          show this

variables:
  GOOSE_PATH_ROOT      the user's files are in config/, data/ and state/ below
                       this folder
  GOOSE_ALLOWED_HOSTS  over HTTP: host names, other than localhost, that clients
                       and pages may use
  GOOSE_TODO_MAX_CHARS
                       todo: how long the list may be (50000; 0 for a million)
  GOOSE_LOG            error, warn, info, debug or trace (RUST_LOG; info)
";

/// How often idle sessions are searched for.
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(60);

fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let mut name = None;
    let mut pages = false;
    let mut port = None;
    let mut secret = None;
    let mut fault = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Value(value) if name.is_none() => name = Some(text(value)?),
            Long("pages") => pages = true,
            Long("break") => fault = Some(text(parser.value()?)?),
            Long("http") => port = Some(parse_port("--http", &text(parser.value()?)?)?),
            Long("secret-file") => secret = Some(read_secret(parser.value()?.into())?),
            Short('h') | Long("help") => return print(HELP),
            other => return Err(other.unexpected().into()),
        }
    }
    let known = builtin::names().join(", ");
    let Some(name) = name else {
        return Err(Failure::Usage(format!(
            "no server name given; the servers are {known}"
        )));
    };
    if !builtin::has(&name) {
        let hint = features::hint_among(features::SERVERS, &name);
        let text = format!("there is no server {name:?}; the servers are {known}{hint}");
        return Err(Failure::Usage(text));
    }
    if let Some(fault) = fault {
        return serve_broken(&name, &fault, pages, port);
    }
    let paths = crate::command_line::paths()?;
    match port {
        Some(port) => serve_http(name, pages, port, secret, paths),
        None if secret.is_some() => Err(Failure::Usage("--secret-file goes with --http".into())),
        None => serve_stdio(&name, pages, &paths),
    }
}

/// Serves the demo server with one requirement broken.
fn serve_broken(name: &str, fault: &str, pages: bool, port: Option<u16>) -> Result<(), Failure> {
    #[cfg(feature = "demo")]
    if name == "demo" {
        return crate::demo_server::broken_server::serve(fault, pages, port);
    }
    let _ = (name, fault, pages, port);
    let hint = features::hint("demo");
    Err(Failure::Usage(format!(
        "--break is for the server demo{hint}"
    )))
}

fn serve_stdio(name: &str, pages: bool, paths: &Paths) -> Result<(), Failure> {
    signal::block();
    logging::begin(None, log::LevelFilter::Trace);
    let gone = Cancel::new();
    let cancel = gone.clone();
    sys::spawn("signals".to_owned(), Some(sys::SMALL_STACK), move || {
        signal::wait();
        cancel.cancel();
        process::exit(128 + signal::wait());
    })
    .map_err(failed("no thread"))?;
    if serve_stdio_process(server(name, pages, paths), &gone) == ExitCode::SUCCESS {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// Creates the server of this name, which exists.
fn server(name: &str, pages: bool, paths: &Paths) -> Server {
    // The sessions of the client are not stored here.
    let data: Arc<dyn SessionData> = Arc::new(InMemoryData::default());
    let context = BuiltinContext {
        paths,
        data: &data,
        offline: false,
    };
    let unknown = || Server::new(name, env!("CARGO_PKG_VERSION"));
    crate::server(name, pages, &context).unwrap_or_else(unknown)
}

fn serve_http(
    name: String,
    pages: bool,
    port: u16,
    secret: Option<String>,
    paths: Paths,
) -> Result<(), Failure> {
    sys::protect_memory();
    signal::block();
    logging::start(&paths);
    if let Some(secret) = &secret {
        serve::check_key(secret)?;
    }
    let keyless = secret.is_none();
    let label = name.clone();
    let sessions = Arc::new(Sessions::new(move || server(&name, pages, &paths)));
    let guard = AccessControl::new(secret.map(String::into_bytes), serve::allowed_hosts()?);
    let http = mcp_endpoint::serve(mcp_endpoint::router(&sessions), guard, port)?;
    let at = http.local_addr();
    let path = mcp_endpoint::PATH;
    logging::say(&format!(
        "gosling mcp {label} listens on http://{at}{path}\n"
    ));
    if keyless {
        log::warn!("no key is required, so every user of this machine may call the server");
    }
    let looked_after = sessions.clone();
    sys::spawn("idle sessions".to_owned(), None, move || {
        loop {
            thread::sleep(IDLE_POLL_INTERVAL);
            looked_after.end_idle();
        }
    })
    .map_err(failed("no thread"))?;
    let work = sessions.cancel().clone();
    serve::until_signal(http, &work, || false, || {}, move || sessions.close());
    Ok(())
}
