//! `/diagnostics`: a report on a session, as an archive.

use super::Route;
use crate::agent::Registry;
use crate::diagnostics::Diagnostics;
use crate::http::Method::Get;
use crate::http::{Error, Request, Response};

pub(super) const ROUTES: &[Route] = &[
    (Get, "/diagnostics/{session_id}", report),
    (Get, "/diagnostics/{session_id}/report", json_report),
];

/// The same as JSON, for `/acp`. Not part of Goose's API.
fn json_report(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let report = Diagnostics::of_session(registry, request.param("session_id"))?;
    Ok(Response::json(&report.to_json(registry)))
}

fn report(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let id = request.param("session_id");
    let report = Diagnostics::of_session(registry, id)?;
    let name = format!("attachment; filename=\"diagnostics_{id}.zip\"");
    let response = Response::stream("application/zip", move |out| report.write(out));
    Ok(response.header("Content-Disposition", &name))
}
