//! JSON of providers that do not all write it in the same way.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A string that is borrowed if it has no escapes. (Serde does not borrow a plain `Cow` in an `Option`.)
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonStr<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// An id. Some servers write it as a number.
pub(crate) struct JsonId<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonId<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        let text: Result<JsonStr<'_>, _> = crate::json::from_str(raw.get());
        Ok(JsonId(text.map_or(Cow::Borrowed(raw.get()), |text| text.0)))
    }
}

/// A number of tokens, which some servers write with a fraction or as text; none if it is something else, so that
/// the response is not lost.
pub(crate) fn token_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok());
    let is_count = |number: &f64| (0.0..1e15).contains(number);
    Ok(value
        .as_u64()
        .or_else(|| Some(number.filter(is_count)? as u64)))
}

/// The JSON text of a call's arguments, or a piece of it. Some providers write a string, some the object
/// itself.
pub(crate) fn arguments_text(raw: &RawValue) -> Cow<'_, str> {
    match crate::json::from_str::<Option<JsonStr<'_>>>(raw.get()) {
        Ok(Some(text)) => text.0,
        Ok(None) => "".into(),
        Err(_) => raw.get().into(),
    }
}

#[cfg(test)]
mod tests;
