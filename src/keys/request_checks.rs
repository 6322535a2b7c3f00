//! What a request of a client may contain: sessions that the client may see, and extensions that are configured, unless
//! it may configure some.

use serde_json::Value;

/// The names of members and parameters that hold the id of a session.
const SESSION: [&str; 2] = ["session_id", "sessionId"];

/// The ids of the sessions that a request names.
pub(crate) fn sessions_in(parameters: &[(&str, &str)], body: &Value) -> Vec<String> {
    let named = parameters.iter().filter(|(name, _)| SESSION.contains(name));
    let mut ids: Vec<String> = named.map(|(_, id)| (*id).to_owned()).collect();
    for id in SESSION.iter().filter_map(|name| body.get(name)) {
        match id {
            Value::Null => {}
            Value::String(id) => ids.push(id.clone()),
            // No session has such an id.
            other => ids.push(other.to_string()),
        }
    }
    ids
}

/// Whether a request makes the server start what only those who configure may choose: extensions for which
/// `is_configured` does not hold, or recipes that come with it.
pub(crate) fn configures(
    operation: &str,
    body: &Value,
    is_configured: impl Fn(&Value) -> bool,
) -> bool {
    let is_given = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    let list = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.iter().all(&is_configured),
        _ => false,
    };
    match operation {
        "POST /agent/start" => {
            is_given(&body["recipe"])
                || is_given(&body["recipe_deeplink"])
                || !list(&body["extension_overrides"])
        }
        "POST /agent/add_extension" => !is_configured(&body["config"]),
        _ if operation.starts_with("acp session/") => {
            is_given(&body["mcpServers"])
                || is_given(&body["_meta"]["recipeDeeplink"])
                || !list(&body["_meta"]["enabledExtensions"])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
