//! What arguments look like: names, types and sizes, without what they say.

use crate::text::printable;
use gosling_shared::redact_credentials;
use serde_json::{Map, Value, json};

/// The most members of an object, and the most levels, that are told.
const MAX_MEMBERS: usize = 40;
const MAX_DEPTH: usize = 3;
/// The longest name that is told, in characters.
const MAX_NAME: usize = 60;

/// The shape of a value: of an object its members, of anything else its type and its size.
pub(crate) fn shape(value: &Value) -> Value {
    shape_at(value, 0)
}

fn shape_at(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(members) if depth < MAX_DEPTH => {
            let named = members.iter().take(MAX_MEMBERS);
            let named = named.map(|(name, value)| {
                let name = printable(&redact_credentials(name), MAX_NAME);
                (name, shape_at(value, depth + 1))
            });
            let mut shape = Map::from_iter(named);
            if members.len() > MAX_MEMBERS {
                shape.insert("…".to_owned(), (members.len() - MAX_MEMBERS).into());
            }
            shape.into()
        }
        Value::Object(members) => json!(format!("object of {}", members.len())),
        Value::Array(items) => json!(format!("array of {}", items.len())),
        Value::String(text) => json!(format!("string of {}", text.len())),
        Value::Number(_) => json!("number"),
        Value::Bool(_) => json!("boolean"),
        Value::Null => Value::Null,
    }
}

#[cfg(test)]
mod tests;
