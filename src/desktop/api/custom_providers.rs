//! `/config/custom-providers`: providers that the user describes. `/config/detect-provider`: whose key this is.

use super::{Route, cancel_of};
use crate::agent::Registry;
use crate::custom_provider_edit::{
    CustomProviderEditor, CustomProviderError, CustomProviderRequest,
};
use crate::detect_provider::detect_provider;
use crate::http::Method::{Delete, Get, Post, Put};
use crate::http::{Error, Request, Response};
use crate::provider::ErrorClass;
use gosling_core::api::json_body;
use gosling_providers::catalog::custom_providers::CustomProviders;
use serde_json::json;

const PROVIDER: &str = "/config/custom-providers/{id}";

/// The longest key whose provider is detected, in bytes.
const MAX_KEY: usize = 4_096;

pub(super) const ROUTES: &[Route] = &[
    (Post, "/config/custom-providers", create),
    (Get, PROVIDER, get),
    (Put, PROVIDER, update),
    (Delete, PROVIDER, delete),
    (Post, "/config/detect-provider", detect),
    (Get, "/config/provider-catalog", templates),
    (Get, "/config/provider-catalog/{id}", template),
];

/// The hosts from which a custom provider can be made, without their models; `format` picks those of one protocol.
/// Part of Goose's API after 1.24, as the next.
fn templates(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let format = request.query("format").filter(|format| !format.is_empty());
    let mut all = registry.catalog().templates();
    all.retain(|template| format.is_none_or(|format| template["format"] == format));
    let entries = all.iter().map(|template| {
        json!({
            "id": template["id"], "name": template["name"], "format": template["format"],
            "api_url": template["api_url"], "doc_url": template["doc_url"], "env_var": template["env_var"],
            "model_count": template["models"].as_array().map_or(0, Vec::len),
        })
    });
    Ok(Response::json(&entries.collect::<Vec<_>>()))
}

fn template(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let id = request.param("id");
    let mut all = registry.catalog().templates().into_iter();
    let found = all.find(|template| template["id"] == id);
    let found = found.ok_or_else(|| Error::not_found(format!("there is no template {id:?}")))?;
    Ok(Response::json(&found))
}

fn editor(registry: &Registry) -> CustomProviderEditor<'_> {
    CustomProviderEditor {
        catalog: registry.catalog(),
        customs: CustomProviders::of(&registry.stores().config),
        secrets: &registry.stores().secrets,
    }
}

fn create(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let body: CustomProviderRequest = request.json()?;
    let id = editor(registry).create(&body)?;
    Ok(Response::json(&format!("Custom provider added - ID: {id}")))
}

fn get(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let config = editor(registry).get(request.param("id"))?;
    let loaded = json!({"config": config, "is_editable": true});
    Ok(Response::json(&loaded))
}

fn update(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let (id, body) = (request.param("id"), request.json()?);
    editor(registry).update(id, &body)?;
    Ok(Response::json(&format!("Updated custom provider: {id}")))
}

fn delete(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let id = request.param("id");
    editor(registry).delete(id)?;
    Ok(Response::json(&format!("Removed custom provider: {id}")))
}

/// 404 whenever no provider has confirmed the key, as goosed answers; the message says why.
fn detect(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Key { api_key: String });
    let key = api_key.trim();
    if key.is_empty() || key.len() > MAX_KEY || key.contains(char::is_control) {
        return Err(Error::bad_request(format!(
            "`api_key` is empty, longer than {MAX_KEY} bytes, or has control characters"
        )));
    }
    let cancel = cancel_of(registry, request);
    match detect_provider(registry, key, &cancel) {
        Ok(Some(found)) => Ok(Response::json(
            &json!({"provider_name": found.name, "models": found.models}),
        )),
        Ok(None) => Err(Error::not_found(
            "The form of the key belongs to no provider alone; choose the provider yourself",
        )),
        Err(error) if error.class == ErrorClass::Cancelled => Err(error.into()),
        Err(error) => Err(Error::not_found(error.message)),
    }
}

impl From<CustomProviderError> for Error {
    fn from(error: CustomProviderError) -> Self {
        let message = error.to_string();
        match error {
            CustomProviderError::Invalid { .. } | CustomProviderError::TooMany => {
                Error::bad_request(message)
            }
            CustomProviderError::NotFound { .. } => Error::not_found(message),
            CustomProviderError::Store(error) => error.into(),
        }
    }
}
