//! The content of a prompt: converts the blocks that a client sends to the content of a user's message.

use crate::conversation::{Content, Image};
use crate::error_objects::invalid_params;
use crate::mcp::jsonrpc::{ErrorObject, RawJson};
use crate::mcp::server::params::place_and_reason;
use crate::sys::paths;
use gosling_shared::fenced_block;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A content block of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", expecting = "a content block")]
enum Block {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    ResourceLink {
        uri: String,
        name: String,
        description: Option<String>,
    },
    Resource {
        resource: Resource,
    },
    Audio {
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
}

/// An embedded resource: text, or bytes in base64.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an embedded resource")]
struct Resource {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

/// The content of the user's message, from the content blocks of the field `prompt` of `method`. `read` returns the text
/// of a file that a link names, if it can be read.
///
/// # Errors
/// -32602 with the number of a block that is not valid or of a kind that is not declared, and for an empty prompt.
pub(super) fn contents(
    method: &str,
    blocks: Vec<RawJson>,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Result<Vec<Content>, ErrorObject> {
    let mut contents = Vec::new();
    for (n, block) in blocks.into_iter().enumerate() {
        let invalid = |why: &str| invalid_params(method, &format!("`prompt[{n}]`: {why}"));
        let block: Block = crate::json::from_str(block.get())
            .map_err(|error| invalid(&place_and_reason(block.get(), &error)))?;
        match block {
            Block::Text { text } if text.is_empty() => {}
            Block::Text { text } => contents.push(Content::text(text)),
            Block::Image { data, mime_type } => {
                if !mime_type.starts_with("image/") || data.is_empty() {
                    return Err(invalid(
                        "an image needs `data` and an image type as `mimeType`",
                    ));
                }
                contents.push(Content::Image(media(data, mime_type)));
            }
            Block::ResourceLink {
                uri,
                name,
                description,
            } => {
                let text = file_of(&uri).and_then(|path| read(&path));
                contents.push(Content::text(match text {
                    Some(text) => file_text(&uri, &text),
                    None => link_text(&uri, &name, description.as_deref()),
                }));
            }
            Block::Resource { resource } => contents.push(embedded(resource, &invalid)?),
            Block::Audio { data, mime_type } => {
                if !is_audio(&mime_type) || data.is_empty() {
                    return Err(invalid(
                        "audio needs `data` and an audio type as `mimeType`",
                    ));
                }
                contents.push(Content::Audio(media(data, mime_type)));
            }
        }
    }
    if contents.is_empty() {
        return Err(invalid_params(method, "`prompt` is empty"));
    }
    Ok(contents)
}

fn embedded(
    resource: Resource,
    invalid: &dyn Fn(&str) -> ErrorObject,
) -> Result<Content, ErrorObject> {
    let (uri, mime_type) = (resource.uri, resource.mime_type.unwrap_or_default());
    match (resource.text, resource.blob) {
        (Some(text), _) => Ok(Content::text(file_text(&uri, &text))),
        (None, Some(blob)) if mime_type.starts_with("image/") => {
            Ok(Content::Image(media(blob, mime_type)))
        }
        (None, Some(blob)) if is_audio(&mime_type) => Ok(Content::Audio(media(blob, mime_type))),
        (None, Some(_)) => Ok(Content::text(link_text(&uri, &uri, Some(&mime_type)))),
        (None, None) => Err(invalid("a resource needs `text` or `blob`")),
    }
}

fn is_audio(mime_type: &str) -> bool {
    mime_type.starts_with("audio/")
}

fn media(data: String, mime_type: String) -> Image {
    Image {
        data,
        mime_type,
        ..Image::default()
    }
}

/// The text of a file that is part of the prompt.
fn file_text(uri: &str, text: &str) -> String {
    let name = file_of(uri).map_or_else(|| uri.to_owned(), |path| path.display().to_string());
    format!("{name}:\n{}", fenced_block("", text))
}

fn link_text(uri: &str, name: &str, description: Option<&str>) -> String {
    let about = description.filter(|about| !about.trim().is_empty());
    let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
    if name.is_empty() || name == uri {
        format!("{uri}{about}")
    } else {
        format!("[{name}]({uri}){about}")
    }
}

/// The path that a `file:` URI names on this machine.
fn file_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = rest.split(['?', '#']).next()?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    paths::of_uri(path.into_owned())
}

#[cfg(test)]
mod tests;
