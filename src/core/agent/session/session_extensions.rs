//! The extensions of a session: which the configuration enables, which of an import are active, how many there may be,
//! and how those of a client are added.

use crate::agent::Error;
use crate::conversation::ImportReport;
use crate::extension::{self, ExtensionConfig, config, configured};
use crate::store::{self, Config};
use serde_json::Value;

/// How many extensions a session may start with.
pub(in crate::agent) const MAX_EXTENSIONS: usize = 256;

/// The extensions that the configuration enables. An invalid entry is left out and logged, so that it does
/// not prevent sessions from starting.
///
/// # Errors
/// When `config.yaml` cannot be read.
pub fn enabled_extensions(config: &Config) -> store::Result<Vec<ExtensionConfig>> {
    let listed = configured::list(config)?;
    for warning in &listed.warnings {
        log::warn!("extension left out: {warning}");
    }
    let enabled = listed.entries.into_iter().filter(|entry| entry.enabled);
    let valid = enabled.filter_map(|entry| {
        let key = entry.key;
        let warn = |reason: &String| log::warn!("extension left out key={key:?} reason={reason:?}");
        entry.config.inspect_err(warn).ok()
    });
    Ok(valid.collect())
}

/// The extensions of an import, `wanted`, that equal one that the user has configured, enabled or not, or
/// one of `more`. The others are listed in `imported`.
///
/// # Errors
/// When `config.yaml` cannot be read.
pub(in crate::agent) fn import_extensions(
    config: &Config,
    wanted: &[Value],
    more: Vec<Value>,
    imported: &mut ImportReport,
) -> Result<Vec<Value>, Error> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let own = configured::list(config)?.entries.into_iter();
    let more = more.into_iter().map(ExtensionConfig::from_value);
    let own: Vec<_> = (own.map(|entry| entry.config).chain(more).flatten()).collect();
    let divided = extension::classify_imported(wanted, &own);
    imported.switched_off = divided.switched_off;
    imported.left_out.extend(divided.invalid);
    Ok(divided.active)
}

/// Checks how many extensions a session would have.
///
/// # Errors
/// [`Error::Config`] if they are too many.
pub(in crate::agent) fn check_count(count: usize) -> Result<(), Error> {
    if count > MAX_EXTENSIONS {
        let reason = format!("a session has at most {MAX_EXTENSIONS} extensions");
        return Err(Error::Config { reason });
    }
    Ok(())
}

/// Appends the client's extensions, with a number behind each name that is taken. Returns their names.
pub(in crate::agent) fn append(
    extensions: &mut Vec<Value>,
    client: Vec<ExtensionConfig>,
) -> Result<Vec<String>, Error> {
    check_count(extensions.len() + client.len())?;
    let mut names = Vec::new();
    for extension in client {
        let name = extension.name().to_owned();
        let is_taken = |name: &str| {
            let key = config::key(name);
            let mut taken = extensions.iter().filter_map(|it| it["name"].as_str());
            taken.any(|taken| config::key(taken) == key)
        };
        let free = (2..)
            .map(|n| format!("{name}{n}"))
            .find(|name| !is_taken(name));
        let free = free.filter(|_| is_taken(&name)).unwrap_or(name);
        let mut extension = extension.to_value();
        extension["name"] = free.as_str().into();
        extensions.push(extension);
        names.push(free);
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
