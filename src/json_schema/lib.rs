//! Validation of a JSON value against a JSON Schema. Pure; schemas and values are hostile input.
//!
//! [`Schema::new`] reads a schema once, and [`Schema::faults`] says what is wrong with a value, and where:
//!
//! ```
//! use gosling_json_schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::new(json!({"properties": {"n": {"type": "integer", "minimum": 1}}}))?;
//! let faults = schema.faults(&json!({"n": 0}));
//! assert_eq!(faults[0].pointer, "/n");
//! # Ok::<(), gosling_json_schema::SchemaFault>(())
//! ```
//!
//! Draft 2020-12 (json-schema.org), for schemas in one document:
//!
//! - any type: `type`, `enum`, `const`, `allOf`, `anyOf`, `oneOf`, `not`, `if`/`then`/`else`, `$ref` and
//!   `$dynamicRef` to a place or an anchor in the same document
//! - numbers: `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`
//! - strings: `minLength`, `maxLength`
//! - arrays: `items`, `prefixItems`, `contains`, `minContains`, `maxContains`, `minItems`, `maxItems`,
//!   `uniqueItems`, `unevaluatedItems`; also the older `items` with a list, and `additionalItems`
//! - objects: `properties`, `required`, `additionalProperties`, `propertyNames`, `minProperties`,
//!   `maxProperties`, `dependentRequired`, `dependentSchemas`, `unevaluatedProperties`
//!
//! `format` and the other annotations assert nothing, and unknown keywords are ignored, as the standard says.
//! Keywords of the standard that are not checked are listed by [`Schema::unchecked`]. A
//! value has a fault only if it is invalid whatever these keywords say: no valid value is refused.
//!
//! A schema that makes no sense, has a dialect that is not of json-schema.org, or refers to another document, is
//! refused. One of an older draft is read as one of 2020-12, so keywords beside `$ref` count.
//!
//! Of the official JSON-Schema-Test-Suite for draft 2020-12 (1,299 tests), 1,155 pass; 118 have schemas that are
//! refused for their dialect or for references to other documents; in the other 26, an invalid value has no
//! fault because of an unchecked keyword.
#![forbid(unsafe_code)]

mod evaluated;
mod keyword_validation;
mod number;
mod place;
mod reader;

use serde_json::Value;
use std::fmt;

/// How much of a name is quoted, in characters.
const QUOTED: usize = 80;

/// A schema that makes sense.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Value,
    /// How many schemas it contains.
    schemas: usize,
    unchecked: Vec<String>,
}

/// Something wrong at one place of a schema or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// The place, as a JSON pointer (RFC 6901); empty for the whole.
    pub pointer: String,
    /// What is wrong there, to be read after the place.
    pub reason: String,
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "the whole value {}", self.reason),
            pointer => write!(f, "`{pointer}` {}", self.reason),
        }
    }
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// The first place in the schema that makes no sense.
    pub fn new(root: Value) -> Result<Self, SchemaFault> {
        let reader::Summary { schemas, unchecked } = reader::check(&root)?;
        Ok(Schema {
            root,
            schemas,
            unchecked,
        })
    }

    /// The places of keywords that are not checked.
    pub fn unchecked(&self) -> &[String] {
        &self.unchecked
    }

    /// The schema as it was given.
    pub fn as_value(&self) -> &Value {
        &self.root
    }

    /// Whether it can be the schema of the arguments of a tool, which are an object.
    pub fn is_for_arguments(&self) -> bool {
        match self.root.get("type") {
            None => self.root.is_object(),
            Some(Value::Array(types)) => types.iter().any(|it| it == "object"),
            Some(name) => name == "object",
        }
    }

    /// The faults of `value`, some of them if there are many; none if it is valid. A value that takes too much
    /// work to check has a fault.
    pub fn faults(&self, value: &Value) -> Vec<SchemaFault> {
        keyword_validation::faults(&self.root, self.schemas, value)
    }
}

#[cfg(test)]
mod tests;
