//! Goose's HTTP API, one file for each resource. Each handler turns JSON into a call of [`agent`]
//! and the result into JSON.
//! CORE §4, §7.

mod agents;
mod extensions;
mod providers;
mod reply;
mod resources_and_prompts;
mod sessions;
mod settings_and_secrets;

pub use crate::json_body;
pub use agents::text_of;

use crate::activity::Caller;
use crate::agent::{self, RecipeFault, Registry};
use crate::features;
use crate::http::{Access, Error, Method, Request, Response, Router};
use crate::part;
use crate::store;
use crate::sys::cancel::Cancel;
use serde_json::json;
use std::sync::Arc;

/// Reads the members of a request's JSON body, each into a variable of its name, in a handler:
/// `json_body!(request => Rename { name: String });`. The name of the whole is that of its errors.
#[macro_export]
macro_rules! json_body {
    ($request:ident => $body:ident { $($(#[$how:meta])* $member:ident: $type:ty),* $(,)? }) => {
        #[derive(serde::Deserialize)]
        struct $body {
            $($(#[$how])* $member: $type),*
        }
        let $body { $($member),* } = $request.json()?;
    };
}

/// The routes of the API.
pub fn router(registry: Arc<Registry>) -> Router {
    let router = Router::new().get("/status", Access::Public, |_| Ok(Response::text("ok")));
    let router = router.get("/features", Access::Public, goose_features);
    let routes = [
        settings_and_secrets::ROUTES,
        providers::ROUTES,
        extensions::ROUTES,
        agents::ROUTES,
        resources_and_prompts::ROUTES,
        sessions::ROUTES,
        reply::ROUTES,
    ];
    let router = keyed(router, &registry, &routes.concat());
    let for_reply = Arc::clone(&registry);
    let router = router.post("/reply", Access::Keyed, move |request| {
        reply::reply(&for_reply, request)
    });
    let router = router.recorded(&registry.stores().activity);
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
            router.route(method.clone(), *path, Access::Keyed, handler)
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

/// Whether the client is a Goose Desktop of this version or a later one: its pages name it in `User-Agent`, as
/// `Goose/1.35.0`.
fn is_desktop_since(request: &Request, version: (u32, u32)) -> bool {
    let mut words = (request.header("User-Agent").unwrap_or_default()).split_whitespace();
    let named = words.find_map(|word| word.strip_prefix("Goose/"));
    let numbers = named.unwrap_or_default().split('.');
    let mut numbers = numbers.map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= version
}

impl From<agent::Error> for Error {
    fn from(error: agent::Error) -> Self {
        let message = error.to_string();
        let status = match error {
            agent::Error::Store(error) => return error.into(),
            agent::Error::Model(error) => return error.into(),
            agent::Error::Extension(error) if Caller::current().denied.get().is_some() => {
                return denied(error.message);
            }
            agent::Error::Extension(error) => {
                return Error::internal(message).class(error.class_name());
            }
            agent::Error::Recipe { fault, .. } => match fault {
                RecipeFault::Unknown => 404,
                RecipeFault::Files => 500,
                RecipeFault::Invalid => 400,
            },
            agent::Error::WorkingDir { .. } | agent::Error::Config { .. } => 400,
            agent::Error::NoSession => 404,
            agent::Error::Working { .. } | agent::Error::NoTurn => 409,
            agent::Error::NotRunning { .. } => 424,
            agent::Error::Busy { .. } => {
                return Error::new(503, message).header("Retry-After", "1");
            }
            agent::Error::Cancelled => 503,
            agent::Error::Panicked { .. } => 500,
        };
        Error::new(status, message)
    }
}

/// The error for what the policy denies: for good, or until a quota begins anew.
fn denied(message: String) -> Error {
    match Caller::current().denied.get() {
        Some(Some(seconds)) => Error::new(429, message).header("Retry-After", &seconds.to_string()),
        _ => Error::new(403, message),
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
            store::Error::Denied(_) => denied(message),
            store::Error::Unrecorded(_) => Error::new(503, message),
            store::Error::SessionNotFound { .. } => Error::not_found("Session not found"),
            store::Error::TurnInProgress { .. } => Error::new(409, message),
            store::Error::Locked { .. } | store::Error::Changing { .. } => Error::new(503, message),
            _ => Error::internal(message),
        }
    }
}
