//! What stands for `streamable_http` in a build without it.

use super::Started;
use crate::extension::config::StreamableHttp;
use crate::extension::context::Context;
use crate::extension::{Error, Phase};
use crate::features;

pub(super) fn start(_: &Context, config: &StreamableHttp) -> Result<Started, Error> {
    let hint = features::hint("streamable-http");
    let reason = format!("no server can be reached over HTTP{hint}");
    Err(Error::new(&config.name, Phase::Config, reason))
}
