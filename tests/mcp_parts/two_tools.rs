//! An MCP server of two tools, one of which asks the user.

use gosling_mcp::server::{AskError, serve_stdio_process};
use gosling_mcp::server::{Context, Filled, Server, Structured, Tool, ToolError};
use gosling_mcp::{Cancel, arguments};
use std::process::ExitCode;

arguments! {
    struct Numbers {
        /// The first number
        a: f64,
        /// The second number
        b: f64,
    }
}

arguments! {
    struct Sum {
        sum: f64,
    }
}

arguments! {
    struct Greet {
        /// Whom to greet; the user is asked if it is missing
        name: Option<String>,
    }
}

arguments! {
    struct Name {
        /// Your name
        name: String,
    }
}

fn add(of: Numbers, _: &Context) -> Result<Structured<Sum>, ToolError> {
    Ok(Structured(Sum { sum: of.a + of.b }))
}

fn greet(args: Greet, context: &Context) -> Result<String, ToolError> {
    let ask = || match context.elicit_form::<Name>("Whom should I greet?") {
        Ok(Filled::Accepted(form)) => Ok(form.name),
        Err(AskError::NotOffered(_)) => Err("pass a `name`"),
        _ => Err("the user did not say"),
    };
    let name = args.name.map_or_else(ask, Ok)?;
    Ok(format!("Hello, {name}!"))
}

fn main() -> ExitCode {
    let server = Server::new("two-tools", "1.0.0")
        .tool(Tool::typed("add", "Adds two numbers.", add))
        .tool(Tool::typed("greet", "Greets someone by name.", greet));
    serve_stdio_process(server, &Cancel::new())
}
