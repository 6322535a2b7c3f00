//! How a server is installed in Goose: an entry of `config.yaml`, and a link. SERVER §9.1.

use crate::extension::ExtensionConfig;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde::Serialize;
use serde_json::{Value, json};

/// How to install a server. Values of variables and headers are not in it.
#[derive(Clone, Debug, Serialize)]
pub struct InstallInstructions {
    /// The entry below `extensions` in `config.yaml`.
    pub yaml: String,
    /// A `goose://` link; empty if links cannot install such a server.
    pub link: String,
}

/// The installation of the server with this configuration.
pub(super) fn installation(config: &ExtensionConfig) -> InstallInstructions {
    let mut entry = config.to_entry(true);
    let mut query = LinkQuery::default();
    query.add("name", config.name());
    hide_values(&mut entry);
    match config {
        ExtensionConfig::Stdio(stdio) => {
            query.add("cmd", &stdio.cmd);
            for argument in &stdio.args {
                query.add("arg", argument);
            }
        }
        ExtensionConfig::StreamableHttp(http) => {
            query.add("url", &http.uri);
            for (name, _) in http.headers.iter() {
                query.add("header", &format!("{name}=${{{}}}", variable_of(name)));
            }
        }
        _ => query = LinkQuery::default(),
    }
    let keys = entry["env_keys"].as_array().into_iter().flatten();
    for key in keys.filter_map(Value::as_str) {
        query.add("env", key);
    }
    if let Some(fields) = entry.as_object_mut() {
        // Goose starts every program in the working directory.
        fields.retain(|name, value| name != "cwd" && !is_empty(value));
    }
    let by_key = json!({ config.key(): entry });
    InstallInstructions {
        yaml: yaml_serde::to_string(&by_key).unwrap_or_default(),
        link: query.link(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Moves variables with values to `env_keys`, and replaces the values of headers by variables.
fn hide_values(entry: &mut Value) {
    let mut keys: Vec<String> = Vec::new();
    let listed = entry["env_keys"].as_array().into_iter().flatten();
    keys.extend(listed.filter_map(Value::as_str).map(str::to_owned));
    let variables = entry["envs"].as_object().into_iter().flatten();
    keys.extend(variables.map(|(name, _)| name.clone()));
    if let Some(headers) = entry.get_mut("headers").and_then(Value::as_object_mut) {
        for (name, value) in headers.iter_mut() {
            let variable = variable_of(name);
            *value = format!("${{{variable}}}").into();
            keys.push(variable);
        }
    }
    if entry.get("envs").is_some() {
        entry["envs"] = json!({});
    }
    if entry.get("env_keys").is_some() {
        keys.dedup();
        entry["env_keys"] = json!(keys);
    }
}

/// The variable for the value of a header.
fn variable_of(header: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    header.to_uppercase().replace(|c| !is_plain(c), "_")
}

#[derive(Default)]
struct LinkQuery(String);

impl LinkQuery {
    fn add(&mut self, name: &str, value: &str) {
        let value = percent_encode(value.as_bytes(), NON_ALPHANUMERIC);
        let separator = if self.0.is_empty() { '?' } else { '&' };
        self.0 += &format!("{separator}{name}={value}");
    }

    fn link(self) -> String {
        if self.0.contains("&cmd=") || self.0.contains("&url=") {
            format!("goose://extension{}", self.0)
        } else {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests;
