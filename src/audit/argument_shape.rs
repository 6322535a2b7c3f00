//! What arguments look like: names, types and sizes, without what they say.

use crate::text::printable;
use gosling_shared::redact_credentials;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use std::fmt;
use std::result::Result;

/// The most members of an object, and the most levels, that are told.
const MAX_MEMBERS: usize = 40;
const MAX_DEPTH: usize = 3;
/// The longest name that is told, in characters.
const MAX_NAME: usize = 60;

/// The shape of a JSON text: of an object its members, of anything else its type and its size; null if it is not JSON.
pub(crate) fn shape(text: &[u8]) -> Value {
    let read = crate::json::from_slice(text);
    read.map_or(Value::Null, |Shape(shape)| shape)
}

/// The shape of a value that is read; the value is not built.
struct Shape(Value);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        AtDepth(0).deserialize(deserializer).map(Shape)
    }
}

/// Reads the shape of a value inside so many objects.
#[derive(Clone, Copy)]
struct AtDepth(usize);

impl<'de> DeserializeSeed<'de> for AtDepth {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AtDepth {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok("boolean".into())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok("number".into())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
        Ok("number".into())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok("number".into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(format!("string of {}", text.len()).into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut count = 0_usize;
        while items.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(format!("array of {count}").into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut shape = Map::new();
        let mut more = 0_usize;
        let most = if self.0 < MAX_DEPTH { MAX_MEMBERS } else { 0 };
        while let Some(name) = members.next_key::<String>()? {
            if shape.len() < most {
                let name = printable(&redact_credentials(&name), MAX_NAME);
                shape.insert(name, members.next_value_seed(AtDepth(self.0 + 1))?);
            } else {
                members.next_value::<IgnoredAny>()?;
                more += 1;
            }
        }
        if most == 0 {
            return Ok(format!("object of {more}").into());
        }
        if more > 0 {
            shape.insert("…".to_owned(), more.into());
        }
        Ok(shape.into())
    }
}

#[cfg(test)]
mod tests;
