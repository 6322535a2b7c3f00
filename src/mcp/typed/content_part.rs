//! The parts of content as types. MCP 2025-11-25, server/tools, tool result.

use crate::types::{CallToolResult, Content, Resource, ResourceContents};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use gosling_text::json;
use serde::Deserialize;
use std::fmt;

/// One part of a tool's result, a prompt or a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Part {
    /// A text.
    Text(String),
    /// An image.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A resource that can be read from the server.
    ResourceLink(Resource),
    /// A resource with its content.
    Resource(ResourceContents),
    /// A part of another `type`; [`Content::as_json`] has it whole.
    Other(String),
}

/// An image or a sound.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Media {
    /// The bytes in base64.
    pub data: String,
    /// For example `image/png`.
    pub mime_type: String,
}

impl Media {
    /// The decoded bytes.
    ///
    /// # Errors
    /// `data` is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>, PartError> {
        decode("data", &self.data)
    }
}

impl ResourceContents {
    /// The content as bytes: those of the text, or the decoded `blob`.
    ///
    /// # Errors
    /// There is neither, or `blob` is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>, PartError> {
        match (&self.text, &self.blob) {
            (Some(text), _) => Ok(text.clone().into_bytes()),
            (None, Some(blob)) => decode("blob", blob),
            (None, None) => Err(PartError("it has neither `text` nor `blob`".to_owned())),
        }
    }
}

fn decode(member: &str, text: &str) -> Result<Vec<u8>, PartError> {
    let decoded = BASE64_STANDARD.decode(text);
    decoded.map_err(|error| PartError(format!("its `{member}` is not base64: {error}")))
}

/// For whom a part is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// `user`, `assistant`; empty if it is for both.
    #[serde(default)]
    pub audience: Vec<String>,
    /// The importance, from 0 to 1.
    #[serde(default)]
    pub priority: Option<f64>,
    /// When it was changed last (ISO 8601).
    #[serde(default)]
    pub last_modified: Option<String>,
}

/// What is wrong with a part of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartError(String);

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a part of the content is wrong: {}", self.0)
    }
}

impl std::error::Error for PartError {}

impl Content {
    /// The part as its type says.
    ///
    /// # Errors
    /// It lacks what its type has.
    pub fn part(&self) -> Result<Part, PartError> {
        #[derive(Deserialize)]
        struct Text {
            text: String,
        }
        #[derive(Deserialize)]
        struct Embedded {
            resource: ResourceContents,
        }
        let kind = self.kind();
        let text = self.as_json();
        let part = match kind.as_str() {
            "text" => json::from_str(text).map(|Text { text }| Part::Text(text)),
            "image" => json::from_str(text).map(Part::Image),
            "audio" => json::from_str(text).map(Part::Audio),
            "resource_link" => json::from_str(text).map(Part::ResourceLink),
            "resource" => {
                let embedded = json::from_str(text);
                embedded.map(|Embedded { resource }| Part::Resource(resource))
            }
            _ => return Ok(Part::Other(kind)),
        };
        part.map_err(|error| PartError(format!("{kind}: {error}")))
    }

    /// Its annotations; empty ones if there are none that make sense.
    pub fn annotations(&self) -> Annotations {
        #[derive(Deserialize)]
        struct Annotated {
            annotations: Annotations,
        }
        json::from_str(self.as_json())
            .map_or_else(|_| Annotations::default(), |it: Annotated| it.annotations)
    }
}

impl CallToolResult {
    /// The parts of the content, in their order.
    pub fn parts(&self) -> impl Iterator<Item = Result<Part, PartError>> {
        self.content.iter().map(Content::part)
    }
}
