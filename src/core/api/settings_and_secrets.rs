//! `/config`: settings and secrets.

use super::{Route, json_body};
use crate::agent::{Registry, ShownSetting, command_list};
use crate::http::Method::{Get, Post};
use crate::http::{Error, Request, Response};
use crate::store::PermissionLevel;
use serde::Deserialize;
use serde_json::{Value, json};

/// How many permissions one request sets at most.
const MAX_PERMISSIONS: usize = 1_000;

pub(super) const ROUTES: &[Route] = &[
    (Get, "/config", all),
    (Post, "/config/read", read),
    (Post, "/config/upsert", upsert),
    (Post, "/config/remove", remove),
    (Post, "/config/permissions", set_permissions),
    (Get, "/config/slash_commands", slash_commands),
];

#[derive(Deserialize)]
struct ToolPermission {
    tool_name: String,
    permission: PermissionLevel,
}

fn all(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let config = ShownSetting::all(registry.stores(), registry.catalog())?;
    Ok(Response::json(&json!({ "config": config })))
}

fn read(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Key { key: String, is_secret: bool });
    let shown = ShownSetting::of(registry.stores(), registry.catalog(), &key, is_secret)?;
    Ok(Response::json(&shown.map(|shown| match shown {
        ShownSetting::Plain(value) => value,
        ShownSetting::Masked(text) => json!({ "maskedValue": text }),
    })))
}

fn upsert(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => KeyAndValue { key: String, value: Value, is_secret: bool });
    registry.stores().set(&key, &value, is_secret)?;
    Ok(Response::json(&format!("Upserted key {key}")))
}

fn remove(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Key { key: String, is_secret: bool });
    registry.stores().remove(&key, is_secret)?;
    Ok(Response::json(&format!("Removed key {key}")))
}

fn set_permissions(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => PermissionsRequest { tool_permissions: Vec<ToolPermission> });
    if tool_permissions.len() > MAX_PERMISSIONS {
        return Err(Error::bad_request(format!(
            "`tool_permissions` has more than {MAX_PERMISSIONS} entries; send fewer at once"
        )));
    }
    let has_no_name = |it: &ToolPermission| it.tool_name.trim().is_empty();
    if let Some(at) = tool_permissions.iter().position(has_no_name) {
        return Err(Error::bad_request(format!(
            "`tool_permissions[{at}].tool_name` is empty"
        )));
    }
    let decisions: Vec<(&str, PermissionLevel)> = tool_permissions
        .iter()
        .map(|it| (it.tool_name.as_str(), it.permission))
        .collect();
    registry.stores().permissions.set_all(&decisions)?;
    Ok(Response::json(&"Permissions updated successfully"))
}

fn slash_commands(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let commands = command_list::list(&registry.stores().config)?;
    Ok(Response::json(&json!({ "commands": commands })))
}
