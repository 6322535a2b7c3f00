//! `/agent/extensions/accept`: accepts the changed tools of an extension. An addition of gosling.

use crate::Settings;
use crate::agent::Registry;
use crate::api::{json_body, with};
use crate::extension::config;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::pin_file::PinFile;
use crate::tool_differences::AcceptError;
use serde_json::json;
use std::sync::Arc;

pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router.post("/agent/extensions/accept", Keyed, with(registry, accept))
}

fn accept(registry: &Registry, request: &Request) -> Result<Response, Error> {
    json_body!(request => AcceptRequest { name: String });
    let key = config::key(&name);
    let stores = registry.stores();
    let settings = Settings::read(&stores.config, &stores.paths);
    let accepted = PinFile::new(&settings.folder, &key).accept();
    let changes = accepted.map_err(|error| match error {
        AcceptError::Unknown => Error::not_found(error.to_string()),
        AcceptError::Store(error) => error.into(),
    })?;
    Ok(Response::json(&json!({ "key": key, "accepted": changes })))
}
