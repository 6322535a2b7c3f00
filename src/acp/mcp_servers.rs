//! The MCP servers that a client brings along for a session, as extensions.

use crate::extension::ExtensionConfig;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// An MCP server as the protocol describes it: on stdio without `type`, else `http` or `sse`; `acp`, of the draft, is in
/// the client.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an MCP server")]
pub(super) struct McpServer {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<NameAndValue>,
    url: Option<String>,
    #[serde(default)]
    headers: Vec<NameAndValue>,
    #[serde(rename = "serverId")]
    server_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with `name` and `value`")]
struct NameAndValue {
    name: String,
    value: String,
}

/// The extensions for these servers, and what the user is told about those that cannot be used. `in_client` makes one of
/// a server in the client, from its name and its id.
pub(super) fn extensions(
    servers: Vec<McpServer>,
    in_client: &mut dyn FnMut(&str, &str) -> Result<ExtensionConfig, String>,
) -> (Vec<ExtensionConfig>, Vec<String>) {
    let mut extensions = Vec::new();
    let mut failures = Vec::new();
    for server in servers {
        let name = server.name.clone();
        let extension = match (server.kind.as_deref(), &server.server_id) {
            (Some("acp"), Some(id)) => in_client(&name, id),
            _ => server.into_extension(),
        };
        match extension {
            Ok(extension) => extensions.push(extension),
            Err(reason) => failures.push(format!("extension {name:?}, config: {reason}")),
        }
    }
    (extensions, failures)
}

impl McpServer {
    /// The server as an extension.
    ///
    /// # Errors
    /// Why it cannot be one.
    pub(super) fn into_extension(self) -> Result<ExtensionConfig, String> {
        let config = match self.kind.as_deref() {
            None | Some("stdio") => {
                let command = self.command.ok_or("it has no `command`")?;
                json!({
                    "type": "stdio", "name": self.name, "cmd": command, "args": self.args,
                    "envs": map(self.env),
                })
            }
            Some("http") => {
                let url = self.url.ok_or("it has no `url`")?;
                json!({
                    "type": "streamable_http", "name": self.name, "uri": url,
                    "headers": map(self.headers),
                })
            }
            Some("sse") => {
                return Err(
                    "the transport HTTP+SSE of 2024 is not supported; use Streamable HTTP".into(),
                );
            }
            Some("acp") => {
                return Err(
                    "a server in the client has a `serverId` and comes with a session".into(),
                );
            }
            Some(other) => return Err(format!("there is no transport {other:?}")),
        };
        ExtensionConfig::from_value(config)
    }
}

fn map(pairs: Vec<NameAndValue>) -> Map<String, Value> {
    let pairs = pairs.into_iter().map(|pair| (pair.name, pair.value.into()));
    pairs.collect()
}

#[cfg(test)]
mod tests;
