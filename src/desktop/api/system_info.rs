//! `/system_info`: the version, the operating system and the settings in use.

use super::Route;
use crate::agent::Registry;
use crate::http::Method::Get;
use crate::http::{Error, Request, Response};
use crate::system_info::SystemInfo;

pub(super) const ROUTES: &[Route] = &[(Get, "/system_info", system_info)];

fn system_info(registry: &Registry, _: &Request) -> Result<Response, Error> {
    Ok(Response::json(&SystemInfo::of(registry)))
}
