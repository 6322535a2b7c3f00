//! `/config`: settings and secrets.

use super::with;
use crate::agent::Registry;
use crate::extension::platform_extensions;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::recipe::slash_commands;
use crate::store::{PermissionLevel, mask};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many permissions one request sets at most.
const MAX_PERMISSIONS: usize = 1_000;

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
    permission: PermissionLevel,
}

fn all(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let mut config = registry.stores().config.all()?;
    let declared = Declared::read(registry)?;
    for (key, value) in &mut config {
        if declared.is_secret(key)? {
            *value = mask(value).into();
        }
    }
    platform_extensions::complete(&mut config);
    Ok(Response::json(&json!({ "config": config })))
}

fn read(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let Key { key, is_secret } = request.json()?;
    let stores = registry.stores();
    if is_secret {
        let secret = stores.secrets.get(&key)?;
        let shown = secret.map(|secret| json!({ "maskedValue": secret.masked() }));
        return Ok(Response::json(&shown));
    }
    let value = stores.config.get(&key)?;
    Ok(Response::json(&match value {
        Some(value) if Declared::read(registry)?.is_secret(&key)? => {
            Some(json!({ "maskedValue": mask(&value) }))
        }
        value => value,
    }))
}

/// The names of settings that providers and extensions declare.
struct Declared<'a> {
    registry: &'a Registry,
    /// By upper-case name: whether the setting is a secret.
    providers: HashMap<String, bool>,
    extensions: HashSet<String>,
}

impl<'a> Declared<'a> {
    fn read(registry: &'a Registry) -> Result<Self, Error> {
        let mut providers = HashMap::new();
        for (name, is_secret) in registry.catalog().setting_names() {
            *providers.entry(name.to_uppercase()).or_insert(false) |= is_secret;
        }
        let entries = registry.stores().config.extensions()?.entries;
        let keys = (entries.iter()).filter_map(|(_, entry)| entry["env_keys"].as_array());
        let names = keys.flatten().filter_map(Value::as_str);
        Ok(Declared {
            registry,
            providers,
            extensions: names.map(str::to_uppercase).collect(),
        })
    }

    /// The declaration of a provider takes precedence: the `env_keys` of an extension may also name a setting
    /// that is not a secret.
    fn is_secret(&self, key: &str) -> Result<bool, Error> {
        let name = key.to_uppercase();
        if let Some(&is_secret) = self.providers.get(&name) {
            return Ok(is_secret);
        }
        let is_declared = || self.registry.stores().secrets.declares(key);
        Ok(self.extensions.contains(&name) || is_declared()?)
    }
}

fn upsert(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let KeyAndValue {
        key,
        value,
        is_secret,
    } = request.json()?;
    if is_secret {
        registry.stores().secrets.set(&key, &value)?
    } else {
        registry.stores().config.upsert(&key, &value)?
    }
    Ok(Response::json(&format!("Upserted key {key}")))
}

fn remove(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let Key { key, is_secret } = request.json()?;
    if is_secret {
        registry.stores().secrets.remove(&key)?
    } else {
        registry.stores().config.remove(&key)?
    };
    Ok(Response::json(&format!("Removed key {key}")))
}

fn set_permissions(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let body: PermissionsRequest = request.json()?;
    if body.tool_permissions.len() > MAX_PERMISSIONS {
        return Err(Error::bad_request(format!(
            "`tool_permissions` has more than {MAX_PERMISSIONS} entries; send fewer at once"
        )));
    }
    let has_no_name = |it: &ToolPermission| it.tool_name.trim().is_empty();
    if let Some(at) = body.tool_permissions.iter().position(has_no_name) {
        return Err(Error::bad_request(format!(
            "`tool_permissions[{at}].tool_name` is empty"
        )));
    }
    let decisions: Vec<(&str, PermissionLevel)> = body
        .tool_permissions
        .iter()
        .map(|it| (it.tool_name.as_str(), it.permission))
        .collect();
    registry.stores().permissions.set_all(&decisions)?;
    Ok(Response::json(&"Permissions updated successfully"))
}

fn slash_commands(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let commands = slash_commands::list(&registry.stores().config)?;
    Ok(Response::json(&json!({ "commands": commands })))
}
