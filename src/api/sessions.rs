//! `/sessions/{session_id}`.

use super::with;
use crate::agent::Registry;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use serde_json::json;
use std::sync::Arc;

const SESSION: &str = "/sessions/{session_id}";

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router
        .get(SESSION, Keyed, with(registry, get))
        .delete(SESSION, Keyed, with(registry, delete))
        .get(
            "/sessions/{session_id}/extensions",
            Keyed,
            with(registry, extensions),
        )
}

fn get(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let id = request.param("session_id");
    let mut session = registry.session(id)?;
    session.conversation = registry.stores().sessions.conversation(id)?;
    Ok(Response::json(&session))
}

fn delete(registry: &Registry, request: &Request) -> Result<Response, Error> {
    registry.delete(request.param("session_id"))?;
    Ok(Response::empty(200))
}

fn extensions(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let session = registry.session(request.param("session_id"))?;
    let extensions = session.enabled_extensions();
    Ok(Response::json(&json!({ "extensions": extensions })))
}
