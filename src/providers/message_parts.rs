//! What several protocols write of messages.

use crate::conversation::{Message, Text};
use crate::tool_result_conversion::{ImageData, audience_includes_model, image_hashes};
use serde::Serializer;
use serde_json::value::RawValue;

/// Serializes an image as a `data:` URL.
pub(super) fn as_data_url<S: Serializer>(image: &ImageData<'_>, s: S) -> Result<S::Ok, S::Error> {
    let ImageData { data, mime_type } = image;
    s.collect_str(&format_args!("data:{mime_type};base64,{data}"))
}

/// Serializes the arguments of a call as a string, which OpenAI's protocols require.
pub(super) fn as_text<S: Serializer>(arguments: &RawValue, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(arguments.get())
}

/// Whether a request with these messages contains an image.
pub(super) fn has_images(messages: &[&Message]) -> bool {
    messages
        .iter()
        .any(|message| !image_hashes(message).is_empty())
}

/// The text of a user's message, if it is for the model.
pub(super) fn users_text(text: &Text) -> Option<&str> {
    audience_includes_model(text.annotations.as_ref()).then_some(&text.text)
}
