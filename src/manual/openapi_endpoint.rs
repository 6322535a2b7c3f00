//! `GET /openapi.json`: this API as an OpenAPI 3.0 document, with gosling's additions. Not part of Goose's API.

use gosling_core::agent::Registry;
use gosling_core::http::{Access::Keyed, Error, Request, Response, Router};
use std::sync::Arc;

pub(super) fn routes(router: Router, _: &Arc<Registry>) -> Router {
    router.get("/openapi.json", Keyed, document)
}

fn document(_: &Request) -> Result<Response, Error> {
    let document = include_str!("openapi.json");
    Ok(Response::bytes("application/json", document))
}
