//! Whether a type can be read from an object at all: what it asks a deserializer for tells it.

use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;

/// False if no JSON object could ever be read as `A`, because it is a number, a text, a list or the like.
pub(super) fn reads_objects<A: DeserializeOwned>() -> bool {
    !matches!(A::deserialize(Probe), Err(Answer::Never))
}

/// Gives no value, and notes what was asked for.
struct Probe;

/// Whether what was asked for may be an object.
#[derive(Debug)]
enum Answer {
    Perhaps,
    Never,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Answer {}

impl Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Answer::Perhaps
    }
}

/// Methods for types that are no objects.
macro_rules! never {
    ($($method:ident ($($argument:ty),*),)*) => {
        $(fn $method<V: Visitor<'de>>(self, $(_: $argument,)* _: V) -> Result<V::Value, Answer> {
            Err(Answer::Never)
        })*
    };
}

impl<'de> Deserializer<'de> for Probe {
    type Error = Answer;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Answer> {
        Err(Answer::Perhaps)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Answer> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Answer> {
        visitor.visit_newtype_struct(self)
    }

    never! {
        deserialize_bool(),
        deserialize_i8(),
        deserialize_i16(),
        deserialize_i32(),
        deserialize_i64(),
        deserialize_i128(),
        deserialize_u8(),
        deserialize_u16(),
        deserialize_u32(),
        deserialize_u64(),
        deserialize_u128(),
        deserialize_f32(),
        deserialize_f64(),
        deserialize_char(),
        deserialize_str(),
        deserialize_string(),
        deserialize_bytes(),
        deserialize_byte_buf(),
        deserialize_unit(),
        deserialize_unit_struct(&'static str),
        deserialize_seq(),
        deserialize_tuple(usize),
        deserialize_tuple_struct(&'static str, usize),
    }

    forward_to_deserialize_any! { map struct enum identifier ignored_any }
}
