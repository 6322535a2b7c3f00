//! Arguments made up from a JSON Schema: valid ones, ones of a wrong type, and incomplete ones. Pure.

use serde_json::{Map, Value, json};

/// How deep a schema is followed.
const MAX_DEPTH: usize = 8;
/// The most characters or items that are made up.
const MAX_SIZE: u64 = 1_000;
/// The most memory that the arguments of a call take, roughly, in bytes.
const MAX_MEMORY: usize = 1 << 20;

/// Arguments with the required properties, and values that the schema says are possible, as far as it is
/// understood.
pub(super) fn arguments(schema: &Value) -> Map<String, Value> {
    let mut left = MAX_MEMORY;
    match value(schema, schema, 0, &mut left) {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    }
}

/// The valid arguments without one that is required; `None` if none is.
pub(super) fn incomplete(schema: &Value) -> Option<(String, Map<String, Value>)> {
    let mut arguments = arguments(schema);
    let missing = required(schema).next()?.to_owned();
    arguments.remove(&missing);
    Some((missing, arguments))
}

/// The valid arguments with one of a type that the schema does not allow; `None` if any type is allowed.
pub(super) fn mistyped(schema: &Value) -> Option<(String, Map<String, Value>)> {
    let mut arguments = arguments(schema);
    let properties = schema["properties"].as_object()?;
    let (name, wrong) = properties.iter().find_map(|(name, property)| {
        let property = resolve(property, schema);
        let wrong = match property["type"].as_str()? {
            "string" | "number" | "integer" | "boolean" => json!({"gosling": []}),
            "array" | "object" => json!(17),
            _ => return None,
        };
        let is_plain = ["anyOf", "oneOf", "allOf"]
            .iter()
            .all(|keyword| property.get(keyword).is_none());
        is_plain.then(|| (name.clone(), wrong))
    })?;
    arguments.insert(name.clone(), wrong);
    Some((name, arguments))
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str)
}

/// The schema that a local `$ref` leads to.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        let pointer = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// A value for a schema. It takes its memory from `left`, and is null when nothing is left.
fn value(schema: &Value, root: &Value, depth: usize, left: &mut usize) -> Value {
    let schema = resolve(schema, root);
    if !take(left, size_of::<Value>()) || depth > MAX_DEPTH {
        return Value::Null;
    }
    for keyword in ["const", "default"] {
        if let Some(value) = schema.get(keyword) {
            return copy(value, left);
        }
    }
    for keyword in ["enum", "examples"] {
        if let Some(first) = schema[keyword].get(0) {
            return copy(first, left);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[keyword].get(0) {
            return value(first, root, depth + 1, left);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => text(schema),
        Some("number" | "integer") => number(schema),
        Some("boolean") => json!(false),
        Some("null") => Value::Null,
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(0).min(MAX_SIZE);
            let items = (0..count)
                .map_while(|_| (*left > 0).then(|| value(&schema["items"], root, depth + 1, left)));
            Value::Array(items.collect())
        }
        Some("object") => object(schema, root, depth, left),
        _ if schema["properties"].is_object() => object(schema, root, depth, left),
        _ => json!("gosling"),
    }
}

/// Takes memory; nothing is left if there is not enough.
fn take(left: &mut usize, size: usize) -> bool {
    let is_enough = size <= *left;
    *left = left.saturating_sub(size);
    is_enough
}

/// A copy of a value in the schema, or null if it is too large.
fn copy(value: &Value, left: &mut usize) -> Value {
    let size = value.to_string().len();
    if take(left, size) {
        value.clone()
    } else {
        Value::Null
    }
}

fn object(schema: &Value, root: &Value, depth: usize, left: &mut usize) -> Value {
    let fields = required(schema).map_while(|name| {
        let property = &schema["properties"][name];
        take(left, name.len()).then(|| (name.to_owned(), value(property, root, depth + 1, left)))
    });
    Value::Object(fields.collect())
}

fn text(schema: &Value) -> Value {
    let text = match schema["format"].as_str() {
        Some("date-time") => "2025-06-18T12:00:00Z",
        Some("date") => "2025-06-18",
        Some("time") => "12:00:00Z",
        Some("email") => "gosling@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid") => "123e4567-e89b-12d3-a456-426614174000",
        _ => "gosling",
    };
    let least = schema["minLength"].as_u64().unwrap_or(0).min(MAX_SIZE) as usize;
    let most = schema["maxLength"].as_u64().unwrap_or(MAX_SIZE) as usize;
    let padded = format!("{text:g<least$}");
    json!(padded.chars().take(most.max(least)).collect::<String>())
}

fn number(schema: &Value) -> Value {
    let is_integer = schema["type"] == "integer";
    let least = schema["minimum"].as_f64();
    let least = least.or(schema["exclusiveMinimum"].as_f64().map(|it| it + 1.0));
    let most = schema["maximum"].as_f64();
    let most = most.or(schema["exclusiveMaximum"].as_f64().map(|it| it - 1.0));
    let mut number = least.unwrap_or(1.0).max(1.0_f64.min(most.unwrap_or(1.0)));
    if let Some(most) = most {
        number = number.min(most);
    }
    if is_integer || number.fract() == 0.0 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

#[cfg(test)]
mod tests;
