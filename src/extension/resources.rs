//! The tools with which a model reads the resources of the session's servers.

use super::Manager;
use crate::mcp::types::{CallToolResult, Content, Tool};
use crate::sys::cancel::Cancel;
use serde_json::json;
use serde_json::value::RawValue;

/// The tools' full names, as Goose's models know them.
const LIST: &str = "extensionmanager__list_resources";
const READ: &str = "extensionmanager__read_resource";

/// The tools, under their full names. To be listed only while [`Manager::has_resources`].
pub fn tools() -> Vec<Tool> {
    let extension_name = json!({
        "type": "string",
        "description": "The extension that has it",
    });
    let described = [
        (
            LIST,
            "Lists what the active extensions offer to be read: URIs with names and types, and \
             templates of URIs. Name an extension to see its own only.",
            json!({"type": "object", "properties": {"extension_name": extension_name}}),
        ),
        (
            READ,
            "Reads one resource of an extension by its URI, as listed or made from a template.",
            json!({
                "type": "object",
                "properties": {
                    "uri": {"type": "string", "description": "The URI of the resource"},
                    "extension_name": extension_name,
                },
                "required": ["uri", "extension_name"],
            }),
        ),
    ];
    let tools = described
        .into_iter()
        .filter_map(|(name, description, schema)| {
            serde_json::from_str(
                &json!({
                    "name": name, "description": description, "inputSchema": schema,
                    "annotations": {"readOnlyHint": true, "openWorldHint": false},
                })
                .to_string(),
            )
            .ok()
        });
    tools.collect()
}

/// Whether this is one of them.
pub fn owns(name: &str) -> bool {
    [LIST, READ].contains(&name)
}

/// Runs one of them. What goes wrong is a result that says so.
pub fn run(manager: &Manager, name: &str, arguments: &RawValue, cancel: &Cancel) -> CallToolResult {
    let _ = (manager, arguments, cancel);
    CallToolResult {
        content: vec![Content::text(&format!("there is no tool {name:?}"))],
        is_error: Some(true),
        ..CallToolResult::default()
    }
}
