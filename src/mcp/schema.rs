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
mod tests {
    use super::*;
    use gosling_testing::property_testing::{any_json, check};
    use serde_json::json;

    fn coerce(schema: &Value, arguments: Value) -> Option<Value> {
        super::coerce(schema, arguments.as_object().unwrap()).map(Value::Object)
    }

    fn typed(kind: Value) -> Value {
        json!({"type": "object", "properties": {"a": {"type": kind}}})
    }

    #[test]
    fn what_is_obviously_meant_is_put_right() {
        for (kind, sent, meant) in [
            (json!("integer"), json!("17"), json!(17)),
            (json!("integer"), json!(17.0), json!(17)),
            (json!("number"), json!(" -2.5e3 "), json!(-2500.0)),
            (json!("boolean"), json!("True"), json!(true)),
            (json!("object"), json!("{\"b\": 1}"), json!({"b": 1})),
            (json!("array"), json!("[1, 2]"), json!([1, 2])),
            (json!("string"), json!(5), json!("5")),
            (json!(["integer", "null"]), json!("5"), json!(5)),
        ] {
            let coerced = coerce(&typed(kind), json!({"a": sent, "b": "5"}));
            assert_eq!(coerced, Some(json!({"a": meant, "b": "5"})));
        }
    }

    #[test]
    fn what_fits_or_is_not_obvious_stays() {
        for (kind, sent) in [
            (json!("string"), json!("17")),
            (json!("integer"), json!("seventeen")),
            (json!("integer"), json!(1.5)),
            (json!("integer"), json!("1.5")),
            (json!("boolean"), json!("yes")),
            (json!("object"), json!("[1]")),
            (json!(["string", "integer"]), json!("17")),
            (json!("hologram"), json!("17")),
            (json!("integer"), json!(null)),
        ] {
            assert_eq!(coerce(&typed(kind), json!({"a": sent})), None, "{sent}");
        }
        assert_eq!(coerce(&json!({}), json!({"a": "1"})), None);
        assert_eq!(coerce(&json!(true), json!({"a": "1"})), None);
    }

    #[test]
    fn it_looks_inside_and_behind_references() {
        let schema = json!({
            "properties": {
                "list": {"type": "array", "items": {"$ref": "#/$defs/n"}},
                "any": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "loop": {"$ref": "#/$defs/loop"},
            },
            "$defs": {"n": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
        });
        let sent = json!({"list": [1, "2"], "any": "3", "loop": "4"});
        let meant = json!({"list": [1, 2], "any": 3, "loop": "4"});
        assert_eq!(coerce(&schema, sent), Some(meant));
    }

    #[test]
    fn a_schema_that_branches_at_every_level_costs_no_more_than_its_size() {
        let level = |n: usize| json!({"anyOf": vec![json!({"$ref": format!("#/$defs/{n}")}); 50]});
        let defs: Map<String, Value> = (0..12).map(|n| (n.to_string(), level(n + 1))).collect();
        let mut schema = json!({"properties": {"a": level(0)}, "$defs": defs});
        schema["$defs"]["12"] = json!({"type": "integer"});
        assert_eq!(coerce(&schema, json!({"a": "3"})), None);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let schema = json!({
            "required": ["a", "b"],
            "additionalProperties": false,
            "properties": {
                "a": {"type": "integer"},
                "c": {"enum": ["x", "y"]},
                "d": {"properties": {"e": {"type": "string"}}},
            },
        });
        let sent = json!({"a": "one", "c": "z", "d": {"e": []}, "f": 1});
        assert_eq!(
            mismatches(&schema, sent.as_object().unwrap()),
            [
                "`b` is missing",
                "`a` is a string, not integer",
                "`c` is not one of [\"x\",\"y\"]",
                "`d.e` is an array, not string",
                "`f` is not known",
            ]
        );
        let fits = json!({"a": 1, "b": 2, "c": "x"});
        let mut open = schema;
        open["additionalProperties"] = json!(true);
        assert!(mismatches(&open, fits.as_object().unwrap()).is_empty());
    }

    #[test]
    fn any_schema_and_arguments_do_no_harm_and_what_was_put_right_stays_so() {
        const WORDS: [&str; 20] = [
            "type",
            "properties",
            "items",
            "required",
            "enum",
            "anyOf",
            "oneOf",
            "$ref",
            "#",
            "#/properties/a",
            "string",
            "integer",
            "number",
            "boolean",
            "array",
            "object",
            "null",
            "17",
            "a",
            "[1]",
        ];
        check(|u| {
            let mut schema = any_json(u, &WORDS, 5)?;
            let arguments = any_json(u, &WORDS, 4)?;
            let Value::Object(arguments) = arguments else {
                return Ok(());
            };
            if u.ratio(1, 2)? {
                let names = arguments.keys().cloned();
                let schemas: Result<Map<String, Value>, _> = names
                    .map(|name| {
                        let kind = *u.choose(&WORDS[10..17])?;
                        Ok((name, json!({"type": kind, "items": {"type": "integer"}})))
                    })
                    .collect();
                schema = json!({"type": "object", "properties": schemas?});
            }
            assert!(mismatches(&schema, &arguments).len() <= MAX_MISMATCHES);
            if let Some(meant) = super::coerce(&schema, &arguments) {
                assert_ne!(meant, arguments);
                assert!(meant.keys().eq(arguments.keys()));
                assert_eq!(
                    super::coerce(&schema, &meant),
                    None,
                    "{schema} {arguments:?}"
                );
            }
            Ok(())
        });
    }
}
