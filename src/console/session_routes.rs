//! Routes about one tool or one extension of a session.

use crate::agent::Registry;
use crate::api::{Route, cancel_of, keyed};
use crate::extension::{ExtensionConfig, ListedTool, config};
use crate::http::Method::{Get, Post};
use crate::http::{Error, Request, Response, Router};
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::ToolAnnotations;
use crate::store::PermissionLevel;
use crate::text::printable;
use gosling_core::json_body;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

const ROUTES: &[Route] = &[
    (Get, "/agent/tools/{name}", tool),
    (Get, "/agent/extensions/{name}/log", log),
    (Post, "/agent/extensions/restart", restart),
];

/// The longest name in an error, in characters.
const MAX_NAME: usize = 200;

pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    keyed(router, registry, ROUTES)
}

/// A tool as its server describes it.
#[derive(Serialize)]
struct ToolAnswer {
    name: String,
    extension: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    input_schema: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<ToolAnnotations>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RawJson>,
    /// The stored permission, if any.
    permission: Option<PermissionLevel>,
}

impl ToolAnswer {
    fn new(listed: ListedTool, permission: Option<PermissionLevel>) -> Self {
        let ListedTool {
            name,
            extension,
            tool,
            ..
        } = listed;
        ToolAnswer {
            name,
            extension,
            title: tool.title,
            description: tool.description,
            input_schema: tool.input_schema,
            output_schema: tool.output_schema,
            annotations: tool.annotations,
            meta: tool.meta,
            permission,
        }
    }
}

/// `GET /agent/tools/{name}`: one tool of the session, with its schemas.
fn tool(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let agent = registry.agent(request.required_query("session_id")?)?;
    let name = request.param("name");
    let mut listed = agent
        .tools(None, &cancel_of(registry, request))?
        .into_iter();
    let found = listed.find(|tool| tool.name == name);
    let found = found.ok_or_else(|| {
        let name = printable(name, MAX_NAME);
        Error::not_found(format!("the session has no tool {name:?}"))
    })?;
    let permission = registry.stores().permissions.all()?.get(name).copied();
    Ok(Response::json(&ToolAnswer::new(found, permission)))
}

fn unknown_extension(name: &str) -> Error {
    let name = printable(name, MAX_NAME);
    Error::not_found(format!("the session has no extension {name:?}"))
}

/// `GET /agent/extensions/{name}/log`: the end of what its server wrote to stderr, without secrets. Starts nothing.
fn log(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let all = registry.status(request.required_query("session_id")?)?;
    let name = request.param("name");
    let key = config::key(name);
    let status = all.into_iter().find(|status| status.key == key);
    let status = status.ok_or_else(|| unknown_extension(name))?;
    Ok(Response::json(&json!({
        "name": status.name,
        "state": status.state,
        "stderr": status.stderr(),
        "error": status.error,
    })))
}

/// `POST /agent/extensions/restart`: ends the server of an extension and starts it again. If that fails, the extension
/// stays in the session, and its next use tries again.
fn restart(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => RestartRequest { session_id: String, name: String });
    let agent = registry.agent(&session_id)?;
    let session = registry.files().session(&session_id)?;
    let key = config::key(&name);
    let configs = session.enabled_extensions().iter().cloned();
    let mut configs = configs.filter_map(|config| ExtensionConfig::from_value(config).ok());
    let found = configs.find(|config| config.key() == key);
    let found = found.ok_or_else(|| unknown_extension(&name))?;
    agent.check_no_turn()?;
    let cancel = cancel_of(registry, request);
    let extensions = agent.extensions(&cancel)?;
    extensions.remove(&name);
    if let Err(error) = extensions.add(&found, &cancel) {
        extensions.add_suspended(&found);
        let class = error.class_name();
        let message = format!("Failed to restart extension: {error}");
        return Err(Error::internal(message).class(class));
    }
    Ok(Response::empty(200))
}
