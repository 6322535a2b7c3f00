//! Goose's form of an extension in its methods: a builtin or platform extension, or an MCP server with what
//! Goose adds to it.

use super::mcp_servers::McpServer;
use crate::extension::ExtensionConfig;
use serde_json::{Map, Value, json};

/// Fields that both forms have under the same name.
const SHARED: &str = "type name description display_name timeout bundled available_tools";
/// Fields of an MCP server that both forms have under the same name, beside it.
const BESIDE_SERVER: &str = "description timeout socket bundled available_tools";

/// The extension as Goose's clients take it; `None` if they have no form for its kind.
pub(super) fn to_goose(extension: &ExtensionConfig) -> Option<Value> {
    let config = extension.to_value();
    let pick = |names: &str| -> Map<String, Value> {
        let given = names.split(' ').map(|name| (name, &config[name]));
        let given = given.filter(|(_, value)| !value.is_null());
        given
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    };
    let pairs = |map: &Value| -> Value {
        let pairs = map.as_object().into_iter().flatten();
        pairs
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect()
    };
    let server = match extension {
        ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_) => {
            return Some(pick(SHARED).into());
        }
        ExtensionConfig::Stdio(_) => json!({
            "name": config["name"], "command": config["cmd"], "args": config["args"],
            "env": pairs(&config["envs"]),
        }),
        ExtensionConfig::StreamableHttp(_) => json!({
            "type": "http", "name": config["name"], "url": config["uri"],
            "headers": pairs(&config["headers"]),
        }),
        ExtensionConfig::Sse(_)
        | ExtensionConfig::Frontend(_)
        | ExtensionConfig::InlinePython(_) => return None,
    };
    let mut shown = pick(BESIDE_SERVER);
    shown.insert("type".to_owned(), "mcp".into());
    shown.insert("server".to_owned(), server);
    shown.insert("envKeys".to_owned(), config["env_keys"].clone());
    Some(shown.into())
}

/// The extension with those fields of `before` that Goose's form does not have, if both are of the same kind. Its
/// variables are among them, because Goose's clients send none.
pub(super) fn with_fields_of(
    extension: ExtensionConfig,
    before: &ExtensionConfig,
) -> ExtensionConfig {
    const OF_SERVER: &str = "cmd args uri headers env_keys";
    let (mut new, old) = (extension.to_value(), before.to_value());
    if new["type"] != old["type"] {
        return extension;
    }
    let is_empty = |map: &Value| map.as_object().is_none_or(Map::is_empty);
    for (name, value) in old.as_object().into_iter().flatten() {
        let mut lists = [SHARED, BESIDE_SERVER, OF_SERVER].into_iter();
        let is_known = lists.any(|names| names.split(' ').any(|it| it == name));
        if !is_known && (name != "envs" || is_empty(&new["envs"])) {
            new[name] = value.clone();
        }
    }
    ExtensionConfig::from_value(new).unwrap_or(extension)
}

/// Reads Goose's form of an extension.
///
/// # Errors
/// Why it is none.
pub(super) fn from_goose(mut extension: Value) -> Result<ExtensionConfig, String> {
    let fields = extension.as_object_mut().ok_or("it is not an object")?;
    fields.retain(|_, value| !value.is_null());
    // It may be left out in this form alone.
    fields.entry("description").or_insert("".into());
    if fields.get("type").is_none_or(|kind| *kind != *"mcp") {
        return ExtensionConfig::from_value(extension);
    }
    let server = fields.remove("server").ok_or("it has no `server`")?;
    let server: McpServer = crate::json::from_value(&server).map_err(|it| it.to_string())?;
    let mut config = server.into_extension()?.to_value();
    for name in BESIDE_SERVER.split(' ') {
        if let Some(value) = fields.remove(name) {
            config[name] = value;
        }
    }
    if let Some(names) = fields.remove("envKeys") {
        config["env_keys"] = names;
    }
    ExtensionConfig::from_value(config)
}

#[cfg(test)]
mod tests;
