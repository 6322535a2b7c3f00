//! Reads a document as a schema: checks that every keyword makes sense, and follows references.

use super::place::Place;
use super::{QUOTED, SchemaFault};
use gosling_text::printable;
use serde_json::Value;
use std::collections::HashSet;

/// Keywords that assert something and are not checked: two need regular expressions, the third is of older drafts.
pub(super) const UNCHECKED: [&str; 3] = ["pattern", "patternProperties", "dependencies"];
/// The most schemas in a document, and how deep they are nested.
pub(super) const MAX_SCHEMAS: usize = 10_000;
const MAX_NESTING: usize = 64;
/// The most places of unchecked keywords that are listed.
const MAX_LISTED: usize = 10;

/// What the value of a keyword must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeywordKind {
    Schema,
    /// A list of at least one schema.
    Schemas,
    /// A schema, or the older list of schemas.
    Items,
    /// An object of schemas.
    SchemaMap,
    Number,
    /// A number greater than zero.
    Positive,
    /// A whole number from zero.
    Count,
    Flag,
    List,
    Texts,
    /// An object of lists of texts.
    TextsMap,
    /// The name of a type, or a list of such.
    Types,
    Reference,
    Anchor,
    /// The name of a document.
    Id,
    /// The name of a dialect.
    Dialect,
    Unchecked,
}

const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "integer", "string",
];

fn kind_of_keyword(keyword: &str) -> Option<KeywordKind> {
    Some(match keyword {
        "items" => KeywordKind::Items,
        "additionalItems"
        | "contains"
        | "additionalProperties"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else" => KeywordKind::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordKind::Schemas,
        "properties" | "dependentSchemas" | "$defs" | "definitions" => KeywordKind::SchemaMap,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => KeywordKind::Number,
        "multipleOf" => KeywordKind::Positive,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains"
        | "minProperties" | "maxProperties" => KeywordKind::Count,
        "uniqueItems" => KeywordKind::Flag,
        "enum" => KeywordKind::List,
        "required" => KeywordKind::Texts,
        "dependentRequired" => KeywordKind::TextsMap,
        "type" => KeywordKind::Types,
        "$ref" | "$dynamicRef" => KeywordKind::Reference,
        "$anchor" | "$dynamicAnchor" => KeywordKind::Anchor,
        "$id" => KeywordKind::Id,
        "$schema" => KeywordKind::Dialect,
        keyword if UNCHECKED.contains(&keyword) => KeywordKind::Unchecked,
        _ => return None,
    })
}

/// What is found in a schema.
pub(super) struct Summary {
    /// How many schemas it contains.
    pub(super) schemas: usize,
    /// The places of keywords that are not checked.
    pub(super) unchecked: Vec<String>,
}

/// Checks that a document is a schema.
///
/// # Errors
/// The first place that makes no sense.
pub(super) fn check(root: &Value) -> Result<Summary, SchemaFault> {
    let mut checker = Checker {
        root,
        seen: HashSet::new(),
        references: Vec::new(),
        unchecked: Vec::new(),
    };
    checker.check(root, &Place::ROOT, MAX_NESTING)?;
    // A reference may lead to a place that is no schema otherwise, where there are more references.
    while let Some((reference, pointer)) = checker.references.pop() {
        let at = |reason: String| SchemaFault {
            pointer: pointer.clone(),
            reason,
        };
        let quoted = printable(reference, QUOTED);
        let target = resolve(root, reference).ok_or_else(|| {
            at(format!(
                "refers to {quoted:?}, which is not a place in this schema"
            ))
        })?;
        let checked = checker.check(target, &Place::ROOT, MAX_NESTING);
        checked.map_err(|fault| at(format!("refers to {quoted:?}, where {fault}")))?;
    }
    Ok(Summary {
        schemas: checker.seen.len(),
        unchecked: checker.unchecked,
    })
}

struct Checker<'s> {
    root: &'s Value,
    /// The schemas that were checked, by their addresses.
    seen: HashSet<*const Value>,
    /// References that were not followed yet, with their places.
    references: Vec<(&'s str, String)>,
    unchecked: Vec<String>,
}

impl<'s> Checker<'s> {
    fn check(
        &mut self,
        schema: &'s Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), SchemaFault> {
        if !self.seen.insert(schema) {
            return Ok(());
        }
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return Err(place.fault("is not a schema: neither an object nor a boolean")),
        };
        if self.seen.len() > MAX_SCHEMAS {
            let reason = format!("is one of more than {MAX_SCHEMAS} schemas");
            return Err(place.fault(reason));
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Err(place.fault(format!("is nested more than {MAX_NESTING} deep")));
        };
        for (keyword, value) in keywords {
            if let Some(kind) = kind_of_keyword(keyword) {
                self.check_keyword(kind, value, &place.name(keyword), depth)?;
            }
        }
        Ok(())
    }

    fn check_keyword(
        &mut self,
        kind: KeywordKind,
        value: &'s Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), SchemaFault> {
        match (kind, value) {
            (KeywordKind::Schemas | KeywordKind::Items, Value::Array(list)) if !list.is_empty() => {
                for (n, schema) in list.iter().enumerate() {
                    self.check(schema, &place.index(n), depth)?;
                }
                return Ok(());
            }
            (KeywordKind::Schema | KeywordKind::Items, _) => {
                return self.check(value, place, depth);
            }
            (KeywordKind::SchemaMap, Value::Object(map)) => {
                for (name, schema) in map {
                    self.check(schema, &place.name(name), depth)?;
                }
                return Ok(());
            }
            (KeywordKind::Reference, Value::String(reference)) => {
                self.references.push((reference, place.pointer()));
                return Ok(());
            }
            (KeywordKind::Unchecked, _) => {
                if self.unchecked.len() < MAX_LISTED {
                    self.unchecked.push(place.pointer());
                }
                return Ok(());
            }
            _ => {}
        }
        let is_text = |value: &Value| value.is_string();
        let are_texts = |value: &Value| {
            value
                .as_array()
                .is_some_and(|list| list.iter().all(is_text))
        };
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        let (is_valid, expected) = match kind {
            KeywordKind::Number => (value.is_number(), "a number"),
            KeywordKind::Positive => (
                value.as_f64().is_some_and(|number| number > 0.0),
                "a number greater than zero",
            ),
            KeywordKind::Count => (count(value).is_some(), "a whole number from zero"),
            KeywordKind::Flag => (value.is_boolean(), "true or false"),
            KeywordKind::List => (value.is_array(), "a list"),
            KeywordKind::Texts => (are_texts(value), "a list of names"),
            KeywordKind::TextsMap => (
                value
                    .as_object()
                    .is_some_and(|map| map.values().all(are_texts)),
                "an object of lists of names",
            ),
            KeywordKind::Types => (
                match value {
                    Value::Array(list) => !list.is_empty() && list.iter().all(is_type),
                    value => is_type(value),
                },
                "a type or a list of types: null, boolean, object, array, number, integer, string",
            ),
            KeywordKind::Anchor => (is_text(value), "a name"),
            // References within it would start there.
            KeywordKind::Id => {
                let is_root = self
                    .root
                    .get("$id")
                    .is_some_and(|id| std::ptr::eq(id, value));
                (
                    is_text(value) && is_root,
                    "absent here: documents within a document are not supported",
                )
            }
            KeywordKind::Dialect => (
                value.as_str().is_some_and(is_known_dialect),
                "a dialect of json-schema.org, such as https://json-schema.org/draft/2020-12/schema",
            ),
            KeywordKind::Schemas => (false, "a list of schemas that is not empty"),
            KeywordKind::SchemaMap => (false, "an object of schemas"),
            KeywordKind::Reference => (false, "a reference"),
            KeywordKind::Schema | KeywordKind::Items | KeywordKind::Unchecked => (true, ""),
        };
        if is_valid {
            Ok(())
        } else {
            Err(place.fault(format!("must be {expected}")))
        }
    }
}

/// Whether a schema of this dialect is read as one of draft 2020-12. Other dialects may give keywords another
/// meaning.
fn is_known_dialect(uri: &str) -> bool {
    ["https://json-schema.org/", "http://json-schema.org/"]
        .iter()
        .any(|start| uri.starts_with(start))
}

/// The schema that a reference names, within the document.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    let fragment = percent_encoding::percent_decode_str(fragment);
    let fragment = fragment.decode_utf8().ok()?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&fragment);
    }
    anchored(root, &fragment, MAX_NESTING)
}

/// The schema with this anchor.
fn anchored<'s>(schema: &'s Value, anchor: &str, depth: usize) -> Option<&'s Value> {
    let depth = depth.checked_sub(1)?;
    let is_named = |keyword: &str| schema.get(keyword).and_then(Value::as_str) == Some(anchor);
    if is_named("$anchor") || is_named("$dynamicAnchor") {
        return Some(schema);
    }
    subschemas(schema).find_map(|schema| anchored(schema, anchor, depth))
}

/// The schemas directly within a schema.
fn subschemas(schema: &Value) -> impl Iterator<Item = &Value> {
    let keywords = schema.as_object().into_iter().flatten();
    keywords.flat_map(|(keyword, value)| {
        let inner: Vec<&Value> = match (kind_of_keyword(keyword), value) {
            (Some(KeywordKind::Schemas | KeywordKind::Items), Value::Array(list)) => {
                list.iter().collect()
            }
            (Some(KeywordKind::Schema | KeywordKind::Items), schema) => vec![schema],
            (Some(KeywordKind::SchemaMap), Value::Object(map)) => map.values().collect(),
            _ => Vec::new(),
        };
        inner
    })
}

/// A whole number from zero, also if it is written as 2.0.
pub(super) fn count(value: &Value) -> Option<u64> {
    let whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0 && *number < 1e18;
    (value.as_u64()).or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
}
