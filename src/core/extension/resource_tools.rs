//! Tools with which a model lists and reads the resources of the session's servers.

use super::{Error, ExtensionItem, Manager};
use crate::mcp::types::{CallToolResult, Content, ResourceContents, Tool};
use crate::sys::cancel::Cancel;
use crate::text::printable;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// The full names of the tools, as in Goose.
const LIST: &str = "extensionmanager__list_resources";
const READ: &str = "extensionmanager__read_resource";

/// The longest name or description in a listing, in characters.
const QUOTED: usize = 200;
/// The longest listing, in bytes.
const MAX_TEXT: usize = 200_000;

/// The tools, under their full names. List them only if [`Manager::has_resources`].
pub fn tools() -> Vec<Tool> {
    let extension_name = json!({
        "type": "string",
        "description": "The extension that has the resource",
    });
    let annotations = json!({"readOnlyHint": true, "openWorldHint": false});
    let tools = json!([
        {
            "name": LIST,
            "description": "Lists the resources of the active extensions: URIs with names and types, and URI \
                            templates. Name an extension to list only its resources.",
            "inputSchema": {"type": "object", "properties": {"extension_name": extension_name}},
            "annotations": annotations,
        },
        {
            "name": READ,
            "description": "Reads one resource of an extension by its URI, as listed or made from a template.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "uri": {"type": "string", "description": "The URI of the resource"},
                    "extension_name": extension_name,
                },
                "required": ["uri", "extension_name"],
            },
            "annotations": annotations,
        },
    ]);
    crate::json::from_str(&tools.to_string()).unwrap_or_default()
}

/// Whether this is the full name of one of the tools.
pub fn owns(name: &str) -> bool {
    [LIST, READ].contains(&name)
}

/// Runs one of the tools. A failure is a result with `isError`.
pub fn run(manager: &Manager, name: &str, arguments: &RawValue, cancel: &Cancel) -> CallToolResult {
    #[derive(Deserialize)]
    struct Arguments {
        extension_name: Option<String>,
        uri: Option<String>,
    }
    let arguments: Arguments = match crate::json::from_str(arguments.get()) {
        Ok(arguments) => arguments,
        Err(error) => {
            return CallToolResult::text(format!("the arguments cannot be read: {error}")).failed();
        }
    };
    match (name, arguments.uri, arguments.extension_name) {
        (LIST, _, extension) => list(manager, extension.as_deref(), cancel),
        (READ, Some(uri), Some(extension)) => {
            match manager.read_resource(&extension, &uri, cancel) {
                Ok(read) => result(read.contents.into_iter().map(part).collect()),
                Err(error) => CallToolResult::text(error.to_string()).failed(),
            }
        }
        (READ, ..) => CallToolResult::text(
            "`uri` and `extension_name` are needed; list the resources to see them",
        )
        .failed(),
        _ => CallToolResult::text(format!("there is no tool {name:?}")).failed(),
    }
}

fn result(content: Vec<Content>) -> CallToolResult {
    CallToolResult {
        content,
        ..CallToolResult::default()
    }
}

/// One line for each resource, template and failure: shorter than JSON, and models read it as well.
fn list(manager: &Manager, extension: Option<&str>, cancel: &Cancel) -> CallToolResult {
    let resources = manager.resources(extension, cancel);
    let templates = manager.resource_templates(extension, cancel);
    let mut text = String::new();
    let mut line = |extension: &str, uri: &str, name: &str, rest: [&Option<String>; 2]| {
        let rest = rest.into_iter().flatten().filter(|text| !text.is_empty());
        let rest: String = rest
            .map(|text| format!(", {}", printable(text, QUOTED)))
            .collect();
        let name = printable(name, QUOTED);
        text.push_str(&format!("{extension}: {uri} ({name}{rest})\n"));
        text.len() < MAX_TEXT
    };
    let whole = resources
        .items
        .iter()
        .all(|ExtensionItem { extension, item }| {
            let rest = [&item.mime_type, &item.description];
            line(extension, &item.uri, &item.name, rest)
        })
        && templates
            .items
            .iter()
            .all(|ExtensionItem { extension, item }| {
                let rest = [&item.mime_type, &item.description];
                line(extension, &item.uri_template, &item.name, rest)
            });
    if !whole {
        text.push_str("There are more resources; name an extension to list only its resources.\n");
    }
    // A server that cannot list its resources usually cannot list its templates either.
    let listed = |error: &&Error| {
        resources
            .errors
            .iter()
            .all(|it| it.extension != error.extension)
    };
    for error in resources
        .errors
        .iter()
        .chain(templates.errors.iter().filter(listed))
    {
        text.push_str(&format!("Not listed: {error}\n"));
    }
    if text.is_empty() {
        text.push_str("No active extension has resources.");
    }
    result(vec![Content::text(text.trim_end())])
}

/// Text becomes text, an image becomes an image, other bytes become a note.
fn part(contents: ResourceContents) -> Content {
    let kind = contents.mime_type.as_deref().unwrap_or_default();
    match (contents.text, contents.blob) {
        (Some(text), _) => Content::text(&text),
        (None, Some(blob)) if kind.starts_with("image/") => Content::image(&blob, kind),
        (None, Some(blob)) => {
            let padding = blob.bytes().rev().take_while(|b| *b == b'=').count();
            let size = (blob.len() / 4 * 3).saturating_sub(padding);
            let kind = match kind {
                "" => "an unknown type",
                kind => kind,
            };
            let uri = printable(&contents.uri, QUOTED);
            let kind = printable(kind, QUOTED);
            Content::text(&format!("{uri} is {size} bytes of {kind}, not shown here."))
        }
        (None, None) => Content::text(""),
    }
}

#[cfg(test)]
mod tests;
