//! Completes a tool's input schema: providers require `type: object` and `properties`.

use crate::mcp::jsonrpc::RawJson;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The schema, with the missing fields at its beginning. The rest stays byte for byte.
pub(super) fn complete(schema: &RawJson) -> Cow<'_, RawValue> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "type", default)]
        kind: Option<IgnoredAny>,
        #[serde(default)]
        properties: Option<IgnoredAny>,
    }
    let text = schema.get().trim();
    let (missing, rest) = match (crate::json::from_str::<Head>(text), text.strip_prefix('{')) {
        (Ok(head), Some(rest)) => match (head.kind, head.properties) {
            (Some(_), Some(_)) => return Cow::Borrowed(schema),
            (Some(_), None) => (r#""properties":{}"#, rest),
            (None, Some(_)) => (r#""type":"object""#, rest),
            (None, None) => (r#""type":"object","properties":{}"#, rest),
        },
        _ => (r#""type":"object","properties":{}"#, "}"),
    };
    let comma = match rest.trim_start() {
        "}" => "",
        _ => ",",
    };
    let completed = RawValue::from_string(format!("{{{missing}{comma}{rest}"));
    completed.map_or(Cow::Borrowed(schema), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_added_and_the_rest_stays() {
        for (given, expected) in [
            ("{}", r#"{"type":"object","properties":{}}"#),
            (" { } ", r#"{"type":"object","properties":{} }"#),
            ("true", r#"{"type":"object","properties":{}}"#),
            ("null", r#"{"type":"object","properties":{}}"#),
            ("[1,2]", r#"{"type":"object","properties":{}}"#),
            (
                r#"{"type":"object"}"#,
                r#"{"properties":{},"type":"object"}"#,
            ),
            (
                r#"{"properties":{"a":1e2}, "x":1}"#,
                r#"{"type":"object","properties":{"a":1e2}, "x":1}"#,
            ),
            (
                r#"{"type": "object","properties":{}}"#,
                r#"{"type": "object","properties":{}}"#,
            ),
        ] {
            let raw = RawValue::from_string(given.trim().to_owned()).unwrap();
            assert_eq!(complete(&raw).get(), expected);
        }
    }
}
