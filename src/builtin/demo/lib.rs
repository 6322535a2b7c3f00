//! A small MCP server for trying out clients: it has a little of everything that MCP defines, and it changes nothing.
//! [`faults`] break one of its requirements each.
#![forbid(unsafe_code)]

pub mod faults;

use gosling_mcp::server::{
    Contents, Context, Level, Prompt, Resource, ResourceTemplate, Server, Tool, ToolError,
};
use gosling_mcp::types::{CallToolResult, GetPromptResult, PromptMessage, ToolAnnotations};
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
    Tool::new(
        "echo",
        "Returns its argument.",
        |args: Echo, _: &Context| Ok(CallToolResult::text(args.message)),
    )
    .title("Echo")
    .input(json!({
        "type": "object",
        "properties": {"message": {"type": "string", "description": "What to say back"}},
        "required": ["message"]
    }))
    .annotations(ToolAnnotations::READS)
    .quick()
}

fn add() -> Tool {
    #[derive(Deserialize)]
    struct Add {
        a: Number,
        b: Number,
    }
    Tool::new("add", "Adds two numbers.", |args: Add, _: &Context| {
        let sum = sum(&args.a, &args.b).ok_or_else(|| {
            let text = "The sum is too large for a number here; use smaller ones.";
            ToolError::Failed(text.to_owned())
        })?;
        CallToolResult::structured(&json!({"sum": sum}))
    })
    .title("Add")
    .input(json!({
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": "The first number"},
            "b": {"type": "number", "description": "The second number"}
        },
        "required": ["a", "b"]
    }))
    .output(json!({
        "type": "object",
        "properties": {"sum": {"type": "number"}},
        "required": ["sum"]
    }))
    .annotations(ToolAnnotations::READS)
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
    Tool::new(
        "slow",
        "Runs for some steps and reports progress after each one. May be \
         cancelled at any time.",
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
    .title("Slow")
    .input(json!({
        "type": "object",
        "properties": {
            "steps": {
                "type": "integer", "minimum": 1, "maximum": MAX_STEPS, "default": 5,
                "description": "How many steps to take"
            },
            "step_ms": {
                "type": "integer", "minimum": 0, "maximum": MAX_STEP_MS, "default": 200,
                "description": "How long each one takes, in milliseconds"
            }
        }
    }))
    .annotations(ToolAnnotations::READS)
}

fn fail() -> Tool {
    #[derive(Deserialize)]
    struct Fail {
        message: Option<String>,
    }
    Tool::new(
        "fail",
        "Always fails, to show what that looks like.",
        |args: Fail, _: &Context| {
            let usual = || "This tool always fails.".to_owned();
            Err(ToolError::Failed(args.message.unwrap_or_else(usual)))
        },
    )
    .title("Fail")
    .input(json!({
        "type": "object",
        "properties": {"message": {"type": "string", "description": "What to fail with"}}
    }))
    .annotations(ToolAnnotations::READS)
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
    let name = format!("tool_{n:02}");
    let description = format!("Tells its number, which is {n}.");
    Tool::new(&name, &description, move |_: IgnoredAny, _: &Context| {
        let text = format!("I am tool {n} of {PAGED_ITEMS}.");
        Ok(CallToolResult::text(text))
    })
    .annotations(ToolAnnotations::READS)
    .quick()
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

/// 16 by 16 pixels, black and white.
#[rustfmt::skip]
const GOSLING_PNG: [u8; 110] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
    0x52, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x37,
    0x88, 0xc2, 0xcc, 0x00, 0x00, 0x00, 0x35, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8,
    0xff, 0x9f, 0xe1, 0xe3, 0x7f, 0x86, 0x27, 0xff, 0x19, 0x0e, 0xd4, 0x33, 0xfc, 0xa8, 0x67,
    0xf8, 0x03, 0x46, 0x40, 0xc6, 0x07, 0x66, 0x86, 0x07, 0x0c, 0x0c, 0x0f, 0x18, 0x19, 0x1e,
    0x30, 0x33, 0x7c, 0x60, 0x67, 0xf8, 0x21, 0xcf, 0xf0, 0x77, 0x3f, 0xc3, 0x4f, 0x7b, 0x00,
    0x3e, 0x0d, 0x15, 0x8e, 0x81, 0x8d, 0x41, 0xe4, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e,
    0x44, 0xae, 0x42, 0x60, 0x82,
];
