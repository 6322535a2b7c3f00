//! JSON of providers that do not all write it in the same way.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A string that is borrowed if it has no escapes. (Serde does not borrow a plain `Cow` in an `Option`.)
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct JsonStr<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The JSON text of a call's arguments, or a piece of it. Some providers write a string, some the object
/// itself.
pub(super) fn arguments_text(raw: &RawValue) -> Cow<'_, str> {
    match crate::json::from_str::<Option<JsonStr<'_>>>(raw.get()) {
        Ok(Some(text)) => text.0,
        Ok(None) => "".into(),
        Err(_) => raw.get().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_from_a_string_and_from_an_object() {
        for (json, text) in [
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            (r#""{""#, "{"),
            (r#"{"a": 1e2}"#, r#"{"a": 1e2}"#),
            ("null", ""),
            ("5", "5"),
        ] {
            let raw = RawValue::from_string(json.to_owned()).unwrap();
            assert_eq!(arguments_text(&raw), text);
        }
    }
}
