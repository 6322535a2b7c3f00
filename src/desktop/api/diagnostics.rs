//! `/diagnostics`: a report on a session, as an archive.

use super::with;
use crate::agent::Registry;
use crate::diagnostics::Diagnostics;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use std::sync::Arc;

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router.get("/diagnostics/{session_id}", Keyed, with(registry, report))
}

fn report(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let id = request.param("session_id");
    let report = Diagnostics::of_session(registry, id)?;
    let name = format!("attachment; filename=\"diagnostics_{id}.zip\"");
    let response = Response::stream("application/zip", move |out| report.write(out));
    Ok(response.header("Content-Disposition", &name))
}
