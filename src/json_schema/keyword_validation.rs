//! Checks a value against a schema.

use super::number::{compare, is_multiple};
use super::place::{MAX_POINTER, Place};
use super::reader::{count, resolve};
use super::{QUOTED, SchemaFault};
use gosling_text::json::kind_of;
use gosling_text::printable;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::fmt::Write;
use std::io;

/// The most work for one value: a unit is one keyword that is applied, or one comparison of two values.
const MAX_WORK: usize = 1_000_000;
/// How deep schemas are applied within each other, references included.
const MAX_DEPTH: usize = 256;
/// The most faults that are reported.
pub(super) const MAX_FAULTS: usize = 20;
/// How much of a value is quoted, in bytes.
const MAX_QUOTE: usize = 160;

/// The faults of `value`, at most [`MAX_FAULTS`]. `schemas` is the number of schemas in `root`.
pub(super) fn faults(root: &Value, schemas: usize, value: &Value) -> Vec<SchemaFault> {
    let mut validation = Validation {
        root,
        schemas,
        work: MAX_WORK,
        depth: MAX_DEPTH,
        faults: Vec::new(),
        most: MAX_FAULTS,
        is_unsure: false,
    };
    validation.apply(root, value, &Place::ROOT);
    if validation.work == 0 {
        return vec![Place::ROOT.fault("takes too much work to check against the schema")];
    }
    validation.faults
}

/// One validation.
pub(super) struct Validation<'s> {
    root: &'s Value,
    schemas: usize,
    /// The work that is left; 0 if it was too much.
    work: usize,
    /// How much deeper schemas may be applied.
    pub(super) depth: usize,
    faults: Vec<SchemaFault>,
    /// It stops when there are so many faults.
    most: usize,
    /// Whether a keyword that is not checked could have found a fault.
    pub(super) is_unsure: bool,
}

/// What is known about a value and a schema. Keywords that are not checked make it `Unknown`, and only what is
/// certain becomes a fault: so no valid value is refused, also where `not` turns an answer round.
pub(super) enum Validity {
    Valid,
    Invalid(SchemaFault),
    Unknown,
}

/// A keyword that is applied to a value.
#[derive(Clone, Copy)]
pub(super) struct Keyword<'s, 'p> {
    pub(super) name: &'s str,
    pub(super) argument: &'s Value,
    /// All keywords of its schema.
    pub(super) all: &'s Map<String, Value>,
    /// The place of the value.
    pub(super) place: &'p Place<'p>,
}

impl<'s> Validation<'s> {
    pub(super) fn apply(&mut self, schema: &'s Value, value: &Value, place: &Place<'_>) {
        let keywords = match schema {
            Value::Bool(false) => return self.fault(place, "is not allowed"),
            Value::Object(keywords) => keywords,
            _ => return,
        };
        if !self.descend() {
            return;
        }
        for (keyword, argument) in keywords {
            if !self.work(1) || self.faults.len() >= self.most {
                break;
            }
            self.is_unsure |= is_unchecked(keyword, value);
            let keyword = Keyword {
                name: keyword,
                argument,
                all: keywords,
                place,
            };
            self.logic(keyword, value);
            match value {
                Value::Object(object) => self.object(keyword, object),
                Value::Array(list) => self.array(keyword, list),
                Value::String(text) => self.text(keyword, text),
                Value::Number(number) => self.number(keyword, number),
                Value::Null | Value::Bool(_) => {}
            }
        }
        self.depth += 1;
    }

    /// Goes one schema deeper; false if that is too deep or too much work.
    pub(super) fn descend(&mut self) -> bool {
        if self.depth == 0 || !self.work(1) {
            self.work = 0;
            return false;
        }
        self.depth -= 1;
        true
    }

    /// Whether there is no more to do: too much work, or enough faults.
    pub(super) fn is_over(&self) -> bool {
        self.work == 0 || self.faults.len() >= self.most
    }

    /// Takes work from the budget; false if it is used up.
    pub(super) fn work(&mut self, units: usize) -> bool {
        self.work = self.work.saturating_sub(units);
        self.work > 0
    }

    /// The member with this name.
    pub(super) fn lookup<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        name: &str,
    ) -> Option<&'v Value> {
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

    /// The schema that a reference leads to.
    pub(super) fn target(&mut self, reference: &Value) -> Option<&'s Value> {
        let reference = reference.as_str().unwrap_or_default();
        // An anchor is searched for in the whole schema.
        let is_anchor = !reference.starts_with("#/");
        self.work(reference.len() + if is_anchor { self.schemas } else { 0 });
        resolve(self.root, reference)
    }

    /// Whether `value` is valid. Its faults are not reported.
    pub(super) fn try_schema(
        &mut self,
        schema: &'s Value,
        value: &Value,
        place: &Place<'_>,
    ) -> Validity {
        let (before, most, was_unsure) = (self.faults.len(), self.most, self.is_unsure);
        (self.most, self.is_unsure) = (before + 1, false);
        self.apply(schema, value, place);
        let is_unsure = self.is_unsure;
        (self.most, self.is_unsure) = (most, was_unsure);
        match self.faults.drain(before..).next() {
            Some(fault) => Validity::Invalid(fault),
            None if is_unsure => Validity::Unknown,
            None => Validity::Valid,
        }
    }

    /// The keywords for values of any type.
    fn logic(&mut self, keyword: Keyword<'s, '_>, value: &Value) {
        let Keyword {
            argument, place, ..
        } = keyword;
        match keyword.name {
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
            // Within one document, which has no other ids, they lead to the same place.
            "$ref" | "$dynamicRef" => {
                if let Some(target) = self.target(argument) {
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
            "unevaluatedItems" | "unevaluatedProperties" => {
                self.unevaluated(keyword, value);
            }
            "allOf" => {
                for schema in list(argument) {
                    self.apply(schema, value, place);
                }
            }
            "anyOf" => self.any_of(list(argument), value, place),
            "oneOf" => self.one_of(list(argument), value, place),
            "not" => match self.try_schema(argument, value, place) {
                Validity::Valid => self.fault(place, "fits the schema of `not`"),
                Validity::Invalid(_) => {}
                Validity::Unknown => self.is_unsure = true,
            },
            "if" => {
                let next = match self.try_schema(argument, value, place) {
                    Validity::Valid => "then",
                    Validity::Invalid(_) => "else",
                    Validity::Unknown => return self.is_unsure = true,
                };
                if let Some(schema) = keyword.all.get(next) {
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
        let fitting = self.fitting(schemas, value, place, 1);
        if fitting.certain == 0 && fitting.possible > 0 {
            self.is_unsure = true;
        } else if fitting.certain == 0 {
            let reasons = fitting.reasons;
            self.fault(place, format!("fits no schema of `anyOf`{reasons}"));
        }
    }

    fn one_of(&mut self, schemas: &'s [Value], value: &Value, place: &Place<'_>) {
        let fitting = self.fitting(schemas, value, place, usize::MAX);
        match (fitting.certain, fitting.possible) {
            (1, 0) => {}
            (0, 0) => {
                let reasons = fitting.reasons;
                self.fault(place, format!("fits no schema of `oneOf`{reasons}"));
            }
            (0 | 1, _) => self.is_unsure = true,
            (n, _) => self.fault(place, format!("fits {n} schemas of `oneOf`, not just one")),
        }
    }

    /// How many of the schemas `value` fits; stops at `most`.
    fn fitting(
        &mut self,
        schemas: &'s [Value],
        value: &Value,
        place: &Place<'_>,
        most: usize,
    ) -> Fitting {
        let mut fitting = Fitting::default();
        for schema in schemas {
            match self.try_schema(schema, value, place) {
                Validity::Valid => fitting.certain += 1,
                Validity::Unknown => fitting.possible += 1,
                Validity::Invalid(fault) if fitting.reasons.len() < MAX_POINTER => {
                    let _ = write!(fitting.reasons, "; {fault}");
                }
                Validity::Invalid(_) => {}
            }
            if fitting.certain == most {
                break;
            }
        }
        fitting
    }

    fn number(&mut self, keyword: Keyword<'s, '_>, number: &Number) {
        let Value::Number(bound) = keyword.argument else {
            return;
        };
        let order = compare(number, bound);
        let reason = match keyword.name {
            "minimum" if order == Ordering::Less => "is less than",
            "maximum" if order == Ordering::Greater => "is more than",
            "exclusiveMinimum" if order != Ordering::Greater => "is not more than",
            "exclusiveMaximum" if order != Ordering::Less => "is not less than",
            "multipleOf" if !is_multiple(number, bound) => "is not a multiple of",
            _ => return,
        };
        self.fault(keyword.place, format!("{reason} {bound}"));
    }

    fn text(&mut self, keyword: Keyword<'s, '_>, text: &str) {
        if matches!(keyword.name, "minLength" | "maxLength") {
            self.work(text.len() / 64);
            self.size(keyword, text.chars().count(), "characters");
        }
    }

    /// `minX` and `maxX`.
    fn size(&mut self, keyword: Keyword<'s, '_>, size: usize, unit: &str) {
        let Some(bound) = count(keyword.argument) else {
            return;
        };
        let (size, place) = (size as u64, keyword.place);
        if keyword.name.starts_with("min") && size < bound {
            self.fault(place, format!("has {size} {unit}, less than {bound}"));
        }
        if keyword.name.starts_with("max") && size > bound {
            self.fault(place, format!("has {size} {unit}, more than {bound}"));
        }
    }

    fn array(&mut self, keyword: Keyword<'s, '_>, items: &[Value]) {
        let place = keyword.place;
        match (keyword.name, keyword.argument) {
            ("minItems" | "maxItems", _) => self.size(keyword, items.len(), "items"),
            ("prefixItems" | "items", Value::Array(schemas)) => {
                for (n, (schema, item)) in schemas.iter().zip(items).enumerate() {
                    self.apply(schema, item, &place.index(n));
                }
            }
            ("items", schema) => {
                let first = keyword
                    .all
                    .get("prefixItems")
                    .map_or(0, |it| list(it).len());
                self.items_from(first, schema, items, place);
            }
            ("additionalItems", schema) => {
                if let Some(Value::Array(first)) = keyword.all.get("items") {
                    self.items_from(first.len(), schema, items, place);
                }
            }
            ("contains", _) => self.contains(keyword, items),
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
            if self.is_over() {
                return;
            }
            self.apply(schema, item, &place.index(n));
        }
    }

    fn contains(&mut self, keyword: Keyword<'s, '_>, items: &[Value]) {
        let place = keyword.place;
        let (mut found, mut possible) = (0, 0);
        for (n, item) in items.iter().enumerate() {
            if self.work == 0 {
                return;
            }
            match self.try_schema(keyword.argument, item, &place.index(n)) {
                Validity::Valid => found += 1,
                Validity::Invalid(_) => {}
                Validity::Unknown => possible += 1,
            }
        }
        let least = (keyword.all.get("minContains").and_then(count)).unwrap_or(1);
        let most = keyword.all.get("maxContains").and_then(count);
        if found + possible < least {
            let reason = format!("has {found} items that fit `contains`, less than {least}");
            self.fault(place, reason);
        }
        if let Some(most) = most.filter(|most| found > *most) {
            let reason = format!("has {found} items that fit `contains`, more than {most}");
            self.fault(place, reason);
        }
        let is_certain = found >= least && most.is_none_or(|most| found + possible <= most);
        self.is_unsure |= !is_certain;
    }

    fn object(&mut self, keyword: Keyword<'s, '_>, object: &Map<String, Value>) {
        let place = keyword.place;
        match (keyword.name, keyword.argument) {
            ("required", names) => self.required(names, object, "", place),
            ("minProperties" | "maxProperties", _) => {
                self.size(keyword, object.len(), "properties");
            }
            ("properties", Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    if let Some(value) = self.lookup(object, name) {
                        self.apply(schema, value, &place.name(name));
                    }
                }
            }
            ("additionalProperties", _) => self.additional_properties(keyword, object),
            ("propertyNames", schema) => {
                for name in object.keys() {
                    if !self.work(1 + name.len() / 64) || self.faults.len() >= self.most {
                        return;
                    }
                    let text = Value::String(name.clone());
                    match self.try_schema(schema, &text, &Place::ROOT) {
                        Validity::Valid => {}
                        Validity::Invalid(fault) => {
                            let reason = format!("has a name that {}", fault.reason);
                            self.fault(&place.name(name), reason);
                        }
                        Validity::Unknown => self.is_unsure = true,
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

    fn additional_properties(&mut self, keyword: Keyword<'s, '_>, object: &Map<String, Value>) {
        let (schema, place) = (keyword.argument, keyword.place);
        // Which properties are additional is not known then.
        if keyword.all.contains_key("patternProperties") {
            return;
        }
        let known = keyword.all.get("properties").and_then(Value::as_object);
        for (name, value) in object {
            if self.is_over() {
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

/// How many schemas a value fits.
#[derive(Default)]
struct Fitting {
    certain: usize,
    /// Those of which it is not known.
    possible: usize,
    /// Why it does not fit the others.
    reasons: String,
}

/// Whether the keyword is one of [`UNCHECKED`](super::reader::UNCHECKED) and could find a fault in this value.
fn is_unchecked(keyword: &str, value: &Value) -> bool {
    match keyword {
        "pattern" => value.is_string(),
        "patternProperties" | "dependencies" => value.is_object(),
        _ => false,
    }
}

pub(super) fn list(value: &Value) -> &[Value] {
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
