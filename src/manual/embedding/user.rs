use gosling::agent::{Registry, Start, Stores};
use gosling::embedding::{Elicitation, User, ask};
use gosling::mcp::server::{Context, InProcess, Server, Tool, ToolError};
use gosling::mcp::types::CallToolResult;
use gosling::parts::PARTS;
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Books a table at the time that the user wants.
pub fn restaurant() -> Server {
    let book = |_: Map<String, Value>, context: &Context| {
        let schema = json!({
            "type": "object",
            "properties": {"time": {"type": "string"}},
            "required": ["time"]
        });
        let answer = context.elicit("When do you come?", &schema);
        let answer = answer.map_err(|e| ToolError::Failed(e.to_string()))?;
        let told = json!({"action": answer.action, "data": answer.content});
        Ok(CallToolResult::text(told.to_string()))
    };
    let tool = Tool::new("book", "Books a table.", book);
    Server::new("restaurant", "1.0.0").tool(tool)
}

struct Guest;

impl User for Guest {
    fn elicit(&self, asked: &Elicitation) -> Option<Value> {
        assert!(asked.message.ends_with("When do you come?"));
        Some(json!({"time": "8 pm"}))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::temp_dir().join("gosling-manual-user");
    let stores = Stores::new(&Paths::under(&root));
    let server = Arc::new(restaurant());
    let registry = Registry::new(stores, PARTS, true).with_server(
        "restaurant",
        move |_| Arc::new(InProcess::new(server.clone())),
    );
    let registry = Arc::new(registry);
    let _guest = ask(&registry, Guest);
    let restaurant = json!({"type": "builtin", "name": "restaurant"});
    let session = registry.start(Start {
        extension_overrides: Some(vec![restaurant]),
        ..Start::default()
    })?;
    let agent = registry.agent(&session.id)?;
    let none = serde_json::value::to_raw_value(&json!({}))?;
    let result = agent.call("restaurant__book", &none, &Cancel::new())?;
    let told = result.content[0].as_json();
    assert!(told.contains("8 pm"), "{told}");
    registry.close();
    Ok(())
}
