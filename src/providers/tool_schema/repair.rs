//! Makes a schema hold the rules. What only restricts a value may get lost: the tool's server checks the arguments
//! itself.

use super::scan::NOT_AT_TOP;
use super::{MAX_SCHEMA, SchemaRules};
use crate::tool_result_conversion::hash64;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The length of the hash at the end of a property's new name, with an underscore before it.
const HASH_LENGTH: usize = 9;

/// A schema that holds the rules.
#[derive(Debug)]
pub(crate) struct Repaired {
    pub(crate) schema: Box<RawValue>,
    /// The properties with another name, each with its own one.
    pub(crate) renamed: BTreeMap<String, String>,
    /// What the schema says no more, for the tool's description; empty if there is nothing.
    pub(crate) note: String,
}

/// The schema so that it holds the rules.
///
/// # Errors
/// Why it cannot, after the name of the tool.
pub(crate) fn repaired(schema: &str, rules: &SchemaRules) -> Result<Repaired, &'static str> {
    if schema.len() > MAX_SCHEMA {
        return Err("its schema is larger than 256 KiB");
    }
    let mut schema: Value =
        crate::json::from_str(schema).map_err(|_| "its schema is nested too deeply, or no JSON")?;
    let mut repair = Repair {
        rules,
        renamed: BTreeMap::new(),
    };
    let note = match &mut schema {
        Value::Object(fields) => merge_alternatives(fields),
        other => {
            *other = json!({});
            String::new()
        }
    };
    repair.node(&mut schema, true);
    let schema = serde_json::value::to_raw_value(&schema);
    Ok(Repaired {
        schema: schema.map_err(|_| "its schema cannot be written")?,
        renamed: repair.renamed,
        note,
    })
}

/// The arguments of a call with the properties' own names; `None` if they are not JSON.
pub(crate) fn renamed_arguments(
    arguments: &str,
    renamed: &BTreeMap<String, String>,
) -> Option<Box<RawValue>> {
    let mut arguments: Value = crate::json::from_str(arguments).ok()?;
    rename(&mut arguments, renamed);
    serde_json::value::to_raw_value(&arguments).ok()
}

fn rename(value: &mut Value, renamed: &BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, mut value) in std::mem::take(fields) {
                rename(&mut value, renamed);
                let name = renamed.get(&name).cloned().unwrap_or(name);
                fields.insert(name, value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, renamed)),
        _ => {}
    }
}

struct Repair<'r> {
    rules: &'r SchemaRules,
    renamed: BTreeMap<String, String>,
}

impl Repair<'_> {
    /// Repairs a schema. The JSON parser has limited its depth.
    fn node(&mut self, schema: &mut Value, is_top: bool) {
        if schema.is_boolean() && !is_top {
            return;
        }
        if !schema.is_object() {
            *schema = json!({});
        }
        let Value::Object(fields) = schema else {
            return;
        };
        if is_top {
            for keyword in NOT_AT_TOP {
                fields.remove(keyword);
            }
            fields.insert("type".to_owned(), "object".into());
        } else {
            repair_type(fields);
        }
        for keyword in [
            "properties",
            "$defs",
            "definitions",
            "patternProperties",
            "dependentSchemas",
        ] {
            if let Some(schemas) = fields.get_mut(keyword) {
                self.named(schemas, keyword == "properties");
            }
        }
        if is_top {
            fields.entry("properties").or_insert_with(|| json!({}));
        }
        self.required(fields);
        for keyword in [
            "items",
            "prefixItems",
            "additionalProperties",
            "additionalItems",
            "contains",
            "not",
            "if",
            "then",
            "else",
            "propertyNames",
            "anyOf",
            "oneOf",
            "allOf",
        ] {
            match fields.get_mut(keyword) {
                Some(Value::Array(schemas)) => {
                    schemas.iter_mut().for_each(|it| self.node(it, false));
                }
                Some(schema) => self.node(schema, false),
                None => {}
            }
        }
        let has_array = match fields.get("type") {
            Some(Value::Array(types)) => types.iter().any(|it| it == "array"),
            Some(kind) => kind == "array",
            None => false,
        };
        if has_array {
            fields.entry("items").or_insert_with(|| json!({}));
        }
    }

    fn named(&mut self, schemas: &mut Value, are_arguments: bool) {
        let Value::Object(named) = schemas else {
            *schemas = json!({});
            return;
        };
        for (name, mut schema) in std::mem::take(named) {
            self.node(&mut schema, false);
            let name = if are_arguments { self.name(name) } else { name };
            named.insert(name, schema);
        }
    }

    fn required(&mut self, fields: &mut Map<String, Value>) {
        let Some(required) = fields.get_mut("required") else {
            return;
        };
        let Value::Array(names) = required else {
            fields.remove("required");
            return;
        };
        let names = names.iter().filter_map(Value::as_str);
        let names: Vec<Value> = names
            .map(|name| self.name(name.to_owned()).into())
            .collect();
        *required = names.into();
    }

    /// The name of a property as the provider accepts it.
    fn name(&mut self, name: String) -> String {
        let Some((marks, length)) = self.rules.property_names else {
            return name;
        };
        if self.rules.accepts_name(&name) {
            return name;
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
        let start = name.chars().take(length.saturating_sub(HASH_LENGTH));
        let mut encoded: String = start.map(|c| if fits(c) { c } else { '_' }).collect();
        let hash = hash64(name.bytes()) as u32;
        encoded.push_str(&format!("_{hash:08x}"));
        self.renamed.insert(encoded.clone(), name);
        encoded
    }
}

/// Replaces a list of one type by the type, and removes what is not a type.
fn repair_type(fields: &mut Map<String, Value>) {
    let Some(kind) = fields.get_mut("type") else {
        return;
    };
    if let Value::Array(types) = kind {
        types.retain(Value::is_string);
        if types.len() < 2 {
            *kind = types.pop().unwrap_or_default();
        }
    }
    if !(kind.is_string() || kind.is_array()) {
        fields.remove("type");
    }
}

/// Makes one object of alternatives at the top, which no provider accepts: with the properties of all. Returns what
/// the alternatives require.
fn merge_alternatives(fields: &mut Map<String, Value>) -> String {
    let definitions = ["$defs", "definitions"].map(|name| fields.get(name).cloned());
    let mut note = Vec::new();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(parts)) = fields.remove(keyword) else {
            continue;
        };
        let parts = parts.into_iter().map(|part| resolved(part, &definitions));
        let parts: Vec<Map<String, Value>> = parts.collect();
        let mut choices = Vec::new();
        for part in &parts {
            if let Some(Value::Object(more)) = part.get("properties") {
                let properties = fields.entry("properties").or_insert_with(|| json!({}));
                if let Value::Object(properties) = properties {
                    for (name, schema) in more {
                        properties.entry(name).or_insert_with(|| schema.clone());
                    }
                }
            }
            choices.push(required_of(part));
        }
        let all = keyword == "allOf";
        let required = fields.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            for name in choices.iter().flatten() {
                let is_common = all || choices.iter().all(|choice| choice.contains(name));
                let name = Value::from(name.clone());
                if is_common && !required.contains(&name) {
                    required.push(name);
                }
            }
        }
        choices.retain(|choice| !choice.is_empty());
        if !all && choices.len() > 1 {
            let choices: Vec<String> = choices
                .iter()
                .map(|it| format!("({})", it.join(", ")))
                .collect();
            note.push(format!(
                "Give one of these sets of arguments: {}.",
                choices.join(" or ")
            ));
        }
    }
    note.join(" ")
}

/// The part that a reference to a definition means, or the part itself; empty if it is not an object.
fn resolved(part: Value, definitions: &[Option<Value>; 2]) -> Map<String, Value> {
    let target = part["$ref"].as_str().and_then(|reference| {
        let name = reference.rsplit('/').next()?;
        definitions.iter().flatten().find_map(|all| all.get(name))
    });
    match target.cloned().unwrap_or(part) {
        Value::Object(part) => part,
        _ => Map::new(),
    }
}

fn required_of(part: &Map<String, Value>) -> Vec<String> {
    let names = part.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}
