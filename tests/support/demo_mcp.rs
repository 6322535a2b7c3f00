//! Serves the builtin server `demo` on stdio, as `gosling mcp demo` does. `--pages` has the same meaning.

use gosling::mcp::server::serve_stdio_process;
use gosling::sys::cancel::Cancel;
use gosling_demo as demo;
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let pages = env::args().skip(1).any(|argument| argument == "--pages");
    serve_stdio_process(demo::server(pages), &Cancel::new())
}
