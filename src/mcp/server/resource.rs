//! Resources, single or as a template of URIs. MCP 2025-11-25, server/resources.

use super::{Context, check_argument, raw};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, RESOURCE_NOT_FOUND};
use crate::types::{self, ReadResourceResult, ResourceContents};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::fmt;

type Handler<V> = Box<dyn Fn(V, &Context) -> Result<Contents, ResourceError> + Send + Sync>;

/// A resource and its handler.
pub struct Resource {
    pub(super) wire: types::Resource,
    pub(super) quick: bool,
    handler: Handler<()>,
}

/// A template of resources and its handler.
pub struct ResourceTemplate {
    pub(super) wire: types::ResourceTemplate,
    pub(super) quick: bool,
    handler: Handler<Map<String, Value>>,
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contents {
    /// Sent unchanged.
    Text(String),
    /// Sent in base64.
    Bytes(Vec<u8>),
}

/// Why a resource could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceError {
    /// The resource does not exist: -32002.
    NotFound,
    /// Reading the resource failed: -32603 with this text.
    Failed(String),
}

impl Resource {
    /// A resource whose content `handler` returns.
    pub fn new<F>(uri: &str, name: &str, mime_type: &str, handler: F) -> Self
    where
        F: Fn(&Context) -> Result<Contents, ResourceError> + Send + Sync + 'static,
    {
        Resource {
            wire: types::Resource {
                uri: uri.to_owned(),
                name: name.to_owned(),
                mime_type: Some(mime_type.to_owned()),
                ..types::Resource::default()
            },
            quick: false,
            handler: Box::new(move |(), context| handler(context)),
        }
    }

    /// A resource with fixed content.
    pub fn fixed(uri: &str, name: &str, mime_type: &str, contents: Contents) -> Self {
        Self::new(uri, name, mime_type, move |_| Ok(contents.clone())).quick()
    }

    /// Sets the name for users.
    pub fn title(mut self, title: &str) -> Self {
        self.wire.title = Some(title.to_owned());
        self
    }

    /// Sets the description for models.
    pub fn description(mut self, text: &str) -> Self {
        self.wire.description = Some(text.to_owned());
        self
    }

    /// See [`Tool::quick`](super::Tool::quick).
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    pub(super) fn read(&self, context: &Context) -> Result<ReadResourceResult, ErrorObject> {
        let uri = &self.wire.uri;
        answer(
            uri,
            self.wire.mime_type.as_deref(),
            (self.handler)((), context),
        )
    }
}

impl ResourceTemplate {
    /// All resources whose URI matches `uri_template`: literal text and `{variables}`, each of which matches
    /// one or more characters other than `/`, percent-encoded where needed (RFC 6570, level 1). The decoded
    /// variables are deserialized into `A`, for example a struct or a map; a mismatch is "not found".
    ///
    /// # Panics
    /// `A` is a type that no object can be read as, or a brace of the template has no partner.
    pub fn new<A, F>(uri_template: &str, name: &str, mime_type: &str, handler: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, &Context) -> Result<Contents, ResourceError> + Send + Sync + 'static,
    {
        check_argument::<A>(uri_template);
        let mut opened = uri_template.split('{').skip(1);
        assert!(
            opened.all(|part| part.find('}').is_some_and(|at| at > 0)),
            "the template {uri_template:?} has a brace that is not around a name"
        );
        ResourceTemplate {
            wire: types::ResourceTemplate {
                uri_template: uri_template.to_owned(),
                name: name.to_owned(),
                mime_type: Some(mime_type.to_owned()),
                ..types::ResourceTemplate::default()
            },
            quick: false,
            handler: Box::new(move |variables, context| {
                let variables = gosling_text::json::from_object(&variables)
                    .map_err(|_| ResourceError::NotFound)?;
                handler(variables, context)
            }),
        }
    }

    /// Sets the description for models.
    pub fn description(mut self, text: &str) -> Self {
        self.wire.description = Some(text.to_owned());
        self
    }

    /// See [`Tool::quick`](super::Tool::quick).
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    pub(super) fn variables(&self, uri: &str) -> Option<Map<String, Value>> {
        variables(&self.wire.uri_template, uri)
    }

    pub(super) fn read(
        &self,
        uri: &str,
        variables: Map<String, Value>,
        context: &Context,
    ) -> Result<ReadResourceResult, ErrorObject> {
        let contents = (self.handler)(variables, context);
        answer(uri, self.wire.mime_type.as_deref(), contents)
    }
}

/// The error for an unknown URI.
pub(super) fn not_found(uri: &str) -> ErrorObject {
    ErrorObject {
        data: Some(raw(&json!({"uri": uri}))),
        ..ErrorObject::new(RESOURCE_NOT_FOUND, format!("Resource not found: {uri}"))
    }
}

fn answer(
    uri: &str,
    mime_type: Option<&str>,
    contents: Result<Contents, ResourceError>,
) -> Result<ReadResourceResult, ErrorObject> {
    let (text, blob) = match contents {
        Ok(Contents::Text(text)) => (Some(text), None),
        Ok(Contents::Bytes(bytes)) => (None, Some(BASE64_STANDARD.encode(bytes))),
        Err(ResourceError::NotFound) => return Err(not_found(uri)),
        Err(ResourceError::Failed(text)) => return Err(ErrorObject::new(INTERNAL_ERROR, text)),
    };
    let item = ResourceContents {
        uri: uri.to_owned(),
        mime_type: mime_type.map(str::to_owned),
        text,
        blob,
        meta: None,
    };
    Ok(ReadResourceResult {
        contents: vec![item],
    })
}

/// The decoded variables of `template` in `uri`; `None` if it does not match.
fn variables(mut template: &str, mut uri: &str) -> Option<Map<String, Value>> {
    let mut found = Map::new();
    while let Some((literal, rest)) = template.split_once('{') {
        let (name, rest) = rest.split_once('}')?;
        uri = uri.strip_prefix(literal)?;
        let end = match rest.split_once('{') {
            None => uri.strip_suffix(rest)?.len(),
            Some((until, _)) => uri.find(until)?,
        };
        let (value, tail) = uri.split_at(end);
        if value.is_empty() || value.contains('/') {
            return None;
        }
        let value = percent_decode_str(value).decode_utf8().ok()?;
        found.insert(name.to_owned(), Value::String(value.into_owned()));
        (template, uri) = (rest, tail);
    }
    (template == uri).then_some(found)
}

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResourceError::NotFound => f.write_str("there is no such resource"),
            ResourceError::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ResourceError {}

#[cfg(test)]
mod tests;
