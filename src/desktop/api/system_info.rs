//! `/system_info`: the version, the operating system and the settings in use.

use super::with;
use crate::agent::Registry;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::system_info::SystemInfo;
use std::sync::Arc;

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router.get("/system_info", Keyed, with(registry, system_info))
}

fn system_info(registry: &Registry, _: &Request) -> Result<Response, Error> {
    Ok(Response::json(&SystemInfo::of(registry)))
}
