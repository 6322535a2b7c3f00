//! `/config/provider-secrets`: the keys of providers in the store of secrets, without their values. Part of Goose's
//! API from 1.38 on.

use super::Route;
use crate::agent::Registry;
use crate::http::Method::{Delete, Get};
use crate::http::{Error, Request, Response};
use serde_json::json;

pub(super) const ROUTES: &[Route] = &[
    (Get, "/config/provider-secrets", list),
    (Delete, "/config/provider-secrets/{id}", delete),
];

fn list(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let secrets = &registry.stores().secrets;
    let mut shown = Vec::new();
    for provider in registry.catalog().entries() {
        let keys = provider.metadata.config_keys.iter();
        for key in keys.filter(|key| key.secret) {
            if !secrets.declares(&key.name)? {
                continue;
            }
            shown.push(json!({
                "id": key.name,
                "provider": provider.name,
                "provider_display_name": provider.metadata.display_name,
                "name": key.name,
                "storage": "secret_store",
                "status": "unknown",
                "configured": provider.is_configured,
                "has_secret": true,
                "can_delete": true,
                "can_configure": true,
                "configure_provider": provider.name,
            }));
        }
    }
    Ok(Response::json(&json!({ "secrets": shown })))
}

fn delete(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let id = request.param("id");
    let entries = registry.catalog().entries();
    let mut keys = entries.iter().flat_map(|it| &it.metadata.config_keys);
    if !keys.any(|key| key.secret && key.name == id) {
        return Err(Error::bad_request(
            "`id` is not the name of a secret of a provider",
        ));
    }
    registry.stores().secrets.remove(id)?;
    Ok(Response::json(&format!("Removed the secret {id}")))
}
