//! Extensions of an imported session or a recipe link. An import cannot start a process or open a connection
//! on its own: an extension is activated only if the user has configured one with the same effect, and then
//! with the user's own entry.

use super::ExtensionConfig;
use super::platform_extensions;
use super::wrappers::has;
use crate::conversation::DisabledExtension;
use crate::text::printable;
use serde_json::{Map, Value};

/// Fields that do not change what an extension does. `name` is compared by its key; `available_tools` may
/// only become fewer.
const WITHOUT_EFFECT: &str = "name description display_name timeout bundled available_tools";

/// The longest description of an effect, in characters. The configuration next to it is complete.
const LONGEST: usize = 1_000;

/// The extensions of an import.
#[derive(Debug, Default)]
pub struct ImportedExtensions {
    /// The user's own entries for the extensions that the user has configured too.
    pub active: Vec<Value>,
    /// The other extensions.
    pub switched_off: Vec<DisabledExtension>,
    /// Errors for invalid entries, a phrase each.
    pub invalid: Vec<String>,
}

/// Classifies the extensions of an import by whether `own` contains one with the same effect.
pub fn classify_imported(wanted: &[Value], own: &[ExtensionConfig]) -> ImportedExtensions {
    let mut imported = ImportedExtensions::default();
    for value in wanted {
        let config = ExtensionConfig::from_value(value.clone());
        let config = config.and_then(|config| config.check_environment().map(|()| config));
        let config = match config {
            Ok(config) => config,
            Err(reason) => {
                let name = printable(value["name"].as_str().unwrap_or("?"), 100);
                let reason = printable(&reason, 200);
                imported
                    .invalid
                    .push(format!("the extension \"{name}\": {reason}"));
                continue;
            }
        };
        match own.iter().find_map(|own| narrowed(own, &config)) {
            Some(own) => imported.active.push(own),
            None => imported.switched_off.push(DisabledExtension {
                name: config.name().to_owned(),
                effect: printable(&effect(&config), LONGEST),
                config: config.to_value(),
            }),
        }
    }
    imported
}

/// The entry `own`, restricted to the tools of `wanted`; `None` if the two have different effects or no tool
/// is left.
fn narrowed(own: &ExtensionConfig, wanted: &ExtensionConfig) -> Option<Value> {
    if own.key() != wanted.key() {
        return None;
    }
    let mut value = own.to_value();
    let wanted = wanted.to_value();
    if essence(&value) != essence(&wanted) {
        return None;
    }
    let tools = |value: &Value| {
        value["available_tools"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let ours = tools(&value);
    let theirs = tools(&wanted);
    // An empty list means all tools.
    if !theirs.is_empty() {
        let both = theirs
            .into_iter()
            .filter(|tool| ours.is_empty() || ours.contains(tool));
        let both: Vec<Value> = both.collect();
        if both.is_empty() {
            return None;
        }
        value["available_tools"] = both.into();
    }
    Some(value)
}

/// The fields that decide what an extension does.
fn essence(config: &Value) -> Map<String, Value> {
    let mut fields = config.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !has(WITHOUT_EFFECT, name));
    fields
}

/// What the extension would do when activated, as a phrase after "it would".
fn effect(config: &ExtensionConfig) -> String {
    let name = config.name();
    let effect = match config {
        ExtensionConfig::Stdio(c) => {
            let words: String = c.args.iter().map(|arg| format!(" {arg}")).collect();
            let variables = list(" with the variables ", c.envs.iter().map(|it| it.0));
            let secrets = list(" with the secrets ", &c.env_keys);
            format!("run `{}{words}`{variables}{secrets}", c.cmd)
        }
        ExtensionConfig::StreamableHttp(c) => {
            let headers = list(" with the headers ", c.headers.iter().map(|it| it.0));
            let secrets = list(" with the secrets ", &c.env_keys);
            format!("connect to {}{headers}{secrets}", c.uri)
        }
        ExtensionConfig::Sse(c) => format!("connect to {}", c.uri.as_deref().unwrap_or("a server")),
        ExtensionConfig::Platform(_) if !platform_extensions::is_ours(&config.key()) => {
            format!("start \"{name}\", which is part of Goose's own agent")
        }
        ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_) => {
            format!("start the builtin server \"{name}\"")
        }
        ExtensionConfig::Frontend(c) => {
            let names = c.tools.iter().filter_map(|tool| tool["name"].as_str());
            format!("offer tools of the client{}", list(": ", names))
        }
        ExtensionConfig::InlinePython(c) => {
            let lines = c.code.lines().count();
            let packages = list(" with the packages ", c.dependencies.iter().flatten());
            format!("run a Python program of {lines} lines{packages}")
        }
    };
    match config.container() {
        Some(container) => format!("{effect} in the container {container}"),
        None => effect,
    }
}

/// The names behind these words; empty without a name.
fn list(before: &str, names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut text = String::new();
    for name in names {
        text.push_str(if text.is_empty() { before } else { ", " });
        text.push_str(name.as_ref());
    }
    text
}

#[cfg(test)]
mod tests;
