//! Types that are read from JSON, and the JSON Schema of what is read as them: both from one place.

use super::definitions::Definitions;
use gosling_text::json::kind_of;
use serde::Serialize;
use serde_json::{Map, Number, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// A type of arguments, or of a part of them. [`arguments!`](crate::arguments) declares such types; numbers, texts,
/// lists and maps are some, too.
///
/// What the schema allows can be read. Beyond that only `null` is read: in place of a member that may be missing.
pub trait Argument: Serialize + Sized + 'static {
    /// The schema of what is read as this type. `definitions` are those of the whole schema.
    fn schema(definitions: &mut Definitions) -> Value;

    /// Reads a value.
    ///
    /// # Errors
    /// Where it does not fit the schema, and why.
    fn read(value: Value) -> Result<Self, Mismatch>;

    /// The schema of a member of this type, which need not say that the member may be missing.
    fn member_schema(definitions: &mut Definitions) -> Value {
        Self::schema(definitions)
    }

    /// What a missing member stands for; `None` if it must be there.
    fn missing() -> Option<Self> {
        None
    }

    /// Whether it is left out where it is a member.
    fn is_missing(&self) -> bool {
        false
    }
}

/// An [`Argument`] that is an object, as the arguments of a tool are.
pub trait Arguments: Argument {}

/// The schema of arguments, complete with its definitions.
pub fn schema_of<A: Arguments>() -> Value {
    let mut definitions = Definitions::default();
    let schema = A::schema(&mut definitions);
    definitions.complete(schema)
}

/// Why a value is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// For example `a.b[0]`; empty for the whole.
    place: String,
    why: String,
}

impl Mismatch {
    /// The value itself does not fit.
    pub fn new(why: impl Into<String>) -> Self {
        Mismatch {
            place: String::new(),
            why: why.into(),
        }
    }

    fn kind(found: &Value, wanted: &str) -> Self {
        Mismatch::new(format!("is {}, not {wanted}", kind_of(found)))
    }

    /// The same, seen from the object that has the value as this member.
    pub(super) fn within(self, member: &str) -> Self {
        let dot = if self.place.is_empty() || self.place.starts_with('[') {
            ""
        } else {
            "."
        };
        let place = format!("{member}{dot}{}", self.place);
        Mismatch { place, ..self }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "it {}", self.why),
            place => write!(f, "`{place}` {}", self.why),
        }
    }
}

impl std::error::Error for Mismatch {}

/// The members of an object.
pub fn members(value: Value) -> Result<Map<String, Value>, Mismatch> {
    match value {
        Value::Object(members) => Ok(members),
        other => Err(Mismatch::kind(&other, "an object")),
    }
}

/// The whole number that a value is, also if it is written as `3.0` or `3e2`: JSON Schema has no other integers.
fn whole(value: &Value) -> Result<i128, Mismatch> {
    let wrong = || Mismatch::kind(value, "an integer");
    let Value::Number(number) = value else {
        return Err(wrong());
    };
    let exact = number.as_i64().map(i128::from);
    let exact = exact.or_else(|| number.as_u64().map(i128::from));
    let float = number.as_f64().filter(|float| float.fract() == 0.0);
    // The conversion saturates far beyond every type that is read here.
    exact
        .or(float.map(|float| float as i128))
        .ok_or_else(|| Mismatch::new(format!("is {number}, not an integer")))
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {
        $(impl Argument for $type {
            fn schema(_: &mut Definitions) -> Value {
                json!({"type": "integer", "minimum": <$type>::MIN, "maximum": <$type>::MAX})
            }

            fn read(value: Value) -> Result<Self, Mismatch> {
                let number = whole(&value)?;
                number.try_into().map_err(|_| {
                    let (least, most) = (<$type>::MIN, <$type>::MAX);
                    Mismatch::new(format!("is {value}, not within {least} to {most}"))
                })
            }
        })*
    };
}

whole_numbers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl Argument for f64 {
    fn schema(_: &mut Definitions) -> Value {
        json!({"type": "number"})
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        value
            .as_f64()
            .ok_or_else(|| Mismatch::kind(&value, "a number"))
    }
}

impl Argument for Number {
    fn schema(_: &mut Definitions) -> Value {
        json!({"type": "number"})
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Number(number) => Ok(number),
            other => Err(Mismatch::kind(&other, "a number")),
        }
    }
}

impl Argument for bool {
    fn schema(_: &mut Definitions) -> Value {
        json!({"type": "boolean"})
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        value
            .as_bool()
            .ok_or_else(|| Mismatch::kind(&value, "a boolean"))
    }
}

impl Argument for String {
    fn schema(_: &mut Definitions) -> Value {
        json!({"type": "string"})
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(Mismatch::kind(&other, "a string")),
        }
    }
}

/// Any JSON.
impl Argument for Value {
    fn schema(_: &mut Definitions) -> Value {
        json!({})
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        Ok(value)
    }
}

/// A member that may be missing, or an item of a list that may be `null`.
impl<T: Argument> Argument for Option<T> {
    fn schema(definitions: &mut Definitions) -> Value {
        json!({"anyOf": [T::schema(definitions), {"type": "null"}]})
    }

    fn member_schema(definitions: &mut Definitions) -> Value {
        T::member_schema(definitions)
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        match value {
            // A type that has a place for `null` reads it.
            Value::Null => Ok(T::read(Value::Null).ok()),
            value => T::read(value).map(Some),
        }
    }

    fn missing() -> Option<Self> {
        Some(None)
    }

    fn is_missing(&self) -> bool {
        self.is_none()
    }
}

impl<T: Argument> Argument for Box<T> {
    fn schema(definitions: &mut Definitions) -> Value {
        T::schema(definitions)
    }

    fn member_schema(definitions: &mut Definitions) -> Value {
        T::member_schema(definitions)
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        T::read(value).map(Box::new)
    }

    fn missing() -> Option<Self> {
        T::missing().map(Box::new)
    }

    fn is_missing(&self) -> bool {
        T::is_missing(self)
    }
}

impl<T: Argument> Argument for Vec<T> {
    fn schema(definitions: &mut Definitions) -> Value {
        json!({"type": "array", "items": T::schema(definitions)})
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        let Value::Array(items) = value else {
            return Err(Mismatch::kind(&value, "an array"));
        };
        let items = items.into_iter().enumerate();
        items
            .map(|(at, item)| T::read(item).map_err(|wrong| wrong.within(&format!("[{at}]"))))
            .collect()
    }
}

macro_rules! maps {
    ($($map:ident),*) => {
        $(
            impl<T: Argument> Argument for $map<String, T> {
                fn schema(definitions: &mut Definitions) -> Value {
                    json!({"type": "object", "additionalProperties": T::schema(definitions)})
                }

                fn read(value: Value) -> Result<Self, Mismatch> {
                    let members = members(value)?.into_iter();
                    members
                        .map(|(name, value)| match T::read(value) {
                            Ok(value) => Ok((name, value)),
                            Err(wrong) => Err(wrong.within(&name)),
                        })
                        .collect()
                }
            }

            impl<T: Argument> Arguments for $map<String, T> {}
        )*
    };
}

maps!(BTreeMap, HashMap);

/// Any object.
impl Argument for Map<String, Value> {
    fn schema(_: &mut Definitions) -> Value {
        json!({"type": "object"})
    }

    fn read(value: Value) -> Result<Self, Mismatch> {
        members(value)
    }
}

impl Arguments for Map<String, Value> {}
