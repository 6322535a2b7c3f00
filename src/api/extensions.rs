//! `/config/extensions`: the configured extensions. CORE §7.1.

use super::with;
use crate::agent::Registry;
use crate::extension::{ExtensionConfig, config, platform_extensions};
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;

const PATH: &str = "/config/extensions";

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router
        .get(PATH, Keyed, with(registry, list))
        .post(PATH, Keyed, with(registry, set))
        .delete("/config/extensions/{name}", Keyed, with(registry, remove))
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    enabled: bool,
    config: ExtensionConfig,
}

/// An invalid entry is left out with a warning, so that it does not hide the others.
fn list(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let found = registry.stores().config.extensions()?;
    let mut extensions = Vec::new();
    let mut warnings = found.warnings;
    let mut entries = found.entries;
    let present: HashSet<String> = entries.iter().map(|(key, _)| key.clone()).collect();
    entries.extend(platform_extensions::absent(|key| present.contains(key)));
    for (key, mut entry) in entries {
        let enabled = entry
            .as_object_mut()
            .and_then(|e| e.shift_remove("enabled"));
        match ExtensionConfig::from_value(entry) {
            Ok(config) => {
                if let ExtensionConfig::Sse(sse) = &config {
                    let name = &sse.name;
                    let hint = "SSE is unsupported, migrate to streamable_http";
                    warnings.push(format!("'{name}': {hint}"));
                }
                extensions.push(entry_of(enabled == Some(Value::Bool(true)), &config));
            }
            Err(reason) => warnings.push(format!("'{key}': {reason}")),
        }
    }
    let answer = json!({ "extensions": extensions, "warnings": warnings });
    Ok(Response::json(&answer))
}

fn set(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let Entry {
        name,
        enabled,
        config,
    } = request.json()?;
    let key = config::key(&name);
    if key.is_empty() {
        let reason = "`name` has no characters that could identify the extension";
        return Err(Error::bad_request(reason));
    }
    let entry = Value::Object(entry_of(enabled, &config));
    let existed = registry.stores().config.set_extension(&key, &entry)?;
    let what = if existed { "Updated" } else { "Added" };
    Ok(Response::json(&format!("{what} extension {name}")))
}

fn remove(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let name = request.param("name");
    let config = &registry.stores().config;
    config.remove_extension(&config::key(name))?;
    Ok(Response::json(&format!("Removed extension {name}")))
}

/// `enabled`, then the configuration.
fn entry_of(enabled: bool, config: &ExtensionConfig) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("enabled".to_owned(), enabled.into());
    if let Value::Object(config) = config.to_value() {
        entry.extend(config);
    }
    entry
}
