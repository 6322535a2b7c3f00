//! `/config/providers` and related routes: providers and their models.

use super::{Route, cancel_of, is_desktop_since, json_body};
use crate::agent::Registry;
use crate::http::Method::{Get, Post};
use crate::http::{Error, Request, Response};
use crate::provider::catalog::DEFAULT_CONTEXT;
use crate::provider::{self, ErrorClass};
use serde_json::{Value, json};

/// How many model names a response has at most; a provider could send any number.
const MAX_MODELS: usize = 10_000;

pub(super) const ROUTES: &[Route] = &[
    (Get, "/config/providers", all),
    (Get, "/config/providers/{name}/models", models),
    (Post, "/config/providers/{name}/model-info", model),
    (Post, "/config/check_provider", check),
    (Post, "/config/set_provider", set),
    (Post, "/config/canonical-model-info", info),
];

fn all(registry: &Registry, _: &Request) -> Result<Response, Error> {
    Ok(Response::json(&registry.catalog().entries()))
}

fn models(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let (catalog, name) = (registry.catalog(), request.param("name"));
    let provider = catalog.provider(name)?;
    let mut models = if catalog.lists_models(name)? {
        provider.models(&cancel_of(registry, request))?
    } else {
        catalog.known_models(name)
    };
    models.truncate(MAX_MODELS);
    if !is_desktop_since(request, (1, 35)) {
        return Ok(Response::json(&models));
    }
    let models = models.iter().map(|model| described(registry, name, model));
    Ok(Response::json(&models.collect::<Value>()))
}

/// Part of Goose's API from 1.35 on.
fn model(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Choice { model: String });
    let name = request.param("name");
    registry.catalog().lists_models(name)?;
    Ok(Response::json(&described(registry, name, &model)))
}

/// A model as `ModelInfo` of Goose's API from 1.35 on.
fn described(registry: &Registry, provider: &str, model: &str) -> Value {
    let known = registry.catalog().model_info(provider, model);
    json!({
        "name": model,
        "context_limit": known.as_ref().map_or(DEFAULT_CONTEXT, |it| it.context_limit),
        "reasoning": known.is_some_and(|it| it.reasoning),
    })
}

fn check(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Check { provider: String });
    registry.catalog().provider(&provider)?;
    Ok(Response::empty(200))
}

fn set(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Choice { provider: String, model: String });
    if model.trim().is_empty() {
        return Err(Error::bad_request("A model needs a name"));
    }
    registry.catalog().provider(&provider)?;
    registry.stores().config.edit(|root| {
        root.insert("GOOSE_PROVIDER".into(), provider.as_str().into());
        root.insert("GOOSE_MODEL".into(), model.as_str().into());
        Ok(())
    })?;
    Ok(Response::empty(200))
}

fn info(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => Choice { provider: String, model: String });
    let known = registry.catalog().model_info(&provider, &model);
    Ok(Response::json(
        &json!({ "model_info": known, "source": "canonical" }),
    ))
}

impl From<provider::Error> for Error {
    fn from(error: provider::Error) -> Self {
        let status = match error.class {
            ErrorClass::Config
            | ErrorClass::Authentication
            | ErrorClass::Credits
            | ErrorClass::Refused
            | ErrorClass::Image
            | ErrorClass::ContextExceeded => 400,
            ErrorClass::RateLimit { .. } => 429,
            ErrorClass::Cancelled => 503,
            ErrorClass::Server
            | ErrorClass::Timeout
            | ErrorClass::Transport
            | ErrorClass::Protocol => 500,
        };
        Error::new(status, error.message)
    }
}
