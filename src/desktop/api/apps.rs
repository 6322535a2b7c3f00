//! `/agent/list_apps`, `/agent/export_app` and `/agent/import_app`: the MCP Apps of a session. Part of Goose's API
//! after 1.24. gosling keeps no apps of its own: an app belongs to an MCP server.

use super::{cancel_of, text_of, with};
use crate::agent::Registry;
use crate::app_listing::{self, App};
use crate::extension::ExtensionItem;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::mcp::jsonrpc::RawJson;
use crate::text::printable;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router
        .get("/agent/list_apps", Keyed, with(registry, list))
        .get("/agent/export_app/{name}", Keyed, export)
        .post("/agent/import_app", Keyed, import)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AppInfo {
    uri: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    text: String,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RawJson>,
    mcp_servers: [String; 1],
}

#[derive(Deserialize)]
struct ImportRequest {
    #[expect(dead_code, reason = "required, but gosling keeps no apps")]
    html: String,
}

/// The apps of the session's servers; without a session there are none.
fn list(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let Some(session) = request.query("session_id") else {
        return Ok(Response::json(&json!({ "apps": [] })));
    };
    let cancel = cancel_of(registry, request);
    let agent = registry.agent(session)?;
    let listing = app_listing::apps(agent.extensions(&cancel)?, &cancel);
    for error in &listing.errors {
        log::warn!("apps not listed session={session} reason={error}");
    }
    let apps: Vec<AppInfo> = listing.items.into_iter().map(app_info).collect();
    Ok(Response::json(&json!({ "apps": apps })))
}

fn app_info(of: ExtensionItem<App>) -> AppInfo {
    let App { resource, contents } = of.item;
    AppInfo {
        uri: resource.uri,
        name: resource.name,
        description: resource.description,
        mime_type: contents.mime_type,
        text: text_of(contents.text, contents.blob).0,
        meta: contents.meta,
        mcp_servers: [of.extension],
    }
}

fn export(request: &Request) -> Result<Response, Error> {
    let name = printable(request.param("name"), 100);
    Err(Error::not_found(format!(
        "App '{name}' not found: gosling keeps no apps; those of MCP servers are read with \
         /agent/read_resource"
    )))
}

fn import(request: &Request) -> Result<Response, Error> {
    let _: ImportRequest = request.json()?;
    Err(Error::bad_request(
        "gosling keeps no apps: add an MCP server that has the app",
    ))
}
