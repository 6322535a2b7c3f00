//! Arguments and the JSON Schema of their tool: obvious type errors are corrected, other mismatches are
//! reported. Nothing is refused: the server has the last word.

use gosling_text::json::kind_of;
use serde_json::{Map, Value};

/// The most mismatches that are reported.
const MAX_MISMATCHES: usize = 10;
/// The deepest schema that is followed.
const DEPTH: usize = 16;

/// Corrects values in `arguments` that have another type than `schema` demands, if the intended value is
/// obvious; `None` if there is nothing to correct.
///
/// Obvious are: a number, boolean, object or array written as a string where no string is allowed, and a
/// number or boolean where only a string is allowed.
pub fn coerce(schema: &Value, arguments: &Map<String, Value>) -> Option<Map<String, Value>> {
    match coerced(schema, schema, &Value::Object(arguments.clone()), DEPTH)? {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn coerced(root: &Value, schema: &Value, value: &Value, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let schema = resolve(root, schema, depth);
    let types = types(root, schema, depth);
    if !types.is_empty() && !types.iter().any(|kind| is_of(value, kind)) {
        return types.iter().find_map(|kind| meant(value, kind));
    }
    match value {
        Value::Object(map) => {
            let properties = schema.get("properties")?.as_object()?;
            let changed: Vec<_> = map
                .iter()
                .filter_map(|(name, value)| {
                    let schema = properties.get(name)?;
                    Some((name, coerced(root, schema, value, depth)?))
                })
                .collect();
            if changed.is_empty() {
                return None;
            }
            let mut map = map.clone();
            for (name, value) in changed {
                map.insert(name.clone(), value);
            }
            Some(Value::Object(map))
        }
        Value::Array(items) => {
            let schema = schema.get("items")?;
            let changed: Vec<_> = items
                .iter()
                .map(|item| coerced(root, schema, item, depth))
                .collect();
            if changed.iter().all(Option::is_none) {
                return None;
            }
            let items = items.iter().zip(changed);
            Some(
                items
                    .map(|(old, new)| new.unwrap_or_else(|| old.clone()))
                    .collect(),
            )
        }
        _ => None,
    }
}

/// `value` as `kind`, if it is obvious.
fn meant(value: &Value, kind: &str) -> Option<Value> {
    let read = |text: &str| {
        let value: Value = gosling_text::json::from_str(text.trim()).ok()?;
        is_of(&value, kind).then_some(value)
    };
    match (value, kind) {
        (Value::String(text), "boolean") => read(&text.trim().to_ascii_lowercase()),
        (Value::String(text), "number" | "integer" | "object" | "array") => read(text),
        (Value::Number(_) | Value::Bool(_), "string") => Some(Value::String(value.to_string())),
        // 3.0: some models write whole numbers so.
        (Value::Number(number), "integer") => {
            let whole = number
                .as_f64()
                .filter(|n| n.fract() == 0.0 && n.abs() < 9e15)?;
            Some(Value::from(whole as i64))
        }
        _ => None,
    }
}

/// The mismatches of `arguments` and `schema`, one sentence each.
pub fn mismatches(schema: &Value, arguments: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let value = Value::Object(arguments.clone());
    compare(schema, schema, &value, "", DEPTH, &mut found);
    found.truncate(MAX_MISMATCHES);
    found
}

fn compare(
    root: &Value,
    schema: &Value,
    value: &Value,
    path: &str,
    depth: usize,
    found: &mut Vec<String>,
) {
    let Some(depth) = depth
        .checked_sub(1)
        .filter(|_| found.len() < MAX_MISMATCHES)
    else {
        return;
    };
    let schema = resolve(root, schema, depth);
    let types = types(root, schema, depth);
    if !types.is_empty() && !types.iter().any(|kind| is_of(value, kind)) {
        let wanted = types.join(" or ");
        found.push(format!("`{path}` is {}, not {wanted}", kind_of(value)));
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed = Value::Array(allowed.clone()).to_string();
        let allowed: String = allowed.chars().take(200).collect();
        found.push(format!("`{path}` is not one of {allowed}"));
    }
    let within = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Object(map) => {
            let required = schema.get("required").and_then(Value::as_array);
            for name in required.into_iter().flatten().filter_map(Value::as_str) {
                if !map.contains_key(name) {
                    found.push(format!("`{}` is missing", within(name)));
                }
            }
            let properties = schema.get("properties").and_then(Value::as_object);
            let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            for (name, value) in map {
                match properties.and_then(|properties| properties.get(name)) {
                    Some(schema) => compare(root, schema, value, &within(name), depth, found),
                    None if closed => found.push(format!("`{}` is not known", within(name))),
                    None => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (n, item) in items.iter().enumerate() {
                    compare(root, schema, item, &format!("{path}[{n}]"), depth, found);
                }
            }
        }
        _ => {}
    }
}

/// Follows a local `$ref`.
fn resolve<'s>(root: &'s Value, schema: &'s Value, depth: usize) -> &'s Value {
    let mut schema = schema;
    for _ in 0..depth {
        let target = schema.get("$ref").and_then(Value::as_str);
        match target.and_then(|target| root.pointer(target.strip_prefix('#')?)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// The allowed types; empty if any type is allowed. A nested choice counts as any type, because following
/// nested choices could take exponential time.
fn types<'s>(root: &'s Value, schema: &'s Value, depth: usize) -> Vec<&'s str> {
    let named = |schema: &'s Value| match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let own = named(schema);
    if !own.is_empty() {
        return own;
    }
    let branches = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(key)?.as_array());
    let mut all = Vec::new();
    for branch in branches.into_iter().flatten() {
        let kinds = named(resolve(root, branch, depth));
        if kinds.is_empty() {
            return Vec::new();
        }
        all.extend(kinds);
    }
    all
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        // An unknown type; the server checks it.
        _ => true,
    }
}

#[cfg(test)]
mod tests;
