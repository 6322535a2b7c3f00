//! Takes out of answers what a client that may not configure must not see: the variables and header fields of
//! extensions, and credentials in their command lines and addresses.

use crate::http::Response;
use gosling_shared::redact_credentials;
use serde_json::Value;

const REDACTED: &str = "[secret]";

/// Members that hold variables and header fields: all their values are hidden.
const HIDDEN: [&str; 3] = ["envs", "env", "headers"];
/// Members that may hold credentials.
const WITH_CREDENTIALS: [&str; 5] = ["cmd", "command", "args", "uri", "url"];

/// Redacts a response with JSON, and text in it that is JSON itself, as exports are.
pub(crate) fn redact_response(response: &mut Response) {
    let is_json = response.headers.iter().any(|header| {
        header.field.equiv("Content-Type") && header.value.as_str().starts_with("application/json")
    });
    if !is_json {
        return;
    }
    let Ok(mut value) = crate::json::from_slice::<Value>(&response.body) else {
        return;
    };
    if let Value::String(text) = &value
        && let Ok(mut inner @ Value::Object(_)) = crate::json::from_str(text)
    {
        redact(&mut inner);
        value = serde_json::to_string_pretty(&inner)
            .unwrap_or_default()
            .into();
    }
    redact(&mut value);
    response.body = value.to_string().into_bytes();
}

/// Redacts a value in place.
pub(crate) fn redact(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if HIDDEN.contains(&name.as_str()) {
                    hide(value);
                } else if WITH_CREDENTIALS.contains(&name.as_str()) {
                    redact_texts(value);
                } else {
                    redact(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

/// Hides all texts but the names of pairs.
fn hide(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let is_pair = members.contains_key("name") && members.contains_key("value");
            for (name, value) in members {
                if !is_pair || name != "name" {
                    hide(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Null => {}
        other => *other = REDACTED.into(),
    }
}

fn redact_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact_credentials(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(redact_texts),
        other => redact(other),
    }
}

#[cfg(test)]
mod tests;
