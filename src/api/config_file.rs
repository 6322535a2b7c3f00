//! `/config/init`, `/config/validate`, `/config/backup` and `/config/recover`: the file `config.yaml` as a whole.

use super::with;
use crate::agent::Registry;
use crate::http::{Access::Keyed, Error, Request, Response, Router};
use std::sync::Arc;

pub(super) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    router
        .post("/config/init", Keyed, with(registry, init))
        .get("/config/validate", Keyed, with(registry, validate))
        .post("/config/backup", Keyed, with(registry, back_up))
        .post("/config/recover", Keyed, with(registry, recover))
}

/// Writes nothing: without a file every setting has its default.
fn init(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let exists = registry.stores().config.path().exists();
    Ok(Response::json(&if exists {
        "Config already exists"
    } else {
        "There is no config file yet; the defaults are in use"
    }))
}

fn validate(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let exists = registry.stores().config.validate()?;
    Ok(Response::json(&if exists {
        "Config file is valid"
    } else {
        "Config file does not exist"
    }))
}

fn back_up(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let config = &registry.stores().config;
    let Some(copy) = config.back_up()? else {
        let path = config.path().display();
        return Err(Error::internal(format!(
            "{path} does not exist, so it has no backup"
        )));
    };
    let message = format!("Copied {:?} to {copy:?}", config.path());
    Ok(Response::json(&message))
}

fn recover(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let recovered = registry.stores().config.recover()?;
    if recovered.keys.is_empty() {
        return Ok(Response::json(
            &"Config recovery completed, but there was no key to recover",
        ));
    }
    let (count, keys) = (recovered.keys.len(), recovered.keys.join(", "));
    let mut message = format!("Config recovery completed. Recovered {count} keys: {keys}");
    if let Some(backup) = &recovered.backup {
        message += &format!(" (from {})", backup.display());
    }
    Ok(Response::json(&message))
}
