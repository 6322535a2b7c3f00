//! Parses the options `--with-extension`, `--with-streamable-http` and `--with-builtin`.

use crate::builtin;
use crate::command_line::Failure;
use crate::extension::{ExtensionConfig, config};
use crate::features;
use crate::text::split_command;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::Path;

/// Parses `[NAME=VALUE…] CMD [ARGS…]`, with shell quotes.
pub(super) fn command(line: &str) -> Result<ExtensionConfig, Failure> {
    let usage = |reason: &str| Failure::Usage(format!("--with-extension: {reason}"));
    let words = split_command::split(line).map_err(|reason| usage(&reason))?;
    let variables = words.iter().map_while(|word| variable(word));
    let envs: Map<String, Value> = variables
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let begin = words.iter().take_while(|word| variable(word).is_some());
    let (cmd, args) = words[begin.count()..]
        .split_first()
        .ok_or_else(|| usage("no command"))?;
    read(json!({
        "type": "stdio", "name": name_of(cmd, args), "cmd": cmd, "args": args, "envs": envs,
    }))
}

/// A Streamable HTTP server, which is named after its host.
pub(super) fn address(url: &str) -> Result<ExtensionConfig, Failure> {
    let host = match url.split_once("://") {
        Some(("http" | "https", rest)) => rest.split(['/', '?', '#']).next().unwrap_or_default(),
        _ => "",
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    if host.is_empty() {
        let reason =
            format!("--with-streamable-http: {url:?} is not an http:// or https:// address");
        return Err(Failure::Usage(reason));
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    read(json!({"type": "streamable_http", "name": name, "uri": url}))
}

/// Builtin servers.
pub(super) fn builtins(names: &str) -> Result<Vec<ExtensionConfig>, Failure> {
    let names = names.split(',').map(str::trim);
    let named = names.filter(|name| !name.is_empty()).map(|name| {
        if !builtin::has(name) {
            let known = match &*builtin::names() {
                [] => "none".to_owned(),
                names => names.join(", "),
            };
            let hint = features::hint_among(features::SERVERS, name);
            return Err(Failure::Usage(format!(
                "--with-builtin: there is no {name:?}; there is {known}{hint}"
            )));
        }
        read(json!({"type": "builtin", "name": name, "bundled": true}))
    });
    named.collect()
}

/// Renames extensions whose keys would be equal.
pub(super) fn make_names_unique(configs: &mut [ExtensionConfig]) {
    let mut keys = HashSet::new();
    for config in configs {
        let name = config.name().to_owned();
        let mut free = name.clone();
        let mut n = 1;
        while !keys.insert(config::key(&free)) {
            n += 1;
            free = format!("{name}{n}");
        }
        if free != name {
            match config {
                ExtensionConfig::Stdio(config) => config.name = free,
                ExtensionConfig::StreamableHttp(config) => config.name = free,
                _ => {}
            }
        }
    }
}

fn read(config: Value) -> Result<ExtensionConfig, Failure> {
    ExtensionConfig::from_value(config).map_err(Failure::Usage)
}

/// Parses `NAME=VALUE`.
fn variable(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = name.chars().all(fine) && name.starts_with(|c: char| !c.is_ascii_digit());
    (named && !name.is_empty()).then_some((name, value))
}

/// The name of a stdio server: that of its program, or of the package that a package runner runs.
fn name_of(cmd: &str, args: &[String]) -> String {
    let stem = |path: &str| {
        let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str());
        stem.unwrap_or(path).to_owned()
    };
    let name = match stem(cmd).as_str() {
        "npx" | "uvx" | "bunx" => args
            .iter()
            .find(|arg| !arg.starts_with('-'))
            .map(|package| package.rsplit('/').next().unwrap_or(package))
            .map(|package| package.split('@').next().unwrap_or(package).to_owned()),
        _ => None,
    };
    let name = name.unwrap_or_else(|| stem(cmd));
    if config::key(&name).is_empty() {
        "extension".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests;
