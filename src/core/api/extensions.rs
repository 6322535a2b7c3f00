//! `/config/extensions`: the configured extensions. CORE §7.1.

use super::{Route, json_body};
use crate::agent::Registry;
use crate::extension::configured::{self, ChangeError};
use crate::extension::{ExtensionConfig, config, environment};
use crate::http::Method::{Delete, Get, Post};
use crate::http::{Error, Request, Response};
use serde_json::json;

const PATH: &str = "/config/extensions";

pub(super) const ROUTES: &[Route] = &[
    (Get, PATH, list),
    (Post, PATH, set),
    (Delete, "/config/extensions/{name}", remove),
];

/// An invalid entry is left out with a warning, so that it does not hide the others.
fn list(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let listed = configured::list(&registry.stores().config)?;
    let mut warnings = listed.warnings;
    let mut extensions = Vec::new();
    for entry in listed.entries {
        match entry.config {
            Ok(config) => {
                if let ExtensionConfig::Sse(sse) = &config {
                    let hint = "SSE is unsupported, migrate to streamable_http";
                    warnings.push(format!("'{}': {hint}", sse.name));
                }
                extensions.push(config.to_entry(entry.enabled));
            }
            Err(reason) => warnings.push(format!("'{}': {reason}", entry.key)),
        }
    }
    let answer = json!({ "extensions": extensions, "warnings": warnings });
    Ok(Response::json(&answer))
}

fn set(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Entry { name: String, enabled: bool, config: ExtensionConfig });
    let stored = configured::set(&registry.stores().config, &name, &config, enabled, true);
    let existed = stored.map_err(|error| match error {
        ChangeError::Refused(reason) => {
            let class = environment::class_of(config.variables());
            Error::bad_request(reason).class(Some(class.name()))
        }
        ChangeError::Store(error) => error.into(),
        other => Error::bad_request(other.to_string()),
    })?;
    let what = if existed { "Updated" } else { "Added" };
    Ok(Response::json(&format!("{what} extension {name}")))
}

fn remove(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let name = request.param("name");
    let config = &registry.stores().config;
    config.remove_extension(&config::key(name))?;
    Ok(Response::json(&format!("Removed extension {name}")))
}
