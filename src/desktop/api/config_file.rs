//! `/config/init`, `/config/validate`, `/config/backup` and `/config/recover`: the file `config.yaml` as a whole.

use super::Route;
use crate::agent::Registry;
use crate::config_recovery::recover_config;
use crate::http::Method::{Get, Post};
use crate::http::{Error, Request, Response};
use crate::setting_faults::setting_faults;
use crate::store::files;

pub(super) const ROUTES: &[Route] = &[
    (Post, "/config/init", init),
    (Get, "/config/validate", validate),
    (Post, "/config/backup", back_up),
    (Post, "/config/recover", recover),
];

/// Writes nothing: without a file every setting has its default.
fn init(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let exists = registry.stores().config.path().exists();
    Ok(Response::json(&if exists {
        "Config already exists"
    } else {
        "There is no config file yet; the defaults are in use"
    }))
}

/// Goose only checks that the file parses. Wrong settings follow its sentence; one that makes requests fail is an
/// error.
fn validate(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let config = &registry.stores().config;
    config.file().load()?;
    let exists = files::stamp(config.path())?.is_some();
    let faults = setting_faults(registry)?;
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    if faults.iter().any(|fault| fault.is_error) {
        return Err(Error::unprocessable(lines.join("\n")));
    }
    let mut message = if exists {
        "Config file is valid".to_owned()
    } else {
        "Config file does not exist".to_owned()
    };
    if !lines.is_empty() {
        message += &format!(", but some settings are wrong:\n{}", lines.join("\n"));
    }
    Ok(Response::json(&message))
}

fn back_up(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let config = &registry.stores().config;
    let Some(copy) = config.file().back_up()? else {
        let path = config.path().display();
        return Err(Error::internal(format!(
            "{path} does not exist, so it has no backup"
        )));
    };
    let message = format!("Copied {:?} to {copy:?}", config.path());
    Ok(Response::json(&message))
}

fn recover(registry: &Registry, _: &Request) -> Result<Response, Error> {
    let recovered = recover_config(&registry.stores().config)?;
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
