//! Validation of a JSON value against a JSON Schema. Pure; schemas and values are hostile input.
//!
//! Draft 2020-12 (json-schema.org), for schemas in one document:
//!
//! - any type: `type`, `enum`, `const`, `allOf`, `anyOf`, `oneOf`, `not`, `if`/`then`/`else`, `$ref` to a place
//!   or an anchor in the same document
//! - numbers: `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`
//! - strings: `minLength`, `maxLength`
//! - arrays: `items`, `prefixItems`, `contains`, `minContains`, `maxContains`, `minItems`, `maxItems`,
//!   `uniqueItems`; also the older `items` with a list, and `additionalItems`
//! - objects: `properties`, `required`, `additionalProperties`, `propertyNames`, `minProperties`,
//!   `maxProperties`, `dependentRequired`, `dependentSchemas`
//!
//! `format` and the other annotations assert nothing, and unknown keywords are ignored, as the standard says.
//! Keywords of the standard that are not checked ([`UNCHECKED`]) count as satisfied, and [`Schema::unchecked`]
//! lists their places. A schema that makes no sense, or refers to another document, is refused.
//!
//! Of the official JSON-Schema-Test-Suite for draft 2020-12 (1,299 tests), 1,089 pass and 115 have schemas that
//! are refused for their references to other documents. In the other 95, the schema uses an unchecked keyword or,
//! once, a vocabulary of its own.

use crate::text::printable;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt::{self, Write};
use std::io;

/// Keywords that assert something and are not checked, since they need regular expressions or annotations.
pub(crate) const UNCHECKED: [&str; 6] = [
    "pattern",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "dependencies",
];
/// The most schemas in a document, and how deep they are nested.
const MAX_SCHEMAS: usize = 10_000;
const MAX_NESTING: usize = 64;
/// The most places of unchecked keywords that are listed.
const MAX_LISTED: usize = 10;
/// The most work for one value: a unit is one keyword that is applied, or one comparison of two values.
const MAX_WORK: usize = 1_000_000;
/// How deep schemas are applied within each other, references included.
const MAX_DEPTH: usize = 256;
/// The most faults that are reported.
const MAX_FAULTS: usize = 20;
/// How much of a name is quoted, in characters, and of a value, in bytes.
const QUOTED: usize = 80;
const MAX_QUOTE: usize = 160;
/// How long a pointer may become, in bytes.
const MAX_POINTER: usize = 1_000;

/// A schema that makes sense.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    root: Value,
    /// How many schemas it contains.
    schemas: usize,
    unchecked: Vec<String>,
}

/// Something wrong at one place of a schema or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The place, as a JSON pointer (RFC 6901); empty for the whole.
    pub(crate) pointer: String,
    /// What is wrong there, to be read after the place.
    pub(crate) reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "the whole value {}", self.reason),
            pointer => write!(f, "`{pointer}` {}", self.reason),
        }
    }
}

/// What the value of a keyword must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
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
    Unchecked,
}

const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "integer", "string",
];

fn kind_of_keyword(keyword: &str) -> Option<Kind> {
    Some(match keyword {
        "items" => Kind::Items,
        "additionalItems"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else" => Kind::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Kind::Schemas,
        "properties" | "dependentSchemas" | "$defs" | "definitions" => Kind::SchemaMap,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Kind::Number,
        "multipleOf" => Kind::Positive,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains"
        | "minProperties" | "maxProperties" => Kind::Count,
        "uniqueItems" => Kind::Flag,
        "enum" => Kind::List,
        "required" => Kind::Texts,
        "dependentRequired" => Kind::TextsMap,
        "type" => Kind::Types,
        "$ref" => Kind::Reference,
        "$anchor" => Kind::Anchor,
        "$id" => Kind::Id,
        keyword if UNCHECKED.contains(&keyword) => Kind::Unchecked,
        _ => return None,
    })
}

/// A place in a document, as a list from the innermost step outwards.
#[derive(Clone, Copy)]
struct Place<'p>(Option<(&'p Place<'p>, Step<'p>)>);

#[derive(Clone, Copy)]
enum Step<'p> {
    Name(&'p str),
    Index(usize),
}

impl<'p> Place<'p> {
    const ROOT: Place<'static> = Place(None);

    fn name(&'p self, name: &'p str) -> Place<'p> {
        Place(Some((self, Step::Name(name))))
    }

    fn index(&'p self, index: usize) -> Place<'p> {
        Place(Some((self, Step::Index(index))))
    }

    fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut place = self;
        while let Some((outer, step)) = &place.0 {
            steps.push(step);
            place = outer;
        }
        let mut pointer = String::new();
        for step in steps.iter().rev() {
            let _ = match step {
                Step::Index(index) => write!(pointer, "/{index}"),
                Step::Name(name) => {
                    let name = printable(name, MAX_POINTER);
                    write!(pointer, "/{}", name.replace('~', "~0").replace('/', "~1"))
                }
            };
            if pointer.len() > MAX_POINTER {
                pointer.push('…');
                break;
            }
        }
        pointer
    }

    fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault {
            pointer: self.pointer(),
            reason: reason.into(),
        }
    }
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// The first place in the schema that makes no sense.
    pub(crate) fn new(root: Value) -> Result<Self, Fault> {
        let mut checker = Checker {
            root: &root,
            seen: HashSet::new(),
            references: Vec::new(),
            unchecked: Vec::new(),
        };
        checker.check(&root, &Place::ROOT, MAX_NESTING)?;
        // A reference may lead to a place that is no schema otherwise, where there are more references.
        while let Some((reference, pointer)) = checker.references.pop() {
            let at = |reason: String| Fault {
                pointer: pointer.clone(),
                reason,
            };
            let quoted = printable(reference, QUOTED);
            let target = resolve(&root, reference).ok_or_else(|| {
                at(format!(
                    "refers to {quoted:?}, which is not a place in this schema"
                ))
            })?;
            let checked = checker.check(target, &Place::ROOT, MAX_NESTING);
            checked.map_err(|fault| at(format!("refers to {quoted:?}, where {fault}")))?;
        }
        let (schemas, unchecked) = (checker.seen.len(), checker.unchecked);
        Ok(Schema {
            root,
            schemas,
            unchecked,
        })
    }

    /// The places of keywords that are not checked.
    pub(crate) fn unchecked(&self) -> &[String] {
        &self.unchecked
    }

    /// The schema as it was given.
    pub(crate) fn as_value(&self) -> &Value {
        &self.root
    }

    /// The faults of `value`, at most [`MAX_FAULTS`]; none if it is valid. A value that takes too much work to
    /// check has a fault.
    pub(crate) fn faults(&self, value: &Value) -> Vec<Fault> {
        let mut validation = Validation {
            root: &self.root,
            schemas: self.schemas,
            work: MAX_WORK,
            depth: MAX_DEPTH,
            faults: Vec::new(),
            most: MAX_FAULTS,
        };
        validation.apply(&self.root, value, &Place::ROOT);
        if validation.work == 0 {
            return vec![Place::ROOT.fault("takes too much work to check against the schema")];
        }
        validation.faults
    }
}

/// The schema that a reference names, within the document.
fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    let fragment = percent_encoding::percent_decode_str(fragment);
    let fragment = fragment.decode_utf8().ok()?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&fragment);
    }
    anchored(root, &fragment, MAX_NESTING)
}

/// The schema with this `$anchor`.
fn anchored<'s>(schema: &'s Value, anchor: &str, depth: usize) -> Option<&'s Value> {
    let depth = depth.checked_sub(1)?;
    if schema.get("$anchor").and_then(Value::as_str) == Some(anchor) {
        return Some(schema);
    }
    subschemas(schema).find_map(|schema| anchored(schema, anchor, depth))
}

/// The schemas directly within a schema.
fn subschemas(schema: &Value) -> impl Iterator<Item = &Value> {
    let keywords = schema.as_object().into_iter().flatten();
    keywords.flat_map(|(keyword, value)| {
        let inner: Vec<&Value> = match (kind_of_keyword(keyword), value) {
            (Some(Kind::Schemas | Kind::Items), Value::Array(list)) => list.iter().collect(),
            (Some(Kind::Schema | Kind::Items), schema) => vec![schema],
            (Some(Kind::SchemaMap), Value::Object(map)) => map.values().collect(),
            _ => Vec::new(),
        };
        inner
    })
}

/// Checks that a document is a schema.
struct Checker<'s> {
    root: &'s Value,
    /// The schemas that were checked, by their addresses.
    seen: HashSet<*const Value>,
    /// References that were not followed yet, with their places.
    references: Vec<(&'s str, String)>,
    unchecked: Vec<String>,
}

impl<'s> Checker<'s> {
    fn check(&mut self, schema: &'s Value, place: &Place<'_>, depth: usize) -> Result<(), Fault> {
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
        kind: Kind,
        value: &'s Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), Fault> {
        match (kind, value) {
            (Kind::Schemas | Kind::Items, Value::Array(list)) if !list.is_empty() => {
                for (n, schema) in list.iter().enumerate() {
                    self.check(schema, &place.index(n), depth)?;
                }
                return Ok(());
            }
            (Kind::Schema | Kind::Items, _) => return self.check(value, place, depth),
            (Kind::SchemaMap, Value::Object(map)) => {
                for (name, schema) in map {
                    self.check(schema, &place.name(name), depth)?;
                }
                return Ok(());
            }
            (Kind::Reference, Value::String(reference)) => {
                self.references.push((reference, place.pointer()));
                return Ok(());
            }
            (Kind::Unchecked, _) => {
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
            Kind::Number => (value.is_number(), "a number"),
            Kind::Positive => (
                value.as_f64().is_some_and(|number| number > 0.0),
                "a number greater than zero",
            ),
            Kind::Count => (count(value).is_some(), "a whole number from zero"),
            Kind::Flag => (value.is_boolean(), "true or false"),
            Kind::List => (value.is_array(), "a list"),
            Kind::Texts => (are_texts(value), "a list of names"),
            Kind::TextsMap => (
                value
                    .as_object()
                    .is_some_and(|map| map.values().all(are_texts)),
                "an object of lists of names",
            ),
            Kind::Types => (
                match value {
                    Value::Array(list) => !list.is_empty() && list.iter().all(is_type),
                    value => is_type(value),
                },
                "a type or a list of types: null, boolean, object, array, number, integer, string",
            ),
            Kind::Anchor => (is_text(value), "a name"),
            // References within it would start there.
            Kind::Id => {
                let is_root = self
                    .root
                    .get("$id")
                    .is_some_and(|id| std::ptr::eq(id, value));
                (
                    is_text(value) && is_root,
                    "absent here: documents within a document are not supported",
                )
            }
            Kind::Schemas => (false, "a list of schemas that is not empty"),
            Kind::SchemaMap => (false, "an object of schemas"),
            Kind::Reference => (false, "a reference"),
            Kind::Schema | Kind::Items | Kind::Unchecked => (true, ""),
        };
        if is_valid {
            Ok(())
        } else {
            Err(place.fault(format!("must be {expected}")))
        }
    }
}

/// A whole number from zero, also if it is written as 2.0.
fn count(value: &Value) -> Option<u64> {
    let whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0 && *number < 1e18;
    (value.as_u64()).or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
}

/// One validation.
struct Validation<'s> {
    root: &'s Value,
    schemas: usize,
    /// The work that is left; 0 if it was too much.
    work: usize,
    /// How much deeper schemas may be applied.
    depth: usize,
    faults: Vec<Fault>,
    /// It stops when there are so many faults.
    most: usize,
}

impl<'s> Validation<'s> {
    fn apply(&mut self, schema: &'s Value, value: &Value, place: &Place<'_>) {
        let keywords = match schema {
            Value::Bool(false) => return self.fault(place, "is not allowed"),
            Value::Object(keywords) => keywords,
            _ => return,
        };
        if self.depth == 0 || !self.work(1) {
            self.work = 0;
            return;
        }
        self.depth -= 1;
        for (keyword, argument) in keywords {
            if !self.work(1) || self.faults.len() >= self.most {
                break;
            }
            self.logic(keyword, argument, keywords, value, place);
            match value {
                Value::Object(object) => {
                    self.object(keyword, argument, keywords, object, place);
                }
                Value::Array(list) => self.array(keyword, argument, keywords, list, place),
                Value::String(text) => self.text(keyword, argument, text, place),
                Value::Number(number) => self.number(keyword, argument, number, place),
                Value::Null | Value::Bool(_) => {}
            }
        }
        self.depth += 1;
    }

    /// Takes work from the budget; false if it is used up.
    fn work(&mut self, units: usize) -> bool {
        self.work = self.work.saturating_sub(units);
        self.work > 0
    }

    /// The member with this name.
    fn lookup<'v>(&mut self, object: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
        self.work(1 + name.len() / 64);
        object.get(name)
    }

    /// The start of a value as JSON. Serializing a long string scans all of it.
    fn quote(&mut self, value: &Value) -> String {
        self.work(weight(value));
        if self.work == 0 {
            return String::new();
        }
        quoted(value)
    }

    fn fault(&mut self, place: &Place<'_>, reason: impl Into<String>) {
        self.faults.push(place.fault(reason));
    }

    /// The first fault of `value`, which is not reported.
    fn try_schema(&mut self, schema: &'s Value, value: &Value, place: &Place<'_>) -> Option<Fault> {
        let (before, most) = (self.faults.len(), self.most);
        self.most = before + 1;
        self.apply(schema, value, place);
        self.most = most;
        self.faults.drain(before..).next()
    }

    /// The keywords for values of any type.
    fn logic(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        keywords: &'s Map<String, Value>,
        value: &Value,
        place: &Place<'_>,
    ) {
        match keyword {
            "type" => self.types(argument, value, place),
            "const" if !self.same(argument, value) => {
                let quote = self.quote(argument);
                self.fault(place, format!("is not {quote}"));
            }
            "enum" => {
                let allowed = argument.as_array().into_iter().flatten();
                if !allowed.into_iter().any(|allowed| self.same(allowed, value)) {
                    let quote = self.quote(argument);
                    self.fault(place, format!("is none of {quote}"));
                }
            }
            "$ref" => {
                let reference = argument.as_str().unwrap_or_default();
                // An anchor is searched for in the whole schema.
                let is_anchor = !reference.starts_with("#/");
                self.work(reference.len() + if is_anchor { self.schemas } else { 0 });
                if let Some(target) = resolve(self.root, reference) {
                    self.apply(target, value, place);
                }
            }
            "dependentSchemas" => {
                let dependent = argument.as_object().into_iter().flatten();
                for (name, schema) in dependent {
                    let object = value.as_object();
                    if object.is_some_and(|object| self.lookup(object, name).is_some()) {
                        self.apply(schema, value, place);
                    }
                }
            }
            "allOf" => {
                for schema in list(argument) {
                    self.apply(schema, value, place);
                }
            }
            "anyOf" => self.any_of(list(argument), value, place),
            "oneOf" => self.one_of(list(argument), value, place),
            "not" if self.try_schema(argument, value, place).is_none() => {
                self.fault(place, "fits the schema of `not`");
            }
            "if" => {
                let is_so = self.try_schema(argument, value, place).is_none();
                let next = if is_so { "then" } else { "else" };
                if let Some(schema) = keywords.get(next) {
                    self.apply(schema, value, place);
                }
            }
            _ => {}
        }
    }

    fn types(&mut self, argument: &Value, value: &Value, place: &Place<'_>) {
        let names: Vec<&str> = match argument {
            Value::String(name) => vec![name],
            list_of_names => list(list_of_names)
                .iter()
                .filter_map(Value::as_str)
                .collect(),
        };
        if !names.iter().any(|name| is_of(value, name)) {
            let reason = format!("is {}, not {}", kind_of(value), names.join(" or "));
            self.fault(place, reason);
        }
    }

    fn any_of(&mut self, schemas: &'s [Value], value: &Value, place: &Place<'_>) {
        let mut reasons = String::new();
        for schema in schemas {
            match self.try_schema(schema, value, place) {
                None => return,
                Some(fault) if reasons.len() < MAX_POINTER => {
                    let _ = write!(reasons, "; {fault}");
                }
                Some(_) => {}
            }
        }
        self.fault(place, format!("fits no schema of `anyOf`{reasons}"));
    }

    fn one_of(&mut self, schemas: &'s [Value], value: &Value, place: &Place<'_>) {
        let mut reasons = String::new();
        let mut fitting = 0;
        for schema in schemas {
            match self.try_schema(schema, value, place) {
                None => fitting += 1,
                Some(fault) if reasons.len() < MAX_POINTER => {
                    let _ = write!(reasons, "; {fault}");
                }
                Some(_) => {}
            }
        }
        match fitting {
            1 => {}
            0 => self.fault(place, format!("fits no schema of `oneOf`{reasons}")),
            n => self.fault(place, format!("fits {n} schemas of `oneOf`, not just one")),
        }
    }

    fn number(&mut self, keyword: &str, argument: &Value, number: &Number, place: &Place<'_>) {
        let Value::Number(bound) = argument else {
            return;
        };
        let order = compare(number, bound);
        let reason = match keyword {
            "minimum" if order == Ordering::Less => "is less than",
            "maximum" if order == Ordering::Greater => "is more than",
            "exclusiveMinimum" if order != Ordering::Greater => "is not more than",
            "exclusiveMaximum" if order != Ordering::Less => "is not less than",
            "multipleOf" if !is_multiple(number, bound) => "is not a multiple of",
            _ => return,
        };
        self.fault(place, format!("{reason} {bound}"));
    }

    fn text(&mut self, keyword: &str, argument: &Value, text: &str, place: &Place<'_>) {
        if !matches!(keyword, "minLength" | "maxLength") {
            return;
        }
        self.work(text.len() / 64);
        self.size(keyword, argument, text.chars().count(), "characters", place);
    }

    /// `minX` and `maxX`.
    fn size(
        &mut self,
        keyword: &str,
        argument: &Value,
        size: usize,
        unit: &str,
        place: &Place<'_>,
    ) {
        let Some(bound) = count(argument) else { return };
        let size = size as u64;
        if keyword.starts_with("min") && size < bound {
            self.fault(place, format!("has {size} {unit}, less than {bound}"));
        }
        if keyword.starts_with("max") && size > bound {
            self.fault(place, format!("has {size} {unit}, more than {bound}"));
        }
    }

    fn array(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        keywords: &'s Map<String, Value>,
        items: &[Value],
        place: &Place<'_>,
    ) {
        match (keyword, argument) {
            ("minItems" | "maxItems", _) => {
                self.size(keyword, argument, items.len(), "items", place);
            }
            ("prefixItems" | "items", Value::Array(schemas)) => {
                for (n, (schema, item)) in schemas.iter().zip(items).enumerate() {
                    self.apply(schema, item, &place.index(n));
                }
            }
            ("items", schema) => {
                let first = keywords.get("prefixItems").map_or(0, |it| list(it).len());
                self.items_from(first, schema, items, place);
            }
            ("additionalItems", schema) => {
                if let Some(Value::Array(first)) = keywords.get("items") {
                    self.items_from(first.len(), schema, items, place);
                }
            }
            ("contains", schema) => self.contains(schema, keywords, items, place),
            ("uniqueItems", Value::Bool(true)) => {
                for (n, item) in items.iter().enumerate() {
                    if let Some(other) = (0..n).find(|other| self.same(&items[*other], item)) {
                        let reason = format!("is the same as item {other}; items must differ");
                        return self.fault(&place.index(n), reason);
                    }
                    if self.work == 0 {
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    fn items_from(&mut self, first: usize, schema: &'s Value, items: &[Value], place: &Place<'_>) {
        for (n, item) in items.iter().enumerate().skip(first) {
            if self.work == 0 || self.faults.len() >= self.most {
                return;
            }
            self.apply(schema, item, &place.index(n));
        }
    }

    fn contains(
        &mut self,
        schema: &'s Value,
        keywords: &Map<String, Value>,
        items: &[Value],
        place: &Place<'_>,
    ) {
        let mut found = 0;
        for (n, item) in items.iter().enumerate() {
            if self.work == 0 {
                return;
            }
            found += u64::from(self.try_schema(schema, item, &place.index(n)).is_none());
        }
        let least = keywords.get("minContains").and_then(count).unwrap_or(1);
        let most = keywords.get("maxContains").and_then(count);
        if found < least {
            let reason = format!("has {found} items that fit `contains`, less than {least}");
            self.fault(place, reason);
        }
        if let Some(most) = most.filter(|most| found > *most) {
            let reason = format!("has {found} items that fit `contains`, more than {most}");
            self.fault(place, reason);
        }
    }

    fn object(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        keywords: &'s Map<String, Value>,
        object: &Map<String, Value>,
        place: &Place<'_>,
    ) {
        match (keyword, argument) {
            ("required", _) => self.required(argument, object, "", place),
            ("minProperties" | "maxProperties", _) => {
                self.size(keyword, argument, object.len(), "properties", place);
            }
            ("properties", Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    if let Some(value) = self.lookup(object, name) {
                        self.apply(schema, value, &place.name(name));
                    }
                }
            }
            ("additionalProperties", schema) => {
                self.additional_properties(schema, keywords, object, place);
            }
            ("propertyNames", schema) => {
                for name in object.keys() {
                    if !self.work(1 + name.len() / 64) || self.faults.len() >= self.most {
                        return;
                    }
                    let text = Value::String(name.clone());
                    if let Some(fault) = self.try_schema(schema, &text, &Place::ROOT) {
                        let reason = format!("has a name that {}", fault.reason);
                        self.fault(&place.name(name), reason);
                    }
                }
            }
            ("dependentRequired", Value::Object(lists)) => {
                for (name, required) in lists {
                    if self.lookup(object, name).is_some() {
                        let with = format!(", as there is `{}`", printable(name, QUOTED));
                        self.required(required, object, &with, place);
                    }
                }
            }
            _ => {}
        }
    }

    fn required(
        &mut self,
        names: &Value,
        object: &Map<String, Value>,
        with: &str,
        place: &Place<'_>,
    ) {
        for name in list(names).iter().filter_map(Value::as_str) {
            if self.faults.len() >= self.most {
                return;
            }
            if self.lookup(object, name).is_none() {
                self.fault(&place.name(name), format!("is missing{with}"));
            }
        }
    }

    fn additional_properties(
        &mut self,
        schema: &'s Value,
        keywords: &Map<String, Value>,
        object: &Map<String, Value>,
        place: &Place<'_>,
    ) {
        // Which properties are additional is not known then.
        if keywords.contains_key("patternProperties") {
            return;
        }
        let known = keywords.get("properties").and_then(Value::as_object);
        for (name, value) in object {
            if self.work == 0 || self.faults.len() >= self.most {
                return;
            }
            if known.is_some_and(|known| self.lookup(known, name).is_some()) {
                continue;
            }
            if *schema == Value::Bool(false) {
                self.fault(&place.name(name), "is not a property of the schema");
            } else {
                self.apply(schema, value, &place.name(name));
            }
        }
    }

    /// Whether two values are equal: numbers by their value, objects whatever their order.
    fn same(&mut self, a: &Value, b: &Value) -> bool {
        if !self.work(1) {
            return false;
        }
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
            (Value::String(a), Value::String(b)) => {
                self.work(a.len().min(b.len()) / 64);
                a == b
            }
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                let mut names = a.iter();
                a.len() == b.len()
                    && names.all(|(name, a)| {
                        let b = self.lookup(b, name);
                        b.is_some_and(|b| self.same(a, b))
                    })
            }
            (a, b) => a == b,
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The work of serializing a value.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => {
            let members = members.iter();
            1 + members
                .map(|(name, value)| name.len() / 64 + weight(value))
                .sum::<usize>()
        }
        _ => 1,
    }
}

fn quoted(value: &Value) -> String {
    let mut start = Start(Vec::new());
    let cut = serde_json::to_writer(&mut start, value).is_err();
    let text = String::from_utf8_lossy(&start.0);
    let text = printable(
        text.trim_end_matches(char::REPLACEMENT_CHARACTER),
        MAX_QUOTE,
    );
    if cut { text + "…" } else { text }
}

/// Takes the start of what is written, and fails after it, so that no large value is serialized for a quotation.
struct Start(Vec<u8>);

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = MAX_QUOTE - self.0.len();
        self.0.extend_from_slice(&bytes[..bytes.len().min(left)]);
        if bytes.len() > left {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match (kind, value) {
        ("integer", Value::Number(number)) => {
            number.is_i64()
                || number.is_u64()
                || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        ("number", Value::Number(_))
        | ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        _ => false,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A number that is not a float.
fn whole(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

fn compare(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return a.cmp(&b);
    }
    let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// Whether `number` is a multiple of `of`, by their decimal digits: 0.0075 is one of 0.0001.
fn is_multiple(number: &Number, of: &Number) -> bool {
    let (Some((digits, exponent)), Some((of, of_exponent))) = (decimal(number), decimal(of)) else {
        return false;
    };
    if digits == 0 || of == 0 {
        return digits == 0;
    }
    if exponent < of_exponent {
        let scale = 10_u128.checked_pow(of_exponent.abs_diff(exponent));
        // More than any digits that a number has.
        let Some(of) = scale.and_then(|scale| of.checked_mul(scale)) else {
            return false;
        };
        return digits % of == 0;
    }
    // `of` has at most 20 digits, which the remainders do not exceed.
    let mut rest = digits % of;
    for _ in of_exponent..exponent {
        if rest == 0 {
            return true;
        }
        match rest.checked_mul(10) {
            Some(product) => rest = product % of,
            None => return false,
        }
    }
    rest == 0
}

/// The decimal digits of the absolute value as a whole number, and the power of ten for it.
fn decimal(number: &Number) -> Option<(u128, i32)> {
    if let Some(whole) = whole(number) {
        return Some((whole.unsigned_abs(), 0));
    }
    let text = format!("{:e}", number.as_f64()?.abs());
    let (digits, exponent) = text.split_once('e')?;
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let digits = digits.replace('.', "").parse().ok()?;
    Some((
        digits,
        exponent.parse::<i32>().ok()? - i32::try_from(places).ok()?,
    ))
}

#[cfg(test)]
mod tests;
