//! `/config`: settings and secrets.

use super::with;
use crate::agent::Registry;
use crate::extension::platform;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::recipe::slash;
use crate::store::Level;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router
        .get("/config", Keyed, with(registry, all))
        .post("/config/read", Keyed, with(registry, read))
        .post("/config/upsert", Keyed, with(registry, upsert))
        .post("/config/remove", Keyed, with(registry, remove))
        .post(
            "/config/permissions",
            Keyed,
            with(registry, set_permissions),
        )
        .get(
            "/config/slash_commands",
            Keyed,
            with(registry, slash_commands),
        )
}

#[derive(Deserialize)]
struct Key {
    key: String,
    is_secret: bool,
}

#[derive(Deserialize)]
struct KeyAndValue {
    key: String,
    value: Value,
    is_secret: bool,
}

#[derive(Deserialize)]
struct PermissionsRequest {
    tool_permissions: Vec<ToolPermission>,
}

#[derive(Deserialize)]
struct ToolPermission {
    tool_name: String,
    permission: Level,
}

fn all(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let mut config = registry.stores().config.all()?;
    platform::complete(&mut config);
    Ok(Response::json(&json!({ "config": config })))
}

fn read(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let Key { key, is_secret } = request.json()?;
    let stores = registry.stores();
    let value = match is_secret {
        true => stores
            .secrets
            .get(&key)?
            .map(|secret| json!({ "maskedValue": secret.masked() })),
        false => stores.config.get(&key)?,
    };
    Ok(Response::json(&value))
}

fn upsert(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let KeyAndValue {
        key,
        value,
        is_secret,
    } = request.json()?;
    match is_secret {
        true => registry.stores().secrets.set(&key, &value)?,
        false => registry.stores().config.upsert(&key, &value)?,
    }
    Ok(Response::json(&format!("Upserted key {key}")))
}

fn remove(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let Key { key, is_secret } = request.json()?;
    match is_secret {
        true => registry.stores().secrets.remove(&key)?,
        false => registry.stores().config.remove(&key)?,
    };
    Ok(Response::json(&format!("Removed key {key}")))
}

fn set_permissions(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let body: PermissionsRequest = request.json()?;
    let decisions: Vec<(&str, Level)> = body
        .tool_permissions
        .iter()
        .map(|it| (it.tool_name.as_str(), it.permission))
        .collect();
    registry.stores().permissions.set_all(&decisions)?;
    Ok(Response::json(&"Permissions updated successfully"))
}

fn slash_commands(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let commands = slash::list(&registry.stores().config)?;
    Ok(Response::json(&json!({ "commands": commands })))
}
