//! `/config/providers/{name}/oauth` and `cleanup`: the login of a provider, and its end.

use super::{Route, cancel_of};
use crate::agent::Registry;
use crate::http::Method::Post;
use crate::http::{Error, Request, Response};

pub(super) const ROUTES: &[Route] = &[
    (Post, "/config/providers/{name}/oauth", oauth),
    (Post, "/config/providers/{name}/cleanup", cleanup),
];

/// Signs the user in. The response comes when that is done; what the user has to do stands in the log.
fn oauth(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let name = request.param("name");
    let mut progress = |text: &str| log::warn!("login provider={name}: {text}");
    let cancel = cancel_of(registry, request);
    (registry.catalog()).sign_in(name, &cancel, &mut progress)?;
    Ok(Response::empty(200))
}

/// gosling keeps nothing of a provider besides its configuration. Part of Goose's API after 1.28.
fn cleanup(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let name = request.param("name");
    registry.catalog().lists_models(name)?;
    Ok(Response::json(&format!("Nothing is cached for {name}")))
}
