//! A small MCP server for trying out clients: it has a little of everything that MCP defines, and it changes nothing.
//! [`faults`] break one of its requirements each.
#![forbid(unsafe_code)]

pub mod faults;

use gosling_mcp::server::{
    Contents, Context, Level, Prompt, Resource, ResourceTemplate, Server, Tool, ToolError,
};
use gosling_mcp::types::{CallToolResult, GetPromptResult, PromptMessage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Number, json};
use std::time::Duration;

const INSTRUCTIONS: &str = "\
A server for trying things out; nothing here changes anything.
Call `echo` to get your own words back, `add` to add two numbers, `slow` to watch progress or to cancel \
something, and `fail` to see what a failure looks like. Read demo://welcome, demo://gosling.png or \
demo://greeting/YOUR-NAME. The prompt `explain` asks for an explanation of a topic.";

const WELCOME: &str = "\
Welcome! This text is a resource of gosling's demo server.
If you can read it, your client, the server and everything between them work.
";

/// With pages: how many tools, resources, templates and prompts there are of each, and how many of them are on
/// one page.
const PAGED_ITEMS: usize = 25;
const PAGE_SIZE: usize = 10;

/// 16 by 16 pixels, black and white.
const GOSLING_PNG: &[u8] = include_bytes!("gosling.png");

const MAX_STEPS: u32 = 1_000;
const MAX_STEP_MS: u64 = 60_000;

/// Creates the demo server. With `pages` it has 25 tools, resources, templates and prompts each, and lists 10 at
/// a time.
pub fn server(pages: bool) -> Server {
    let server = Server::new("demo", env!("CARGO_PKG_VERSION"))
        .title("gosling demo")
        .instructions(INSTRUCTIONS)
        .logging()
        .tool(echo())
        .tool(add())
        .tool(slow())
        .tool(fail())
        .resource(welcome())
        .resource(picture())
        .template(greeting())
        .prompt(explain());
    if pages { with_pages(server) } else { server }
}

fn echo() -> Tool {
    #[derive(Deserialize)]
    struct Echo {
        message: String,
    }
    Tool::described(
        include_str!("tools/echo.json"),
        |args: Echo, _: &Context| Ok(CallToolResult::text(args.message)),
    )
    .quick()
}

fn add() -> Tool {
    #[derive(Deserialize)]
    struct Add {
        a: Number,
        b: Number,
    }
    Tool::described(include_str!("tools/add.json"), |args: Add, _: &Context| {
        let sum = sum(&args.a, &args.b).ok_or_else(|| {
            let text = "The sum is too large for a number here; use smaller ones.";
            ToolError::Failed(text.to_owned())
        })?;
        CallToolResult::structured(&json!({"sum": sum}))
    })
    .quick()
}

/// Two integers add up to an integer: 2 and 3 make 5, not 5.0.
fn sum(a: &Number, b: &Number) -> Option<Number> {
    let whole = a.as_i64().zip(b.as_i64());
    match whole.and_then(|(a, b)| a.checked_add(b)) {
        Some(sum) => Some(sum.into()),
        None => Number::from_f64(a.as_f64()? + b.as_f64()?),
    }
}

fn slow() -> Tool {
    #[derive(Deserialize)]
    struct Slow {
        steps: Option<u32>,
        step_ms: Option<u64>,
    }
    Tool::described(
        include_str!("tools/slow.json"),
        |args: Slow, context: &Context| {
            let steps = args.steps.unwrap_or(5);
            let step_ms = args.step_ms.unwrap_or(200);
            if !(1..=MAX_STEPS).contains(&steps) || step_ms > MAX_STEP_MS {
                return Err(ToolError::Failed(format!(
                    "Choose 1 to {MAX_STEPS} steps of at most {MAX_STEP_MS} ms."
                )));
            }
            let ahead = format!("{steps} steps of {step_ms} ms lie ahead");
            context.log(Level::Info, ahead);
            for step in 1..=steps {
                if !context.pause(Duration::from_millis(step_ms)) {
                    let text = format!("Cancelled in step {step} of {steps}.");
                    return Err(ToolError::Failed(text));
                }
                let message = format!("Step {step} of {steps} is done");
                context.log(Level::Debug, &message);
                context.progress(step.into(), Some(steps.into()), Some(&message));
            }
            let text = format!("Done: {steps} steps of {step_ms} ms.");
            Ok(CallToolResult::text(text))
        },
    )
}

fn fail() -> Tool {
    #[derive(Deserialize)]
    struct Fail {
        message: Option<String>,
    }
    Tool::described(
        include_str!("tools/fail.json"),
        |args: Fail, _: &Context| {
            let usual = || "This tool always fails.".to_owned();
            Err(ToolError::Failed(args.message.unwrap_or_else(usual)))
        },
    )
    .quick()
}

fn welcome() -> Resource {
    let contents = Contents::Text(WELCOME.to_owned());
    Resource::fixed("demo://welcome", "welcome", "text/plain", contents)
        .title("Welcome")
        .description("A few words of welcome, as text")
}

fn picture() -> Resource {
    let contents = Contents::Bytes(GOSLING_PNG.to_vec());
    Resource::fixed("demo://gosling.png", "gosling.png", "image/png", contents)
        .title("A gosling")
        .description("A very small picture of a gosling, as binary data")
}

/// The variable of the templates.
#[derive(Deserialize)]
struct Named {
    name: String,
}

fn greeting() -> ResourceTemplate {
    ResourceTemplate::new(
        "demo://greeting/{name}",
        "greeting",
        "text/plain",
        |to: Named, _: &Context| Ok(Contents::Text(format!("Hello, {}!\n", to.name))),
    )
    .description("A greeting for anyone, by name")
    .quick()
}

fn explain() -> Prompt {
    #[derive(Deserialize)]
    struct Explain {
        topic: String,
    }
    Prompt::new(
        "explain",
        "Asks for a short explanation.",
        |args: Explain, _: &Context| {
            let text = format!(
                "Explain {} in three short sentences, as if to a curious friend.",
                args.topic
            );
            Ok(prompt_result("A request for a short explanation", &text))
        },
    )
    .title("Explain a topic")
    .required("topic", "What to explain")
    .quick()
}

fn prompt_result(description: &str, text: &str) -> GetPromptResult {
    GetPromptResult {
        description: Some(description.to_owned()),
        messages: vec![PromptMessage::user(text)],
    }
}

fn with_pages(server: Server) -> Server {
    let server = server.page_size(PAGE_SIZE);
    let tools = (5..=PAGED_ITEMS).map(numbered_tool);
    let server = tools.fold(server, Server::tool);
    let resources = (3..=PAGED_ITEMS).map(numbered_resource);
    let server = resources.fold(server, Server::resource);
    let templates = (2..=PAGED_ITEMS).map(numbered_template);
    let server = templates.fold(server, Server::template);
    let prompts = (2..=PAGED_ITEMS).map(numbered_prompt);
    prompts.fold(server, Server::prompt)
}

fn numbered_tool(n: usize) -> Tool {
    let description = json!({
        "name": format!("tool_{n:02}"),
        "description": format!("Tells its number, which is {n}."),
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
        },
    });
    let run = move |_: IgnoredAny, _: &Context| {
        let text = format!("I am tool {n} of {PAGED_ITEMS}.");
        Ok(CallToolResult::text(text))
    };
    Tool::described(&description.to_string(), run).quick()
}

fn numbered_resource(n: usize) -> Resource {
    let text = format!("I am resource {n} of {PAGED_ITEMS}.\n");
    let uri = format!("demo://resource/{n:02}");
    let name = format!("resource_{n:02}");
    Resource::fixed(&uri, &name, "text/plain", Contents::Text(text))
        .description("One of many, to fill pages")
}

fn numbered_template(n: usize) -> ResourceTemplate {
    let uri = format!("demo://template/{n:02}/{{name}}");
    let name = format!("template_{n:02}");
    ResourceTemplate::new(&uri, &name, "text/plain", move |to: Named, _: &Context| {
        let text = format!("Template {n} of {PAGED_ITEMS} greets {}.\n", to.name);
        Ok(Contents::Text(text))
    })
    .description("One of many, to fill pages")
    .quick()
}

fn numbered_prompt(n: usize) -> Prompt {
    #[derive(Deserialize)]
    struct Style {
        style: Option<String>,
    }
    Prompt::new(
        &format!("prompt_{n:02}"),
        "One of many, to fill pages.",
        move |args: Style, _: &Context| {
            let style = args.style.as_deref().unwrap_or("plain");
            let text = format!("Say in a {style} style that prompt {n} of {PAGED_ITEMS} works.");
            Ok(prompt_result("One of many", &text))
        },
    )
    .optional("style", "How to say it, for example `solemn`")
    .quick()
}

#[cfg(test)]
mod tests;
