//! `GET /openapi.json`: this API as an OpenAPI 3.0 document, with gosling's additions. Not part of Goose's API.

use crate::http::{Access::Keyed, Error, Request, Response, Router};

pub(super) fn routes(router: Router) -> Router {
    router.get("/openapi.json", Keyed, document)
}

#[cfg(feature = "manual")]
fn document(_: &Request) -> Result<Response, Error> {
    let document = include_str!("openapi.json");
    Ok(Response::bytes("application/json", document))
}

#[cfg(not(feature = "manual"))]
fn document(_: &Request) -> Result<Response, Error> {
    let hint = crate::features::hint("manual");
    let message = format!("This server does not have its OpenAPI document{hint}");
    Err(Error::not_found(message))
}
