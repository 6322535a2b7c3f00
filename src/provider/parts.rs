//! What a tool's answer is to a model: one text and some images, the same for every protocol.

use crate::conversation::Outcome;
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::{self, CallToolResult};
use crate::text::{for_model as readable, json_for_model};
use serde::Deserialize;
use std::borrow::Cow;

/// A tool's answer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told<'a> {
    /// Never empty.
    pub(super) text: String,
    pub(super) images: Vec<Picture<'a>>,
    pub(super) failed: bool,
}

/// An image.
#[derive(Debug, PartialEq)]
pub(super) struct Picture<'a> {
    /// Base64.
    pub(super) data: Cow<'a, str>,
    /// For example `image/png`.
    pub(super) mime_type: Cow<'a, str>,
}

/// Any part of a tool's answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    mime_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    description: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    resource: Option<Resource<'a>>,
    #[serde(borrow, default)]
    annotations: Option<Annotations<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    #[serde(borrow, default)]
    uri: Cow<'a, str>,
    #[serde(borrow, default)]
    mime_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    blob: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Annotations<'a> {
    #[serde(borrow, default)]
    audience: Option<Vec<Cow<'a, str>>>,
}

impl Annotations<'_> {
    fn let_through(&self) -> bool {
        (self.audience.as_ref())
            .is_none_or(|all| all.is_empty() || all.iter().any(|who| who == "assistant"))
    }
}

/// Whether content with these annotations is meant for the model. MCP: without an audience it is.
pub(crate) fn for_model(annotations: Option<&RawJson>) -> bool {
    let read = |raw: &RawJson| match crate::json::from_str::<Annotations>(raw.get()) {
        Ok(annotations) => annotations.let_through(),
        // What cannot be read restricts nothing.
        Err(_) => true,
    };
    annotations.is_none_or(read)
}

/// What a model is told of a tool's answer. Content that is not for it is left out.
pub(super) fn told(outcome: &Outcome<CallToolResult>) -> Told<'_> {
    match outcome {
        Outcome::Success { value } => result_told(value),
        Outcome::Error { error } => Told {
            text: format!("Error: {}", readable(error)),
            failed: true,
            ..Told::default()
        },
    }
}

/// The text in what a model is told of a tool's result.
pub(crate) fn text_of(result: &CallToolResult) -> String {
    result_told(result).text
}

/// The bytes of text and the number of images in what a model is told of a tool's answer.
pub(crate) fn size_of_response(outcome: &Outcome<CallToolResult>) -> (usize, usize) {
    let told = told(outcome);
    (told.text.len(), told.images.len())
}

/// Whether a part of a tool's result is meant for the model.
pub(crate) fn is_for_model(part: &types::Content) -> bool {
    #[derive(Deserialize)]
    struct Annotated {
        annotations: Option<RawJson>,
    }
    let part = serde_json::from_str::<Annotated>(part.as_json());
    part.map_or(true, |part| for_model(part.annotations.as_ref()))
}

fn result_told(result: &CallToolResult) -> Told<'_> {
    let mut told = Told {
        failed: result.is_error == Some(true),
        ..Told::default()
    };
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut withheld = false;
    for content in &result.content {
        let Ok(part) = crate::json::from_str::<Part>(content.as_json()) else {
            texts.push(json_for_model(content.as_json()));
            continue;
        };
        if !part
            .annotations
            .as_ref()
            .is_none_or(Annotations::let_through)
        {
            withheld = true;
            continue;
        }
        take(part, content.as_json(), &mut texts, &mut told.images);
    }
    if texts.is_empty()
        && !withheld
        && let Some(data) = &result.structured_content
    {
        texts.push(json_for_model(data.get()));
    }
    told.text = texts.join("\n");
    if let Cow::Owned(text) = readable(&told.text) {
        told.text = text;
    }
    if told.text.trim().is_empty() {
        told.text = match (told.images.is_empty(), told.failed) {
            (false, _) => "(the result is the image that follows)",
            (true, true) => "(the tool failed and did not say why)",
            (true, false) => "(the tool succeeded and returned nothing)",
        }
        .to_owned();
    }
    told
}

fn take<'a>(
    part: Part<'a>,
    whole: &'a str,
    texts: &mut Vec<Cow<'a, str>>,
    images: &mut Vec<Picture<'a>>,
) {
    let mime_type = part.mime_type;
    match (&*part.kind, part.text, part.data, part.resource) {
        ("text", Some(text), ..) => texts.push(text),
        ("image", _, Some(data), _) => images.push(Picture {
            data,
            mime_type: mime_type.unwrap_or("image/png".into()),
        }),
        ("audio", ..) => {
            let kind = mime_type.as_deref().unwrap_or("unknown type").to_owned();
            texts.push(format!("(audio of {kind}, which cannot be shown)").into());
        }
        ("resource", _, _, Some(resource)) => match (resource.text, resource.blob) {
            (Some(text), _) => texts.push(format!("{}:\n{text}", resource.uri).into()),
            (None, Some(blob)) => match resource.mime_type {
                Some(mime_type) if mime_type.starts_with("image/") => {
                    texts.push(format!("{}: (an image, which follows)", resource.uri).into());
                    images.push(Picture {
                        data: blob,
                        mime_type,
                    });
                }
                kind => texts.push(
                    format!(
                        "{}: ({} bytes of {})",
                        resource.uri,
                        blob.len() / 4 * 3,
                        kind.as_deref().unwrap_or("unknown type")
                    )
                    .into(),
                ),
            },
            (None, None) => texts.push(resource.uri),
        },
        ("resource_link", ..) => {
            let words = [part.name, part.uri, part.description];
            let words: Vec<Cow<'_, str>> = words.into_iter().flatten().collect();
            texts.push(format!("Resource: {}", words.join(" — ")).into());
        }
        _ => texts.push(json_for_model(whole)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(json: &str) -> Outcome<CallToolResult> {
        let value = serde_json::from_str(json).unwrap();
        Outcome::Success { value }
    }

    #[test]
    fn every_kind_of_content_becomes_text_or_an_image() {
        for (content, text) in [
            (r#"{"type":"text","text":"a\nb"}"#, "a\nb"),
            (
                r#"{"type":"resource","resource":{"uri":"u://1","text":"t"}}"#,
                "u://1:\nt",
            ),
            (
                r#"{"type":"resource","resource":{"uri":"u://1","blob":"AAAA","mimeType":"a/b"}}"#,
                "u://1: (3 bytes of a/b)",
            ),
            (
                r#"{"type":"resource_link","uri":"u://1","name":"n","description":"d"}"#,
                "Resource: n — u://1 — d",
            ),
            (
                r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav"}"#,
                "(audio of audio/wav, which cannot be shown)",
            ),
            (
                r#"{"type":"hologram","x":1}"#,
                r#"{"type":"hologram","x":1}"#,
            ),
        ] {
            let result = result(&format!(r#"{{"content":[{content}]}}"#));
            let told = told(&result);
            assert_eq!((told.text.as_str(), told.images.len()), (text, 0));
        }
        let result =
            result(r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/gif"}]}"#);
        let told = told(&result);
        assert_eq!(told.images[0].data, "AAAA");
        assert_eq!(told.images[0].mime_type, "image/gif");
        assert!(!told.text.is_empty());
    }

    #[test]
    fn what_is_for_the_user_alone_is_not_told() {
        let result = result(
            r#"{"content":[
                {"type":"text","text":"secret","annotations":{"audience":["user"]}},
                {"type":"text","text":"both","annotations":{"audience":["user","assistant"]}},
                {"type":"text","text":"any","annotations":{"priority":1}},
                {"type":"text","text":"open","annotations":{"audience":[]}}
            ],"structuredContent":{"secret":1}}"#,
        );
        assert_eq!(told(&result).text, "both\nany\nopen");
        let parts = &result.value().unwrap().content;
        let shown: Vec<bool> = parts.iter().map(is_for_model).collect();
        assert_eq!(shown, [false, true, true, true]);
    }

    #[test]
    fn data_that_mirrors_what_is_withheld_is_withheld_too() {
        let result = result(
            r#"{"content":[{"type":"text","text":"secret","annotations":{"audience":["user"]}}],
                "structuredContent":{"secret":1}}"#,
        );
        assert!(!told(&result).text.contains("secret"));
    }

    #[test]
    fn data_is_told_where_there_is_no_text() {
        let with =
            result(r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}"#);
        assert_eq!(told(&with).text, "a");
        let without = result(r#"{"content":[],"structuredContent":{"b":1}}"#);
        assert_eq!(told(&without).text, r#"{"b":1}"#);
    }

    #[test]
    fn nothing_is_told_in_words() {
        for json in [
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":" "}]}"#,
        ] {
            assert!(told(&result(json)).text.contains("returned nothing"));
        }
        let error = Outcome::Error {
            error: "gone".into(),
        };
        let told = told(&error);
        assert_eq!((told.text.as_str(), told.failed), ("Error: gone", true));
    }
}
