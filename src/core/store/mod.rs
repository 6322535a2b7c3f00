//! The store: paths, configuration, secrets, permissions and sessions, in files.
//!
//! Files have mode 0600, folders 0700. Writes are atomic and under a lock that other processes respect. A file
//! that cannot be parsed is never overwritten.

mod config;
pub mod disk;
#[cfg(all(test, unix))]
mod durability_tests;
mod error;
pub mod file_lock;
pub mod files;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
#[doc(hidden)]
pub mod journal;
mod paths;
mod permission_launches;
mod permissions;
mod secrets;
mod session_cache;
pub mod session_file_names;
mod sessions;
pub mod settings;
pub mod shared_yaml_file;
mod turn_lock;
pub(crate) mod yaml_text;

pub use config::{Config, Extensions};
pub use error::{Error, Result};
pub use journal::{Journal, JournalEntry};
pub use paths::{Os, Paths};
pub use permission_launches::ToolOrigin;
pub use permissions::{PermissionLevel, Permissions};
pub use secrets::{Secret, Secrets, mask};
pub use session_cache::{StoredSession, Summary};
pub use sessions::{NewSession, SessionFilter, Sessions};
pub use shared_yaml_file::{MAX_SIZE as MAX_YAML, YamlFile};
pub use turn_lock::TurnLock;
pub use yaml_text::{
    YamlError, from_json as yaml_from_json, has_anchors as yaml_has_anchors, parse as parse_yaml,
    render as render_yaml, to_json as yaml_to_json, to_json_object as yaml_to_json_object,
};

use crate::sys::process::SERVER_KEY;
use serde_json::Value;

/// Looks up an environment variable; `None` if it is unset or the server's key. What is not Unicode in it is replaced
/// by U+FFFD, so that it does not count as unset.
pub type Env = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

fn process_env() -> Env {
    // The server's key is neither a setting nor a secret for extensions, even in a program that keeps it in its
    // environment.
    Box::new(|name| {
        if name == SERVER_KEY {
            return None;
        }
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    })
}

/// The value of the variable that overrides `key`: of that name, else of that name in upper case.
fn env_override(env: &Env, key: &str) -> Option<String> {
    if key.is_empty() || key.contains(['=', '\0']) {
        return None;
    }
    env(key).or_else(|| env(&key.to_uppercase()))
}

/// Parses a variable's value as Goose does: as JSON, else as a boolean in any case, else as a number with
/// surrounding white space or a sign, else as text.
fn parse_env_value(text: &str) -> Value {
    if let Ok(value) = crate::json::from_str(text) {
        return value;
    }
    let trimmed = text.trim();
    if trimmed.eq_ignore_ascii_case("true") {
        return Value::Bool(true);
    }
    if trimmed.eq_ignore_ascii_case("false") {
        return Value::Bool(false);
    }
    if let Ok(integer) = trimmed.parse::<i64>() {
        return integer.into();
    }
    trimmed
        .parse()
        .ok()
        .and_then(serde_json::Number::from_f64)
        .map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

#[cfg(test)]
mod tests;
