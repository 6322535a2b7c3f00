//! What a tool's answer is to a model: one text and some images, the same for every protocol.

use super::names::hash64;
use crate::conversation::{Content, Message, Outcome};
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::{self, CallToolResult};
use crate::text::{for_model as readable, json_for_model};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashSet;

/// The kinds of image that models with eyes take, whoever made them.
pub(super) const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

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

/// The image for a provider that takes these kinds, or the words in its place.
pub(super) fn picture<'a>(
    mime_type: Cow<'a, str>,
    data: Cow<'a, str>,
    kinds: &[&str],
) -> Result<Picture<'a>, String> {
    let plain = mime_type.split(';').next().unwrap_or_default().trim();
    let plain = match plain.to_ascii_lowercase() {
        jpg if jpg == "image/jpg" => "image/jpeg".to_owned(),
        plain => plain,
    };
    // A request with anything else is refused, and so is each that comes later in the session.
    let is_base64 = data
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+/-_=\r\n".contains(&byte));
    if data.is_empty() || !is_base64 || !kinds.contains(&&*plain) {
        let kind = readable(&mime_type);
        return Err(format!("({kind} data, which this model cannot take)"));
    }
    let mime_type = plain.into();
    Ok(Picture { data, mime_type })
}

/// The hash of each image in a message that a model would see.
pub(crate) fn image_hashes(message: &Message) -> Vec<u64> {
    let hashes = |part: &Content| match part {
        Content::Image(image) if for_model(image.annotations.as_ref()) => vec![hash(&image.data)],
        Content::ToolResponse(response) => {
            let result = response.tool_result.value();
            let parts = result.into_iter().flat_map(|result| &result.content);
            parts.filter_map(|part| Some(image_in(part)?.0)).collect()
        }
        _ => Vec::new(),
    };
    message.content.iter().flat_map(hashes).collect()
}

/// The message with words in the place of its images with these hashes.
pub(crate) fn with_images_in_words<'m>(
    message: Cow<'m, Message>,
    refused: &HashSet<u64>,
) -> Cow<'m, Message> {
    let hashes = image_hashes(&message);
    if !hashes.iter().any(|hash| refused.contains(hash)) {
        return message;
    }
    let words = |kind: &str| {
        let kind = readable(kind);
        format!("(an image of type {kind}, which the model did not take)")
    };
    let mut message = message.into_owned();
    for part in &mut message.content {
        match part {
            Content::Image(image) if refused.contains(&hash(&image.data)) => {
                *part = Content::text(words(&image.mime_type));
            }
            Content::ToolResponse(response) => {
                let Outcome::Success { value } = &mut response.tool_result else {
                    continue;
                };
                for part in &mut value.content {
                    let found = image_in(part).filter(|(hash, _)| refused.contains(hash));
                    if let Some((_, kind)) = found {
                        *part = types::Content::text(&words(&kind));
                    }
                }
            }
            _ => {}
        }
    }
    Cow::Owned(message)
}

/// The hash and the type of the image in a part of a tool's result, if it is one for the model.
fn image_in(part: &types::Content) -> Option<(u64, String)> {
    let json = part.as_json();
    // A long text need not be parsed for this.
    if !json.contains("image") {
        return None;
    }
    let part = crate::json::from_str::<Part>(json).ok()?;
    let is_shown = part
        .annotations
        .as_ref()
        .is_none_or(Annotations::let_through);
    let (data, kind) = match (&*part.kind, part.data, part.resource) {
        ("image", Some(data), _) => (data, part.mime_type.unwrap_or("image/png".into())),
        ("resource", _, Some(resource)) => (resource.blob?, resource.mime_type?),
        _ => return None,
    };
    (is_shown && kind.starts_with("image/")).then(|| (hash(&data), kind.into_owned()))
}

fn hash(data: &str) -> u64 {
    hash64(data.bytes())
}

/// What a model that takes these kinds of image is told of a tool's answer. Content that is not for it
/// is left out.
pub(super) fn told<'a>(outcome: &'a Outcome<CallToolResult>, kinds: &[&str]) -> Told<'a> {
    match outcome {
        Outcome::Success { value } => result_told(value, kinds),
        Outcome::Error { error } => Told {
            text: format!("Error: {}", readable(error)),
            failed: true,
            ..Told::default()
        },
    }
}

/// The text in what a model is told of a tool's result.
pub(crate) fn text_of(result: &CallToolResult) -> String {
    result_told(result, &IMAGES).text
}

/// The bytes of text and the number of images in what a model is told of a tool's answer.
pub(crate) fn size_of_response(outcome: &Outcome<CallToolResult>) -> (usize, usize) {
    let told = told(outcome, &IMAGES);
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

fn result_told<'a>(result: &'a CallToolResult, kinds: &[&str]) -> Told<'a> {
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
    for image in std::mem::take(&mut told.images) {
        match picture(image.mime_type, image.data, kinds) {
            Ok(image) => told.images.push(image),
            Err(words) => texts.push(words.into()),
        }
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
            let told = told(&result, &IMAGES);
            assert_eq!((told.text.as_str(), told.images.len()), (text, 0));
        }
        let result =
            result(r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/gif"}]}"#);
        let told = told(&result, &IMAGES);
        assert_eq!(told.images[0].data, "AAAA");
        assert_eq!(told.images[0].mime_type, "image/gif");
        assert!(!told.text.is_empty());
    }

    #[test]
    fn an_image_of_another_kind_is_told_in_words() {
        let image = |kind: &str, data: &str| {
            let part = format!(r#"{{"type":"image","data":"{data}","mimeType":"{kind}"}}"#);
            let result = result(&format!(r#"{{"content":[{part}]}}"#));
            let told = told(&result, &IMAGES);
            let kinds: Vec<String> = (told.images.iter())
                .map(|image| image.mime_type.to_string())
                .collect();
            (told.text, kinds)
        };
        for (kind, sent) in [
            ("image/png", "image/png"),
            ("image/PNG; x=y", "image/png"),
            ("image/jpg", "image/jpeg"),
        ] {
            assert_eq!(image(kind, "AAAA").1, [sent]);
        }
        for (kind, data) in [
            ("image/svg+xml", "AAAA"),
            ("image/png", ""),
            ("", "AAAA"),
            ("image/png", "AAAA\u{202e}"),
            ("image/png", "https://h/x.png"),
        ] {
            let (text, kinds) = image(kind, data);
            assert!(kinds.is_empty() && text.contains("cannot take"), "{text}");
        }
    }

    #[test]
    fn refused_images_become_words_wherever_they_are() {
        let message = serde_json::json!({"role": "user", "created": 1, "content": [
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value": {"content": [
                {"type": "image", "data": "BBBB", "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": "u://1", "blob": "CCCC", "mimeType": "image/gif"}},
                {"type": "image", "data": "DDDD", "mimeType": "image/png", "annotations": {"audience": ["user"]}},
                {"type": "text", "text": "kept"},
            ]}}},
        ]});
        let message: Message = serde_json::from_value(message).unwrap();
        let all = image_hashes(&message);
        assert_eq!(all.len(), 3);
        let none = with_images_in_words(Cow::Borrowed(&message), &HashSet::new());
        assert!(matches!(none, Cow::Borrowed(_)));
        let refused = all.into_iter().collect();
        let words = with_images_in_words(Cow::Borrowed(&message), &refused);
        assert!(image_hashes(&words).is_empty());
        let json = serde_json::to_string(&words).unwrap();
        assert_eq!(json.matches("did not take").count(), 3);
        assert!(json.contains("kept") && json.contains("DDDD"), "{json}");
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
        assert_eq!(told(&result, &IMAGES).text, "both\nany\nopen");
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
        assert!(!told(&result, &IMAGES).text.contains("secret"));
    }

    #[test]
    fn data_is_told_where_there_is_no_text() {
        let with =
            result(r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}"#);
        assert_eq!(told(&with, &IMAGES).text, "a");
        let without = result(r#"{"content":[],"structuredContent":{"b":1}}"#);
        assert_eq!(told(&without, &IMAGES).text, r#"{"b":1}"#);
    }

    #[test]
    fn nothing_is_told_in_words() {
        for json in [
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":" "}]}"#,
        ] {
            assert!(
                told(&result(json), &IMAGES)
                    .text
                    .contains("returned nothing")
            );
        }
        let error = Outcome::Error {
            error: "gone".into(),
        };
        let told = told(&error, &IMAGES);
        assert_eq!((told.text.as_str(), told.failed), ("Error: gone", true));
    }
}
