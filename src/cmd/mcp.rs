//! `gosling mcp NAME`: one of the shipped MCP servers, on stdin and stdout.

use super::{Failure, print, text};
use crate::builtin::{self, SessionData, Unsaved};
use crate::mcp::server::serve_stdio_process;
use lexopt::prelude::*;
use std::process::ExitCode;
use std::sync::Arc;

const HELP: &str = "\
usage: gosling mcp NAME [OPTIONS]

Speaks MCP on stdin and stdout, one JSON-RPC message a line, until stdin ends.

names:
  demo        a little of everything: tools, resources, a prompt
  developer   a shell and files, for coding
  memory      notes for later sessions, of a project or of the user
  todo        a checklist, for as long as the client stays

options:
  --pages     demo: three pages of each
  -h, --help  show this
";

pub(super) fn run(mut parser: lexopt::Parser) -> Result<(), Failure> {
    let (mut name, mut pages) = (None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Value(value) if name.is_none() => name = Some(text(value)?),
            Long("pages") => pages = true,
            Short('h') | Long("help") => return print(HELP),
            other => return Err(other.unexpected().into()),
        }
    }
    let name = name.ok_or_else(|| {
        Failure::Usage(format!(
            "which server? There is {}",
            builtin::NAMES.join(", ")
        ))
    })?;
    // The client's sessions are not ours.
    let data: Arc<dyn SessionData> = Arc::new(Unsaved::default());
    let server = match name.as_str() {
        "demo" => builtin::demo::server(pages),
        name => builtin::server(name, &super::paths()?, &data).ok_or_else(|| {
            let known = builtin::NAMES.join(", ");
            Failure::Usage(format!("there is no server {name:?}, only {known}"))
        })?,
    };
    match serve_stdio_process(server) == ExitCode::SUCCESS {
        true => Ok(()),
        false => Err(Failure::Told),
    }
}
