//! Completes a tool's input schema: providers require `type: object` and `properties`, and that these are an object.

use super::ToolSpec;
use crate::mcp::jsonrpc::RawJson;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A tool in a request of OpenAI's protocol, and of others that list tools in its way.
#[derive(Serialize)]
pub(super) struct FunctionTool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: Cow<'a, RawValue>,
}

impl<'a> FunctionTool<'a> {
    pub(super) fn new(name: Cow<'a, str>, tool: &'a ToolSpec) -> Self {
        let function = Function {
            name,
            description: &tool.description,
            parameters: complete(&tool.input_schema),
        };
        let r#type = "function";
        FunctionTool { r#type, function }
    }
}

/// The schema, with the missing fields at its beginning. The rest stays byte for byte.
pub(super) fn complete(schema: &RawJson) -> Cow<'_, RawValue> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "type", default)]
        kind: Option<IgnoredAny>,
        #[serde(default)]
        properties: Option<IgnoredAny>,
    }
    let text = with_objects(schema.get().trim());
    let (missing, rest) = match (crate::json::from_str::<Head>(&text), text.strip_prefix('{')) {
        (Ok(head), Some(rest)) => match (head.kind, head.properties) {
            (Some(_), Some(_)) => match text {
                Cow::Borrowed(_) => return Cow::Borrowed(schema),
                Cow::Owned(_) => ("", rest),
            },
            (Some(_), None) => (r#""properties":{}"#, rest),
            (None, Some(_)) => (r#""type":"object""#, rest),
            (None, None) => (r#""type":"object","properties":{}"#, rest),
        },
        _ => (r#""type":"object","properties":{}"#, "}"),
    };
    let comma = match rest.trim_start() {
        _ if missing.is_empty() => "",
        "}" => "",
        _ => ",",
    };
    let completed = RawValue::from_string(format!("{{{missing}{comma}{rest}"));
    completed.map_or(Cow::Borrowed(schema), Cow::Owned)
}

/// The schema with `{}` for each `"properties": []`, as PHP writes an empty object. In a string, the quotes would be
/// escaped.
fn with_objects(schema: &str) -> Cow<'_, str> {
    const NAME: &str = "\"properties\":";
    let mut changed = Cow::Borrowed(schema);
    for (at, _) in schema.match_indices(NAME) {
        let value = schema[at + NAME.len()..].trim_start();
        let inside = value.strip_prefix('[').map(str::trim_start);
        let Some(end) = inside.filter(|inside| inside.starts_with(']')) else {
            continue;
        };
        let (open, close) = (schema.len() - value.len(), schema.len() - end.len());
        let changed = changed.to_mut();
        changed.replace_range(open..=open, "{");
        changed.replace_range(close..=close, "}");
    }
    changed
}

#[cfg(test)]
mod tests;
