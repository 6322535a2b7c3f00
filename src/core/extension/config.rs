//! `ExtensionConfig`: the configuration of an extension, for every type that Goose has.
//!
//! A configuration is written as it was read: unknown fields are kept, defaults are filled in as Goose does.
//! CORE §6; `ExtensionConfig` of Goose's OpenAPI document.

use super::configured_variables::Envs;
use super::environment;
use crate::mcp::client::DEFAULT_TIMEOUT;
use crate::sys::TimeLimit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// Declares the types of extensions: [`ExtensionConfig`], and a struct for each of its variants. The fields are in the
/// order of JSON, each with the method of [`Fields`] that reads it.
macro_rules! types {
    ($(
        $(#[$about:meta])*
        $Type:ident = $kind:literal { $($(#[$meaning:meta])* $field:ident: $of:ty = $read:ident,)* }
    )*) => {
        /// One extension, by type.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "type")]
        pub enum ExtensionConfig {
            $($(#[$about])* #[serde(rename = $kind)] $Type($Type),)*
        }

        $(
            $(#[$about])*
            #[derive(Clone, Debug, PartialEq, Serialize)]
            pub struct $Type {
                $($(#[$meaning])* pub $field: $of,)*
                /// Unknown fields.
                #[serde(flatten)]
                pub rest: Map<String, Value>,
            }
        )*

        impl ExtensionConfig {
            /// Reads a configuration of this type; `None` if there is no such type.
            fn read(kind: &str, mut fields: Fields) -> Result<Option<Self>, String> {
                Ok(Some(match kind {
                    $($kind => ExtensionConfig::$Type($Type {
                        $($field: fields.$read(stringify!($field))?,)*
                        rest: fields.0,
                    }),)*
                    _ => return Ok(None),
                }))
            }

            /// The name as configured.
            pub fn name(&self) -> &str {
                match self {
                    $(ExtensionConfig::$Type(config) => &config.name,)*
                }
            }

            /// The `type` in JSON.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(ExtensionConfig::$Type(_) => $kind,)*
                }
            }
        }
    };
}

types! {
    /// HTTP+SSE, the transport of 2024. Read from old files, never activated.
    Sse = "sse" {
        /// The extension's name.
        name: String = needed,
        /// The description for users.
        description: String = or_default,
        /// The server's address.
        uri: Option<String> = given,
    }

    /// A child process.
    Stdio = "stdio" {
        /// The extension's name.
        name: String = needed,
        /// The description for users.
        description: String = or_default,
        /// The program: a path, or a name to look up.
        cmd: String = needed,
        /// The arguments. No shell is involved.
        args: Vec<String> = or_default,
        /// Environment variables in plain text.
        envs: Envs = or_default,
        /// Environment variables whose values are secrets of the same name.
        env_keys: Vec<String> = or_default,
        /// How long a request may take, in seconds; 300 if absent or 0.
        timeout: Option<TimeLimit> = given,
        /// The extension comes with the client.
        bundled: Option<bool> = given,
        /// The tools that may be used; empty for all.
        available_tools: Vec<String> = or_default,
    }

    /// A server that is part of this program.
    Builtin = "builtin" {
        /// The server's name.
        name: String = needed,
        /// The description for users.
        description: String = or_default,
        /// The name for users.
        display_name: Option<String> = given,
        /// How long a request may take, in seconds; 300 if absent or 0.
        timeout: Option<TimeLimit> = given,
        /// The extension comes with the client.
        bundled: Option<bool> = given,
        /// The tools that may be used; empty for all.
        available_tools: Vec<String> = or_default,
    }

    /// A part of Goose's own agent. gosling has a few of them.
    Platform = "platform" {
        /// The extension's name.
        name: String = needed,
        /// The description for users.
        description: String = or_default,
        /// The name for users.
        display_name: Option<String> = given,
        /// The extension comes with the client.
        bundled: Option<bool> = given,
        /// The tools that may be used; empty for all.
        available_tools: Vec<String> = or_default,
    }

    /// A server with Streamable HTTP.
    StreamableHttp = "streamable_http" {
        /// The extension's name.
        name: String = needed,
        /// The description for users.
        description: String = or_default,
        /// The address of the MCP endpoint.
        uri: String = needed,
        /// Variables for the headers, in plain text.
        envs: Envs = or_default,
        /// Variables for the headers whose values are secrets of the same name.
        env_keys: Vec<String> = or_default,
        /// Headers of every request; `$VAR` and `${VAR}` are expanded.
        headers: Envs = or_default,
        /// How long a request may take, in seconds; 300 if absent or 0.
        timeout: Option<TimeLimit> = given,
        /// The extension comes with the client.
        bundled: Option<bool> = given,
        /// The tools that may be used; empty for all.
        available_tools: Vec<String> = or_default,
    }

    /// Tools that the client runs.
    Frontend = "frontend" {
        /// The extension's name.
        name: String = needed,
        /// The description for users.
        description: String = or_default,
        /// MCP tools, as sent.
        tools: Vec<Value> = needed,
        /// Instructions for the model.
        instructions: Option<String> = given,
        /// The extension comes with the client.
        bundled: Option<bool> = given,
        /// The tools that may be used; empty for all.
        available_tools: Vec<String> = or_default,
    }

    /// A server as Python code.
    InlinePython = "inline_python" {
        /// The extension's name.
        name: String = filled,
        /// The description for users.
        description: String = nullable,
        /// The Python code.
        code: String = filled,
        /// How long a request may take, in seconds; 300 if absent or 0.
        timeout: Option<TimeLimit> = given,
        /// Python packages that the code needs.
        dependencies: Option<Vec<String>> = given,
        /// The tools that may be used; empty for all.
        available_tools: Vec<String> = or_default,
    }
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

    fn or_default<T: DeserializeOwned + Default>(&mut self, name: &str) -> Result<T, String> {
        Ok(self.given(name)?.unwrap_or_default())
    }

    /// A field that may be null, and not missing.
    fn nullable<T: DeserializeOwned + Default>(&mut self, name: &str) -> Result<T, String> {
        Ok(self.needed::<Option<T>>(name)?.unwrap_or_default())
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
        Self::read(&kind, Fields(map))?.ok_or_else(|| {
            format!(
                "type: unknown variant `{kind}`, expected one of `sse`, `stdio`, `builtin`, \
                 `platform`, `streamable_http`, `frontend`, `inline_python`"
            )
        })
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
    pub fn plain_values(&self) -> impl Iterator<Item = [&str; 3]> {
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
        let has_one = !matches!(self, ExtensionConfig::InlinePython(_));
        self.addition("container").filter(|_| has_one)
    }

    /// Where the program starts: the field `cwd` of a `stdio` or `inline_python` entry, as `container`.
    pub fn cwd(&self) -> Option<&Value> {
        let has_one = !matches!(self, ExtensionConfig::Builtin(_));
        self.addition("cwd").filter(|_| has_one)
    }

    /// The walls around the extension, which take precedence over the setting: the field `sandbox`, as `container`.
    pub fn sandbox(&self) -> Option<&Value> {
        self.addition("sandbox")
    }

    fn addition(&self, field: &str) -> Option<&Value> {
        let rest = match self {
            ExtensionConfig::Stdio(c) => &c.rest,
            ExtensionConfig::Builtin(c) => &c.rest,
            ExtensionConfig::InlinePython(c) => &c.rest,
            _ => return None,
        };
        rest.get(field).filter(|named| !named.is_null())
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
