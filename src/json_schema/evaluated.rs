//! `unevaluatedItems` and `unevaluatedProperties`: they apply to the items and properties that no other keyword of
//! the schema evaluates, nor a schema that it applies to the same value. JSON Schema 2020-12, core, 11.

use super::keyword_validation::{Keyword, Validation, Validity, list};
use super::place::Place;
use serde_json::{Map, Value};

/// Whether an item or a property is evaluated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    No,
    Maybe,
    Yes,
}

/// An array or object, with a mark for each item or property.
struct Marked<'v> {
    value: &'v Value,
    marks: Vec<Mark>,
}

impl Marked<'_> {
    fn first(&mut self, count: usize, mark: Mark) {
        for old in self.marks.iter_mut().take(count) {
            *old = mark.max(*old);
        }
    }
}

impl<'s> Validation<'s> {
    /// Applies the argument of `keyword` to what the other keywords do not evaluate.
    pub(super) fn unevaluated(&mut self, keyword: Keyword<'s, '_>, value: &Value) {
        let place = keyword.place;
        let members: Vec<(Place<'_>, &Value)> = match (keyword.name, value) {
            ("unevaluatedItems", Value::Array(items)) => {
                let items = items.iter().enumerate();
                items.map(|(n, item)| (place.index(n), item)).collect()
            }
            ("unevaluatedProperties", Value::Object(object)) => {
                let object = object.iter();
                object.map(|(name, it)| (place.name(name), it)).collect()
            }
            _ => return,
        };
        let marks = vec![Mark::No; members.len()];
        let mut marked = Marked { value, marks };
        let others = (keyword.all.iter()).filter(|(other, _)| *other != keyword.name);
        for (other, argument) in others {
            self.mark_by(other, argument, keyword.all, Mark::Yes, &mut marked);
        }
        for ((place, member), mark) in members.iter().zip(marked.marks) {
            match mark {
                _ if self.is_over() => return,
                Mark::No => self.apply(keyword.argument, member, place),
                Mark::Maybe => self.is_unsure = true,
                Mark::Yes => {}
            }
        }
    }

    /// Marks what a schema evaluates. If the value does not fit it, the value is invalid in any case.
    fn mark(&mut self, schema: &'s Value, mark: Mark, marked: &mut Marked<'_>) {
        let Value::Object(keywords) = schema else {
            return;
        };
        if mark == Mark::No || !self.descend() {
            return;
        }
        for (keyword, argument) in keywords {
            self.mark_by(keyword, argument, keywords, mark, marked);
        }
        self.depth += 1;
    }

    /// `mark`, as far as the value fits the schema.
    fn mark_for(&mut self, schema: &'s Value, value: &Value, mark: Mark) -> Mark {
        match self.try_schema(schema, value, &Place::ROOT) {
            Validity::Valid => mark,
            Validity::Invalid(_) => Mark::No,
            Validity::Unknown => Mark::Maybe,
        }
    }

    fn mark_by(
        &mut self,
        keyword: &str,
        argument: &'s Value,
        keywords: &'s Map<String, Value>,
        mark: Mark,
        marked: &mut Marked<'_>,
    ) {
        if !self.work(1 + marked.marks.len() / 64) {
            return;
        }
        match (keyword, argument, marked.value) {
            ("properties", Value::Object(schemas), Value::Object(object)) => {
                for (name, old) in object.keys().zip(&mut marked.marks) {
                    if self.lookup(schemas, name).is_some() {
                        *old = mark.max(*old);
                    }
                }
            }
            ("prefixItems" | "items", Value::Array(schemas), Value::Array(_)) => {
                marked.first(schemas.len(), mark);
            }
            ("items" | "unevaluatedItems", _, Value::Array(_))
            | ("additionalProperties" | "unevaluatedProperties", _, Value::Object(_)) => {
                marked.first(usize::MAX, mark);
            }
            // Whether `additionalItems` applies depends on `items`.
            ("additionalItems", _, Value::Array(_))
            | ("patternProperties", _, Value::Object(_)) => {
                marked.first(usize::MAX, Mark::Maybe);
            }
            ("contains", _, Value::Array(items)) => {
                for (item, old) in items.iter().zip(&mut marked.marks) {
                    *old = self.mark_for(argument, item, mark).max(*old);
                }
            }
            ("$ref" | "$dynamicRef", ..) => {
                if let Some(target) = self.target(argument) {
                    self.mark(target, mark, marked);
                }
            }
            ("allOf", ..) => {
                for schema in list(argument) {
                    self.mark(schema, mark, marked);
                }
            }
            ("anyOf" | "oneOf", ..) => {
                for schema in list(argument) {
                    let mark = self.mark_for(schema, marked.value, mark);
                    self.mark(schema, mark, marked);
                }
            }
            ("dependentSchemas", Value::Object(schemas), Value::Object(object)) => {
                for (name, schema) in schemas {
                    if self.lookup(object, name).is_some() {
                        self.mark(schema, mark, marked);
                    }
                }
            }
            ("if", ..) => {
                let then = self.mark_for(argument, marked.value, mark);
                let otherwise = match then {
                    Mark::No => mark,
                    Mark::Maybe => Mark::Maybe,
                    Mark::Yes => Mark::No,
                };
                self.mark(argument, then, marked);
                for (branch, mark) in [("then", then), ("else", otherwise)] {
                    if let Some(schema) = keywords.get(branch) {
                        self.mark(schema, mark, marked);
                    }
                }
            }
            _ => {}
        }
    }
}
