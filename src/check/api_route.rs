//! `/agent/check_extension`: checks a server before it is installed. An addition of gosling.

use super::check_options::CheckOptions;
use super::declaration::Profile;
use super::report::for_machines;
use super::runner::check_extension;
use crate::agent::Registry;
use crate::api::{cancel_of, with};
use crate::extension::ExtensionConfig;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The longest timeout of a request, in seconds.
const MAX_TIMEOUT: u64 = 300;

/// The router with the route.
pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router.post("/agent/check_extension", Keyed, with(registry, check))
}

#[derive(Deserialize)]
struct CheckRequest {
    config: ExtensionConfig,
    working_dir: Option<PathBuf>,
    profile: Option<String>,
    timeout: Option<u64>,
}

/// Answers with the report when the run has ended. The run ends early if the client hangs up.
fn check(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let body: CheckRequest = request.json()?;
    let profile = body.profile.as_deref().map(str::parse::<Profile>);
    let profile = profile
        .transpose()
        .map_err(|reason| Error::bad_request(format!("profile: {reason}")))?;
    let mut options = CheckOptions::default();
    if let Some(timeout) = body.timeout {
        options.timeout = Duration::from_secs(timeout.clamp(1, MAX_TIMEOUT));
    }
    let working_dir = match body.working_dir {
        Some(dir) if dir.is_dir() => dir,
        Some(dir) => {
            let dir = dir.display();
            return Err(Error::bad_request(format!("no such directory: {dir}")));
        }
        None => std::env::current_dir()
            .map_err(|e| Error::internal(format!("no working directory: {e}")))?,
    };
    let cancel = cancel_of(registry, request);
    let checked = check_extension(
        registry,
        &body.config,
        &working_dir,
        &options,
        &|_| (),
        &cancel,
    );
    let checked = checked.map_err(Error::bad_request)?;
    Ok(Response::json(&for_machines::write(&checked, profile)))
}
