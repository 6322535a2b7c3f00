//! `ExtensionConfig`: the configuration of an extension, for every type that Goose has.
//!
//! A configuration is written as it was read: unknown fields are kept, defaults are filled in as Goose does.
//! CORE §6; `ExtensionConfig` of Goose's OpenAPI document.

use super::environment;
use super::envs::Envs;
use crate::mcp::client::DEFAULT_TIMEOUT;
use crate::sys::TimeLimit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// One extension, by type.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExtensionConfig {
    /// HTTP+SSE, the transport of 2024. Read from old files, never activated.
    Sse(Sse),
    /// A child process.
    Stdio(Stdio),
    /// A server that is part of this program.
    Builtin(Builtin),
    /// A part of Goose's own agent. gosling has a few of them.
    Platform(Platform),
    /// A server with Streamable HTTP.
    StreamableHttp(StreamableHttp),
    /// Tools that the client runs.
    Frontend(Frontend),
    /// A server as Python code.
    InlinePython(InlinePython),
}

/// See [`ExtensionConfig::Sse`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sse {
    /// The extension's name.
    pub name: String,
    /// The description for users.
    pub description: String,
    /// The server's address.
    pub uri: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// See [`ExtensionConfig::Stdio`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stdio {
    /// The extension's name.
    pub name: String,
    /// The description for users.
    pub description: String,
    /// The program: a path, or a name to look up.
    pub cmd: String,
    /// The arguments. No shell is involved.
    pub args: Vec<String>,
    /// Environment variables in plain text.
    pub envs: Envs,
    /// Environment variables whose values are secrets of the same name.
    pub env_keys: Vec<String>,
    /// How long a request may take, in seconds; 300 if absent or 0.
    pub timeout: Option<TimeLimit>,
    /// The extension comes with the client.
    pub bundled: Option<bool>,
    /// The tools that may be used; empty for all.
    pub available_tools: Vec<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// See [`ExtensionConfig::Builtin`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Builtin {
    /// The server's name.
    pub name: String,
    /// The description for users.
    pub description: String,
    /// The name for users.
    pub display_name: Option<String>,
    /// How long a request may take, in seconds; 300 if absent or 0.
    pub timeout: Option<TimeLimit>,
    /// The extension comes with the client.
    pub bundled: Option<bool>,
    /// The tools that may be used; empty for all.
    pub available_tools: Vec<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// See [`ExtensionConfig::Platform`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Platform {
    /// The extension's name.
    pub name: String,
    /// The description for users.
    pub description: String,
    /// The name for users.
    pub display_name: Option<String>,
    /// The extension comes with the client.
    pub bundled: Option<bool>,
    /// The tools that may be used; empty for all.
    pub available_tools: Vec<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// See [`ExtensionConfig::StreamableHttp`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamableHttp {
    /// The extension's name.
    pub name: String,
    /// The description for users.
    pub description: String,
    /// The address of the MCP endpoint.
    pub uri: String,
    /// Variables for the headers, in plain text.
    pub envs: Envs,
    /// Variables for the headers whose values are secrets of the same name.
    pub env_keys: Vec<String>,
    /// Headers of every request; `$VAR` and `${VAR}` are expanded.
    pub headers: Envs,
    /// How long a request may take, in seconds; 300 if absent or 0.
    pub timeout: Option<TimeLimit>,
    /// The extension comes with the client.
    pub bundled: Option<bool>,
    /// The tools that may be used; empty for all.
    pub available_tools: Vec<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// See [`ExtensionConfig::Frontend`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frontend {
    /// The extension's name.
    pub name: String,
    /// The description for users.
    pub description: String,
    /// MCP tools, as sent.
    pub tools: Vec<Value>,
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// The extension comes with the client.
    pub bundled: Option<bool>,
    /// The tools that may be used; empty for all.
    pub available_tools: Vec<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// See [`ExtensionConfig::InlinePython`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InlinePython {
    /// The extension's name.
    pub name: String,
    /// The description for users.
    pub description: String,
    /// The Python code.
    pub code: String,
    /// How long a request may take, in seconds; 300 if absent or 0.
    pub timeout: Option<TimeLimit>,
    /// Python packages that the code needs.
    pub dependencies: Option<Vec<String>>,
    /// The tools that may be used; empty for all.
    pub available_tools: Vec<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The fields of a configuration, taken out one by one: far less code than serde's derive for seven flattened
/// types. The remaining fields are the unknown ones.
struct Fields(Map<String, Value>);

impl Fields {
    fn needed<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, String> {
        match self.0.shift_remove(name) {
            Some(value) => read(name, value),
            None => Err(format!("missing field `{name}`")),
        }
    }

    fn given<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, String> {
        match self.0.shift_remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(name, value).map(Some),
        }
    }

    /// Text that is not blank.
    fn filled(&mut self, name: &str) -> Result<String, String> {
        let text: String = self.needed(name)?;
        if text.trim().is_empty() {
            return Err(format!("`{name}` is empty"));
        }
        Ok(text)
    }
}

fn read<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, String> {
    crate::json::from_value(&value).map_err(|error| {
        let mut reason = error.to_string();
        if let Value::String(text) = &value {
            // The text may be a secret in the wrong place.
            reason = reason.replacen(&format!("string {text:?}"), "string", 1);
        }
        format!("{name}: {reason}")
    })
}

impl Sse {
    fn read(mut fields: Fields) -> Result<Self, String> {
        Ok(Sse {
            name: fields.needed("name")?,
            description: fields.given("description")?.unwrap_or_default(),
            uri: fields.given("uri")?,
            rest: fields.0,
        })
    }
}

impl Stdio {
    fn read(mut fields: Fields) -> Result<Self, String> {
        Ok(Stdio {
            name: fields.needed("name")?,
            description: fields.given("description")?.unwrap_or_default(),
            cmd: fields.needed("cmd")?,
            args: fields.given("args")?.unwrap_or_default(),
            envs: fields.given("envs")?.unwrap_or_default(),
            env_keys: fields.given("env_keys")?.unwrap_or_default(),
            timeout: fields.given("timeout")?,
            bundled: fields.given("bundled")?,
            available_tools: fields.given("available_tools")?.unwrap_or_default(),
            rest: fields.0,
        })
    }
}

impl Builtin {
    fn read(mut fields: Fields) -> Result<Self, String> {
        Ok(Builtin {
            name: fields.needed("name")?,
            description: fields.given("description")?.unwrap_or_default(),
            display_name: fields.given("display_name")?,
            timeout: fields.given("timeout")?,
            bundled: fields.given("bundled")?,
            available_tools: fields.given("available_tools")?.unwrap_or_default(),
            rest: fields.0,
        })
    }
}

impl Platform {
    fn read(mut fields: Fields) -> Result<Self, String> {
        Ok(Platform {
            name: fields.needed("name")?,
            description: fields.given("description")?.unwrap_or_default(),
            display_name: fields.given("display_name")?,
            bundled: fields.given("bundled")?,
            available_tools: fields.given("available_tools")?.unwrap_or_default(),
            rest: fields.0,
        })
    }
}

impl StreamableHttp {
    fn read(mut fields: Fields) -> Result<Self, String> {
        Ok(StreamableHttp {
            name: fields.needed("name")?,
            description: fields.given("description")?.unwrap_or_default(),
            uri: fields.needed("uri")?,
            envs: fields.given("envs")?.unwrap_or_default(),
            env_keys: fields.given("env_keys")?.unwrap_or_default(),
            headers: fields.given("headers")?.unwrap_or_default(),
            timeout: fields.given("timeout")?,
            bundled: fields.given("bundled")?,
            available_tools: fields.given("available_tools")?.unwrap_or_default(),
            rest: fields.0,
        })
    }
}

impl Frontend {
    fn read(mut fields: Fields) -> Result<Self, String> {
        Ok(Frontend {
            name: fields.needed("name")?,
            description: fields.given("description")?.unwrap_or_default(),
            tools: fields.needed("tools")?,
            instructions: fields.given("instructions")?,
            bundled: fields.given("bundled")?,
            available_tools: fields.given("available_tools")?.unwrap_or_default(),
            rest: fields.0,
        })
    }
}

impl InlinePython {
    fn read(mut fields: Fields) -> Result<Self, String> {
        Ok(InlinePython {
            name: fields.filled("name")?,
            description: fields
                .needed::<Option<_>>("description")?
                .unwrap_or_default(),
            code: fields.filled("code")?,
            timeout: fields.given("timeout")?,
            dependencies: fields.given("dependencies")?,
            available_tools: fields.given("available_tools")?.unwrap_or_default(),
            rest: fields.0,
        })
    }
}

impl<'de> Deserialize<'de> for ExtensionConfig {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let map = Map::<String, Value>::deserialize(d)?;
        ExtensionConfig::from_json(map).map_err(serde::de::Error::custom)
    }
}

impl ExtensionConfig {
    /// Reads a configuration of a client or a file.
    ///
    /// # Errors
    /// A field is missing or has the wrong type; the error has a hint for common mistakes.
    pub fn from_json(mut map: Map<String, Value>) -> Result<Self, String> {
        let kind = match map.shift_remove("type") {
            Some(Value::String(kind)) => kind,
            Some(_) => return Err("`type` is not a string".to_owned()),
            None => return Err("missing field `type`".to_owned()),
        };
        if kind == "streamable_http" && !map.contains_key("uri") && map.contains_key("url") {
            return Err("missing field `uri`: write the address as `uri`, not `url`".to_owned());
        }
        let fields = Fields(map);
        match kind.as_str() {
            "sse" => Sse::read(fields).map(ExtensionConfig::Sse),
            "stdio" => Stdio::read(fields).map(ExtensionConfig::Stdio),
            "builtin" => Builtin::read(fields).map(ExtensionConfig::Builtin),
            "platform" => Platform::read(fields).map(ExtensionConfig::Platform),
            "streamable_http" => StreamableHttp::read(fields).map(ExtensionConfig::StreamableHttp),
            "frontend" => Frontend::read(fields).map(ExtensionConfig::Frontend),
            "inline_python" => InlinePython::read(fields).map(ExtensionConfig::InlinePython),
            other => Err(format!(
                "type: unknown variant `{other}`, expected one of `sse`, `stdio`, `builtin`, \
                 `platform`, `streamable_http`, `frontend`, `inline_python`"
            )),
        }
    }

    /// Reads a configuration from any JSON value, see [`from_json`](Self::from_json).
    ///
    /// # Errors
    /// As `from_json`; also if the value is not an object.
    pub fn from_value(value: Value) -> Result<Self, String> {
        match value {
            Value::Object(map) => Self::from_json(map),
            _ => Err("an extension's configuration is an object".to_owned()),
        }
    }

    /// The configuration as JSON, with `type` first and defaults filled in.
    pub fn to_value(&self) -> Value {
        crate::json::to_value(self).unwrap_or_default()
    }

    /// Refuses variables that an extension may not have.
    ///
    /// # Errors
    /// The message names the extension, the variable and the reason.
    pub fn check_environment(&self) -> Result<(), String> {
        let checked = self.variables().try_for_each(environment::check_name);
        checked.map_err(|reason| format!("extension {:?}: {reason}", self.name()))
    }

    /// The names of the variables that the extension gets, except those of every extension.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let given = match self {
            ExtensionConfig::Stdio(c) => Some((&c.envs, &c.env_keys)),
            ExtensionConfig::StreamableHttp(c) => Some((&c.envs, &c.env_keys)),
            _ => None,
        };
        given.into_iter().flat_map(|(envs, env_keys)| {
            let envs = envs.iter().map(|(name, _)| name);
            envs.chain(env_keys.iter().map(String::as_str))
        })
    }

    /// The variables and headers whose values are in the configuration: `variable` or `header`, the name, the value.
    pub(super) fn plain_values(&self) -> impl Iterator<Item = [&str; 3]> {
        let (envs, headers) = match self {
            ExtensionConfig::Stdio(c) => (Some(&c.envs), None),
            ExtensionConfig::StreamableHttp(c) => (Some(&c.envs), Some(&c.headers)),
            _ => (None, None),
        };
        let envs = envs.into_iter().flat_map(Envs::iter);
        let headers = headers.into_iter().flat_map(Envs::iter);
        let envs = envs.map(|(name, value)| ["variable", name, value]);
        envs.chain(headers.map(|(name, value)| ["header", name, value]))
    }

    /// An entry of the user's configuration: `enabled`, then the configuration.
    pub fn to_entry(&self, enabled: bool) -> Value {
        let mut entry = Map::new();
        entry.insert("enabled".to_owned(), enabled.into());
        if let Value::Object(config) = self.to_value() {
            entry.extend(config);
        }
        Value::Object(entry)
    }

    /// The name as configured.
    pub fn name(&self) -> &str {
        match self {
            ExtensionConfig::Sse(c) => &c.name,
            ExtensionConfig::Stdio(c) => &c.name,
            ExtensionConfig::Builtin(c) => &c.name,
            ExtensionConfig::Platform(c) => &c.name,
            ExtensionConfig::StreamableHttp(c) => &c.name,
            ExtensionConfig::Frontend(c) => &c.name,
            ExtensionConfig::InlinePython(c) => &c.name,
        }
    }

    /// The `type` in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            ExtensionConfig::Sse(_) => "sse",
            ExtensionConfig::Stdio(_) => "stdio",
            ExtensionConfig::Builtin(_) => "builtin",
            ExtensionConfig::Platform(_) => "platform",
            ExtensionConfig::StreamableHttp(_) => "streamable_http",
            ExtensionConfig::Frontend(_) => "frontend",
            ExtensionConfig::InlinePython(_) => "inline_python",
        }
    }

    /// The key of the extension, see [`key`].
    pub fn key(&self) -> String {
        key(self.name())
    }

    /// How long a request to the extension may take.
    pub fn timeout(&self) -> Duration {
        let limit = match self {
            ExtensionConfig::Stdio(c) => c.timeout,
            ExtensionConfig::Builtin(c) => c.timeout,
            ExtensionConfig::StreamableHttp(c) => c.timeout,
            ExtensionConfig::InlinePython(c) => c.timeout,
            _ => None,
        };
        // Zero means the default.
        limit
            .filter(|limit| !limit.is_zero())
            .map_or(DEFAULT_TIMEOUT, TimeLimit::get)
    }

    /// The container of this extension, which takes precedence over the session's: the field `container` of a
    /// `stdio` or `builtin` entry. The field is an addition of gosling and may hold any JSON value.
    pub fn container(&self) -> Option<&Value> {
        let rest = match self {
            ExtensionConfig::Stdio(c) => &c.rest,
            ExtensionConfig::Builtin(c) => &c.rest,
            _ => return None,
        };
        rest.get("container").filter(|named| !named.is_null())
    }

    /// Where the program starts: the field `cwd` of a `stdio` or `inline_python` entry. The field is an addition of
    /// gosling and may hold any JSON value.
    pub fn cwd(&self) -> Option<&Value> {
        let rest = match self {
            ExtensionConfig::Stdio(c) => &c.rest,
            ExtensionConfig::InlinePython(c) => &c.rest,
            _ => return None,
        };
        rest.get("cwd").filter(|named| !named.is_null())
    }

    /// Whether a tool of this name may be listed and called.
    pub fn allows(&self, tool: &str) -> bool {
        let available = match self {
            ExtensionConfig::Stdio(c) => &c.available_tools,
            ExtensionConfig::Builtin(c) => &c.available_tools,
            ExtensionConfig::Platform(c) => &c.available_tools,
            ExtensionConfig::StreamableHttp(c) => &c.available_tools,
            ExtensionConfig::Frontend(c) => &c.available_tools,
            ExtensionConfig::InlinePython(c) => &c.available_tools,
            ExtensionConfig::Sse(_) => return true,
        };
        available.is_empty() || available.iter().any(|name| name == tool)
    }
}

/// The key of an extension, for files and as prefix of tool names: the name without white space, in lower
/// case, with every character other than `A-Za-z0-9_-` replaced by an underscore.
pub fn key(name: &str) -> String {
    name.chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c.to_ascii_lowercase(),
            _ => '_',
        })
        .collect()
}

#[cfg(test)]
mod tests;
