//! The input schemas of tools as providers accept them. MCP servers send anything that they call a schema; one
//! that a provider refuses would end every request of the session. No I/O.
//!
//! - OpenAI: <https://platform.openai.com/docs/guides/function-calling>: an object without alternatives at the top,
//!   arrays with `items`.
//! - Anthropic: <https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use>: the same, and names
//!   of properties of a few characters only.
//!
//! A schema that holds the rules stays byte for byte, so that prompt caches stay valid.

mod repair;
mod scan;

use super::ToolSpec;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

pub(super) use repair::{Repaired, renamed_arguments, repaired};
pub(super) use scan::holds;

/// The largest schema that is repaired, in bytes.
pub(super) const MAX_SCHEMA: usize = 256 << 10;

/// What a protocol's servers accept of tools.
#[derive(Debug)]
pub(super) struct SchemaRules {
    /// How many tools a request may have.
    pub(super) max_tools: usize,
    /// The characters of a property's name beside letters and digits, and its length; any name if absent.
    pub(super) property_names: Option<(&'static str, usize)>,
}

impl SchemaRules {
    /// Whether a property may have this name.
    pub(super) fn accepts_name(&self, name: &str) -> bool {
        self.property_names.is_none_or(|(marks, length)| {
            let fits = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
            !name.is_empty() && name.len() <= length && name.chars().all(fits)
        })
    }
}

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
    parameters: &'a RawValue,
}

impl<'a> FunctionTool<'a> {
    pub(super) fn new(name: Cow<'a, str>, tool: &'a ToolSpec) -> Self {
        let function = Function {
            name,
            description: &tool.description,
            parameters: &tool.input_schema,
        };
        let r#type = "function";
        FunctionTool { r#type, function }
    }
}

#[cfg(test)]
mod tests;
