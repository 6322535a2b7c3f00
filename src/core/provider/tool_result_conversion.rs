//! A tool's result as a model gets it: one text and some images, the same for every protocol.

use crate::conversation::{Content, Image, Message, Outcome};
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::{self, CallToolResult};
use crate::text;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;

/// FNV-1a with 64 bits.
pub fn hash64(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The image types that models of most providers accept.
pub const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Structured content up to this size, in bytes, follows any text that does not say the same.
const SHORT_DATA: usize = 1_000;

/// A tool's result for a model.
#[derive(Debug, Default, PartialEq)]
pub struct ToolOutput<'a> {
    /// Never empty.
    pub text: String,
    /// The images, of types that the model accepts.
    pub images: Vec<ImageData<'a>>,
    /// Whether the tool says that it failed.
    pub failed: bool,
}

/// An image.
#[derive(Debug, PartialEq)]
pub struct ImageData<'a> {
    /// Base64.
    pub data: Cow<'a, str>,
    /// For example `image/png`.
    pub mime_type: Cow<'a, str>,
}

/// Any content block of a tool's result.
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
    fn include_model(&self) -> bool {
        (self.audience.as_ref())
            .is_none_or(|all| all.is_empty() || all.iter().any(|who| who == "assistant"))
    }
}

/// The types of images and audio that models of any provider accept.
const ALL_MEDIA: [&str; 12] = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "image/heic",
    "image/heif",
    "audio/wav",
    "audio/mpeg",
    "audio/aiff",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
];

/// Whether the audience in these annotations includes the model. Without an audience it does (MCP).
pub fn audience_includes_model(annotations: Option<&RawJson>) -> bool {
    let read = |raw: &RawJson| match crate::json::from_str::<Annotations>(raw.get()) {
        Ok(annotations) => annotations.include_model(),
        // Invalid annotations restrict nothing.
        Err(_) => true,
    };
    annotations.is_none_or(read)
}

/// The image for a provider that accepts these types, or the text that replaces it.
fn supported_image<'a>(
    mime_type: Cow<'a, str>,
    data: Cow<'a, str>,
    kinds: &[&str],
) -> Result<ImageData<'a>, String> {
    let plain = mime_type.split(';').next().unwrap_or_default().trim();
    let plain = plain.to_ascii_lowercase();
    let plain = match &*plain {
        "image/jpg" => "image/jpeg",
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
        "audio/mp3" => "audio/mpeg",
        plain => plain,
    };
    // The provider would refuse this request and, since the image stays in the history, all later ones.
    let is_base64 = data.bytes().all(|byte| BASE64[usize::from(byte)]);
    if data.is_empty() || !is_base64 || !kinds.contains(&plain) {
        let kind = text::for_model(&mime_type);
        return Err(format!("({kind} data, which this model cannot take)"));
    }
    let mime_type = plain.to_owned().into();
    Ok(ImageData { data, mime_type })
}

/// The bytes of base64, in either alphabet, with padding and line ends.
const BASE64: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        table[byte] = ascii.is_ascii_alphanumeric()
            || matches!(ascii, b'+' | b'/' | b'-' | b'_' | b'=' | b'\r' | b'\n');
        byte += 1;
    }
    table
};

/// The hash of each image of a message that a request would contain.
pub fn image_hashes(message: &Message) -> Vec<u64> {
    let hashes = |part: &Content| match part {
        Content::Image(image) | Content::Audio(image) => {
            any_users_image(image).iter().map(ImageData::hash).collect()
        }
        Content::ToolResponse(response) => {
            let result = response.tool_result.value();
            let parts = result.into_iter().flat_map(|result| &result.content);
            let images = parts.filter_map(tools_image);
            images.map(|image| image.hash()).collect()
        }
        _ => Vec::new(),
    };
    message.content.iter().flat_map(hashes).collect()
}

/// The message with its images with these hashes replaced by text, which `replacement` makes from the MIME type.
pub fn replace_images<'m>(
    message: Cow<'m, Message>,
    refused: &HashSet<u64>,
    replacement: &dyn Fn(&str) -> String,
) -> Cow<'m, Message> {
    let hashes = image_hashes(&message);
    if !hashes.iter().any(|hash| refused.contains(hash)) {
        return message;
    }
    let words = |image: Option<ImageData<'_>>| {
        let image = image.filter(|image| refused.contains(&image.hash()))?;
        Some(replacement(&image.mime_type))
    };
    let mut message = message.into_owned();
    for part in &mut message.content {
        match part {
            Content::Image(image) | Content::Audio(image) => {
                if let Some(words) = words(any_users_image(image)) {
                    *part = Content::text(words);
                }
            }
            Content::ToolResponse(response) => {
                let Outcome::Success { value } = &mut response.tool_result else {
                    continue;
                };
                for part in &mut value.content {
                    if let Some(words) = words(tools_image(part)) {
                        *part = types::Content::text(&words);
                    }
                }
            }
            _ => {}
        }
    }
    Cow::Owned(message)
}

/// The image or the audio of a user's message, if it is for the model; the text that replaces it if the type is none of `kinds`.
pub fn users_image<'a>(image: &'a Image, kinds: &[&str]) -> Option<Result<ImageData<'a>, String>> {
    let is_shown = audience_includes_model(image.annotations.as_ref());
    let (mime_type, data) = (image.mime_type.as_str().into(), image.data.as_str().into());
    is_shown.then(|| supported_image(mime_type, data, kinds))
}

/// The image of a user's message, if a request of any protocol would contain it.
fn any_users_image(image: &Image) -> Option<ImageData<'_>> {
    users_image(image, &ALL_MEDIA)?.ok()
}

/// The image in a content block of a tool's result, if a request of any protocol would contain it.
fn tools_image(content: &types::Content) -> Option<ImageData<'_>> {
    // Avoids parsing a long text. A block with a second `type` field is invalid JSON for `read`, so text too.
    if content.as_json().starts_with(r#"{"type":"text","#) {
        return None;
    }
    let image = read(content)?.image?;
    supported_image(image.mime_type, image.data, &ALL_MEDIA).ok()
}

impl ImageData<'_> {
    fn hash(&self) -> u64 {
        hash64(self.data.bytes())
    }
}

/// A tool's result for a model that accepts these image types, without content for another audience.
pub fn tool_output<'a>(outcome: &'a Outcome<CallToolResult>, kinds: &[&str]) -> ToolOutput<'a> {
    match outcome {
        Outcome::Success { value } => successful_output(value, kinds),
        Outcome::Error { error } => ToolOutput {
            text: format!("Error: {}", text::for_model(error)),
            failed: true,
            ..ToolOutput::default()
        },
    }
}

/// The text of a tool's result as a model gets it.
pub fn result_text(result: &CallToolResult) -> String {
    successful_output(result, &IMAGES).text
}

/// The bytes of text and the number of images of a tool's result as a model gets it.
pub fn response_size(outcome: &Outcome<CallToolResult>) -> (usize, usize) {
    let tool_output = tool_output(outcome, &IMAGES);
    (tool_output.text.len(), tool_output.images.len())
}

/// Whether the content of a tool's result says something to the model, apart from the structured content.
pub fn has_content_for_model(result: &CallToolResult) -> bool {
    let says = |text: Cow<'_, str>| !text.trim().is_empty();
    let mut parts = result.content.iter().filter_map(read);
    parts.any(|part| part.image.is_some() || part.text.is_some_and(says))
}

/// Whether a content block of a tool's result is meant for the model.
pub fn is_part_for_model(part: &types::Content) -> bool {
    #[derive(Deserialize)]
    struct Annotated {
        annotations: Option<RawJson>,
    }
    let part = serde_json::from_str::<Annotated>(part.as_json());
    part.map_or(true, |part| {
        audience_includes_model(part.annotations.as_ref())
    })
}

fn successful_output<'a>(result: &'a CallToolResult, kinds: &[&str]) -> ToolOutput<'a> {
    let mut tool_output = ToolOutput {
        failed: result.is_error == Some(true),
        ..ToolOutput::default()
    };
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut withheld = false;
    for content in &result.content {
        match read(content) {
            Some(read) => {
                texts.extend(read.text);
                tool_output.images.extend(read.image);
            }
            None => withheld = true,
        }
    }
    for image in std::mem::take(&mut tool_output.images) {
        match supported_image(image.mime_type, image.data, kinds) {
            Ok(image) => tool_output.images.push(image),
            Err(words) => texts.push(words.into()),
        }
    }
    if !withheld
        && let Some(data) = &result.structured_content
        && !is_told(data.get(), &texts)
    {
        texts.push(text::json_for_model(data.get()));
    }
    tool_output.text = texts.join("\n");
    if let Cow::Owned(text) = text::for_model(&tool_output.text) {
        tool_output.text = text;
    }
    if tool_output.text.trim().is_empty() {
        let words = if !tool_output.images.is_empty() {
            "(the result is the image that follows)"
        } else if tool_output.failed {
            "(the tool failed and did not say why)"
        } else {
            "(the tool succeeded and returned nothing)"
        };
        tool_output.text = words.to_owned();
    }
    tool_output
}

/// Whether the texts say what the structured content says: as its JSON, which MCP recommends, or as the JSON or the
/// text of its `result`, in which frameworks wrap what is not an object. A text of at least the length of long data
/// counts as a rendering of it, because both would cost twice the tokens.
fn is_told(data: &str, texts: &[Cow<'_, str>]) -> bool {
    let length: usize = texts.iter().map(|text| text.len()).sum();
    if texts.is_empty() {
        return false;
    }
    if data.len() > SHORT_DATA && data.len() <= length {
        return true;
    }
    let Ok(data) = crate::json::from_str::<Value>(data) else {
        return false;
    };
    let says = |text: &str, data: &Value| {
        data.as_str() == Some(text)
            || crate::json::from_str::<Value>(text).is_ok_and(|json| json == *data)
    };
    let say = |data: &Value| match (texts, data) {
        ([text], data) => says(text, data),
        (texts, Value::Array(items)) => {
            texts.len() == items.len() && texts.iter().zip(items).all(|(text, it)| says(text, it))
        }
        _ => false,
    };
    let members = data.as_object();
    let wrapped = members.filter(|members| members.len() == 1);
    members.is_some_and(Map::is_empty)
        || say(&data)
        || wrapped
            .and_then(|members| members.get("result"))
            .is_some_and(say)
}

/// A content block of a tool's result as a model gets it. The image may have a type that no provider accepts.
struct Read<'a> {
    text: Option<Cow<'a, str>>,
    image: Option<ImageData<'a>>,
}

impl<'a> From<Cow<'a, str>> for Read<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Read {
            text: Some(text),
            image: None,
        }
    }
}

impl From<String> for Read<'_> {
    fn from(text: String) -> Self {
        Cow::<str>::Owned(text).into()
    }
}

/// Reads a content block of a tool's result; `None` if it is not for the model.
fn read(content: &types::Content) -> Option<Read<'_>> {
    let whole = content.as_json();
    let Ok(part) = crate::json::from_str::<Part>(whole) else {
        return Some(text::json_for_model(whole).into());
    };
    let annotations = part.annotations.as_ref();
    if !annotations.is_none_or(Annotations::include_model) {
        return None;
    }
    let mime_type = part.mime_type;
    Some(match (&*part.kind, part.text, part.data, part.resource) {
        ("text", Some(text), ..) => text.into(),
        ("image", _, Some(data), _) => Read {
            text: None,
            image: Some(ImageData {
                data,
                mime_type: mime_type.unwrap_or("image/png".into()),
            }),
        },
        ("audio", ..) => {
            let kind = mime_type.as_deref().unwrap_or("unknown type");
            format!("(audio of {kind}, which cannot be shown)").into()
        }
        ("resource", _, _, Some(resource)) => read_resource(resource),
        ("resource_link", ..) => {
            let words = [part.name, part.uri, part.description];
            let words: Vec<Cow<'_, str>> = words.into_iter().flatten().collect();
            format!("Resource: {}", words.join(" — ")).into()
        }
        _ => text::json_for_model(whole).into(),
    })
}

fn read_resource(resource: Resource<'_>) -> Read<'_> {
    let uri = resource.uri;
    let (blob, kind) = match (resource.text, resource.blob, resource.mime_type) {
        (Some(text), ..) => return format!("{uri}:\n{text}").into(),
        (None, None, _) => return uri.into(),
        (None, Some(blob), kind) => (blob, kind),
    };
    let is_image = |kind: &Cow<'_, str>| {
        let kind = kind.trim_start().as_bytes();
        (kind.get(..6)).is_some_and(|head| head.eq_ignore_ascii_case(b"image/"))
    };
    match kind {
        Some(mime_type) if is_image(&mime_type) => Read {
            text: Some(format!("{uri}: (an image, which follows)").into()),
            image: Some(ImageData {
                data: blob,
                mime_type,
            }),
        },
        kind => {
            let kind = kind.as_deref().unwrap_or("unknown type");
            format!("{uri}: ({} bytes of {kind})", blob.len() / 4 * 3).into()
        }
    }
}

#[cfg(test)]
mod tests;
