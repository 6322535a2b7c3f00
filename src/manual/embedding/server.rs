use gosling::agent::{Registry, Start, Stores};
use gosling::http::{Access, Method, Request, Response, Router};
use gosling::mcp::server::{Context, InProcess, Server, Tool};
use gosling::mcp::types::CallToolResult;
use gosling::parts::PARTS;
use gosling::store::Paths;
use serde_json::json;
use std::sync::Arc;

#[derive(serde::Deserialize)]
struct Greet {
    name: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let greet = |args: Greet, _: &Context| {
        Ok(CallToolResult::text(format!("Hello, {}!", args.name)))
    };
    let tool = Tool::new("greet", "Greets someone.", greet).input(json!({
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"]
    }));
    let server = Arc::new(Server::new("greeter", "1.0.0").tool(tool));

    let root = std::env::temp_dir().join("gosling-manual-server");
    let stores = Stores::new(&Paths::under(&root));
    let registry = Registry::new(stores, PARTS, true).with_server(
        "greeter",
        move |_| Arc::new(InProcess::new(server.clone())),
    );
    let registry = Arc::new(registry);
    let greeter = json!({"type": "builtin", "name": "greeter"});
    let session = registry.start(Start {
        extension_overrides: Some(vec![greeter]),
        ..Start::default()
    })?;

    let own = Router::new()
        .get("/hello/{name}", Access::Keyless, |request: &Request| {
            Ok(Response::text(format!("Hello, {}!", request.param("name"))))
        });
    let api = gosling::api::router(registry.clone());
    let router = Arc::new(api.nest("/own", own));
    let request = Request::new(Method::Get, "/own/hello/Ada");
    assert_eq!(router.respond(request).body, b"Hello, Ada!");
    let call = json!({
        "session_id": session.id,
        "name": "greeter__greet",
        "arguments": {"name": "Ada"}
    });
    let request = Request::new(Method::Post, "/agent/call_tool")
        .with_body("application/json", call.to_string());
    let answer = String::from_utf8(router.respond(request).body)?;
    assert!(answer.contains("Hello, Ada!"), "{answer}");
    registry.close();
    Ok(())
}
