//! What arguments look like: names, types and sizes, without what they say.

use crate::draft::told;
use crate::members::Members;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::result::Result;

/// The most members of an object, and the most levels, that are told.
const MAX_MEMBERS: usize = 40;
const MAX_DEPTH: usize = 3;
/// Stands for the members that are not told.
const MORE: &str = "…";
/// The longest name that is told, in characters.
const MAX_NAME: usize = 60;

/// What a value looks like.
#[derive(Debug, Default)]
pub(crate) enum Shape {
    /// `null`, or not JSON.
    #[default]
    Null,
    /// A type alone.
    Type(&'static str),
    /// A type and its size: bytes of a string, items of an array, members of an object.
    Sized(&'static str, usize),
    /// The first members of an object, and how many more there are.
    Members(Vec<(String, Shape)>, usize),
    /// As it stands in a record.
    Recorded(Value),
}

impl Shape {
    /// The shape of a JSON text.
    pub(crate) fn of(text: &[u8]) -> Shape {
        let read = crate::json::from_slice(text);
        read.map_or(Shape::Null, |Read(shape)| shape)
    }

    /// As it stands in a record, if it does.
    pub(crate) fn recorded(&self) -> Option<&Value> {
        match self {
            Shape::Recorded(value) if !value.is_null() => Some(value),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Shape::Null | Shape::Recorded(Value::Null))
    }
}

impl Shape {
    /// Writes it as a member of this name.
    pub(crate) fn write(&self, out: &mut Members<'_>, name: &str) {
        match self {
            Shape::Null => out.value(name, &()),
            Shape::Type(kind) => out.text(name, kind),
            Shape::Sized(kind, size) => out.sized(name, kind, *size),
            Shape::Members(members, more) => out.object_of_any(name, |out| {
                for (name, shape) in members {
                    shape.write(out, name);
                }
                if *more > 0 {
                    out.number(MORE, *more as u64);
                }
            }),
            Shape::Recorded(value) => out.value(name, value),
        }
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Shape::Recorded)
    }
}

/// Reads the shape of a value, without building the value.
struct Read(Shape);

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        AtDepth(0).deserialize(deserializer).map(Read)
    }
}

/// Reads the shape of a value inside so many objects.
#[derive(Clone, Copy)]
struct AtDepth(usize);

impl<'de> DeserializeSeed<'de> for AtDepth {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AtDepth {
    type Value = Shape;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Type("boolean"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Type("number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Type("number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Type("number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Shape, E> {
        Ok(Shape::Sized("string", text.len()))
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut count = 0;
        while items.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Shape::Sized("array", count))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Shape, A::Error> {
        let (mut shapes, mut more) = (Vec::<(String, Shape)>::new(), 0);
        let most = if self.0 < MAX_DEPTH { MAX_MEMBERS } else { 0 };
        while let Some(name) = members.next_key::<String>()? {
            if shapes.len() < most {
                let shown = match told(&name, MAX_NAME) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(shown) => Some(shown),
                };
                let name = shown.unwrap_or(name);
                let shape = members.next_value_seed(AtDepth(self.0 + 1))?;
                match shapes.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => *known = shape,
                    None => shapes.push((name, shape)),
                }
            } else {
                members.next_value::<IgnoredAny>()?;
                more += 1;
            }
        }
        if more > 0 {
            shapes.retain(|(name, _)| name != MORE);
        }
        Ok(match most {
            0 => Shape::Sized("object", more),
            _ => Shape::Members(shapes, more),
        })
    }
}

#[cfg(test)]
mod tests;
