//! Goose's HTTP API, one file for each resource. Each handler turns JSON into a call of [`agent`]
//! and the result into JSON.
//! CORE §4, §7.

mod agents;
mod config;
mod extensions;
mod providers;
mod reply;
mod resources_and_prompts;
mod sessions;

pub use agents::text_of;

use crate::agent::{self, RecipeFault, Registry};
use crate::features;
use crate::http::{Access, Error, Method, Request, Response, Router};
use crate::part;
use crate::store;
use crate::sys::cancel::Cancel;
use serde_json::json;
use std::sync::Arc;

/// The routes of the API.
pub fn router(registry: Arc<Registry>) -> Router {
    let router = Router::new().get("/status", Access::Public, |_| Ok(Response::text("ok")));
    let router = router.get("/features", Access::Public, goose_features);
    let routes = [
        config::ROUTES,
        providers::ROUTES,
        extensions::ROUTES,
        agents::ROUTES,
        resources_and_prompts::ROUTES,
        sessions::ROUTES,
    ];
    let router = keyed(router, &registry, &routes.concat());
    let router = reply::routes(router, &registry);
    let parts = part::all().iter().filter_map(|part| part.routes);
    let router = parts.fold(router, |router, routes| routes(router, &registry));
    features::routes(router)
}

/// What Goose may be built with, and gosling does not have: models in the same process, and tools that the model
/// calls from code. Part of Goose's API after 1.28.
fn goose_features(_: &Request) -> Result<Response, Error> {
    Ok(Response::json(
        &json!({"features": {"local-inference": false, "code-mode": false}}),
    ))
}

/// A handler of this API.
pub type Handler = fn(&Registry, &Request) -> Result<Response, Error>;

/// A route that needs the key: its method, its path and its handler.
pub type Route = (Method, &'static str, Handler);

/// Adds routes.
pub fn keyed(router: Router, registry: &Arc<Registry>, routes: &[Route]) -> Router {
    routes
        .iter()
        .fold(router, |router, (method, path, handler)| {
            let handler = with(registry, *handler);
            router.route(method.clone(), path, Access::Keyed, handler)
        })
}

/// Binds a handler to the registry.
pub fn with(
    registry: &Arc<Registry>,
    handler: Handler,
) -> impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static {
    let registry = registry.clone();
    move |request| handler(&registry, request)
}

/// A token that is cancelled when the server stops or the client hangs up.
pub fn cancel_of(registry: &Registry, request: &Request) -> Cancel {
    let hang_up = request.hang_up();
    registry
        .cancel()
        .child_watched(move |token| hang_up.watch(token))
}

impl From<agent::Error> for Error {
    fn from(error: agent::Error) -> Self {
        let message = error.to_string();
        match error {
            agent::Error::Recipe { fault, .. } => match fault {
                RecipeFault::Unknown => Error::not_found(message),
                RecipeFault::Files => Error::internal(message),
                RecipeFault::Invalid => Error::bad_request(message),
            },
            agent::Error::NoSession => Error::not_found(message),
            agent::Error::NotRunning { .. } => Error::new(424, message),
            agent::Error::WorkingDir { .. } | agent::Error::Config { .. } => {
                Error::bad_request(message)
            }
            agent::Error::Store(error) => error.into(),
            agent::Error::Working { .. } => Error::new(409, message),
            agent::Error::Model(error) => error.into(),
            agent::Error::Cancelled | agent::Error::Busy { .. } => Error::new(503, message),
            agent::Error::Extension(error) => Error::internal(message).class(error.class_name()),
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let message = error.to_string();
        match error {
            store::Error::Broken { .. }
            | store::Error::Setting { .. }
            | store::Error::Unwritable { .. }
            | store::Error::Anchors { .. } => Error::unprocessable(message),
            store::Error::SessionNotFound { .. } => Error::not_found("Session not found"),
            store::Error::TurnInProgress { .. } => Error::new(409, message),
            store::Error::Locked { .. } | store::Error::Changing { .. } => Error::new(503, message),
            _ => Error::internal(message),
        }
    }
}
