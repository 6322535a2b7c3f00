//! `/config/extensions/deeplink`: what a `goose://` link would install, and its installation. An addition of
//! gosling.

use crate::agent::Registry;
use crate::api::with;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use crate::{Installation, Installer, Judged, Link, invalid};
use gosling_screening::Settings as Screening;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router.post(
        "/config/extensions/deeplink",
        Keyed,
        with(registry, install),
    )
}

#[derive(Deserialize)]
struct InstallRequest {
    link: String,
    /// The user wants what the judgement says.
    #[serde(default)]
    confirm: bool,
}

#[derive(Serialize)]
struct Installed {
    #[serde(flatten)]
    judged: Judged,
    /// The configuration has the extension of the link now.
    installed: bool,
    /// New sessions start it.
    enabled: bool,
}

fn install(registry: &Registry, request: &Request) -> Result<Response, Error> {
    let InstallRequest { link, confirm } = request.json()?;
    let stores = registry.stores();
    let installer = Installer {
        config: &stores.config,
        secrets: &stores.secrets,
        catalog: registry.catalog(),
        screening: Screening::read(&stores.config, &stores.paths, registry.is_offline()),
    };
    let mut judged = match Link::parse(&link) {
        Ok(Link::Extension(link)) => installer.classify(&link)?,
        Ok(_) => invalid("this link names no extension").into(),
        Err(error) => error.into(),
    };
    let installation = installer.install(&judged, confirm)?;
    if installation == Installation::Exists {
        let reason = "an extension of this name is configured, and stays as it is";
        judged.reasons.push(reason.to_owned());
    }
    Ok(Response::json(&Installed {
        judged,
        installed: matches!(installation, Installation::Added { .. }),
        enabled: installation == Installation::Added { enabled: true },
    }))
}
