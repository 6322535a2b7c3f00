//! A server whose tools misbehave on demand.

use crate::client::DEADLINE;
use crossbeam_channel::{Receiver, Sender, unbounded};
use gosling::mcp::jsonrpc::RawJson;
use gosling::mcp::server::{
    Contents, Context, Level, Resource, ResourceError, ResourceTemplate, Server, Tool, ToolError,
};
use gosling::mcp::types::CallToolResult;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// A server whose tools misbehave on demand. `wait` signals on `started` that it runs, and ends when it is
/// cancelled; `stubborn` ends when `release` is dropped.
pub struct Lab {
    pub server: Server,
    pub started: Receiver<()>,
    pub release: Sender<()>,
}

pub fn lab() -> Lab {
    let (start, started) = unbounded();
    let (release, released) = unbounded::<()>();
    let start_stubborn = start.clone();
    let server = Server::new("lab", "1")
        .tool(Tool::new(
            "wait",
            "",
            move |_: IgnoredAny, context: &Context| {
                let _ = start.send(());
                context.pause(DEADLINE);
                Ok(CallToolResult::text("woken"))
            },
        ))
        .tool(Tool::new(
            "stubborn",
            "",
            move |_: IgnoredAny, context: &Context| {
                let _ = start_stubborn.send(());
                let _ = released.recv_timeout(DEADLINE);
                context.progress(1.0, None, None);
                Ok(CallToolResult::text("at last"))
            },
        ))
        .tool(Tool::new("panic", "", |_: IgnoredAny, _: &Context| {
            panic!("on demand")
        }))
        .tool(
            Tool::new("panic_quick", "", |_: IgnoredAny, _: &Context| {
                panic!("on demand")
            })
            .quick(),
        )
        .tool(
            Tool::new("picky", "", |_: IgnoredAny, _: &Context| {
                Err(ToolError::Refused("Not like this".to_owned()))
            })
            .quick(),
        )
        .tool(
            Tool::new("meta", "", |_: IgnoredAny, context: &Context| {
                let dir = context.meta("agent-working-dir");
                Ok(CallToolResult::text(
                    dir.and_then(Value::as_str).unwrap_or("none"),
                ))
            })
            .quick(),
        )
        .tool(
            Tool::new("log", "", |_: IgnoredAny, context: &Context| {
                context.log(Level::Debug, "details");
                context.log(Level::Error, json!({"code": 7}));
                Ok(CallToolResult::text("logged"))
            })
            .quick(),
        )
        .tool(
            Tool::new("lines", "", |_: IgnoredAny, _: &Context| {
                let raw: RawJson = serde_json::from_str("{\n\"a\":\r\n1}").expect("JSON");
                Ok(CallToolResult {
                    structured_content: Some(raw),
                    ..CallToolResult::default()
                })
            })
            .quick(),
        )
        .tool(
            Tool::new("array", "", |_: IgnoredAny, _: &Context| {
                CallToolResult::structured(&[1])
            })
            .quick(),
        )
        .resource(Resource::new("lab://gone", "gone", "text/plain", |_| {
            Err(ResourceError::NotFound)
        }))
        .resource(Resource::new(
            "lab://broken",
            "broken",
            "text/plain",
            |_| Err(ResourceError::Failed("The disk is on fire".to_owned())),
        ))
        .template(ResourceTemplate::new(
            "lab://{a}/{b}",
            "pair",
            "text/plain",
            |v: Value, _: &Context| Ok(Contents::Text(v.to_string())),
        ));
    Lab {
        server,
        started,
        release,
    }
}

pub fn started(lab: &Receiver<()>) {
    lab.recv_timeout(DEADLINE).expect("the tool runs");
}
