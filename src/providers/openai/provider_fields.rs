//! Fields that a provider sends with its tool calls and expects back with them: signatures and encrypted
//! reasoning. They are stored unchanged in the metadata of the tool request, and sent back only to the same
//! endpoint and model: others refuse them.
//!
//! - `reasoning_details` of a message: <https://openrouter.ai/docs/use-cases/reasoning-tokens>
//! - `extra_content` of a call: <https://ai.google.dev/gemini-api/docs/thought-signatures>
//! - `provider_specific_fields` of a call: LiteLLM's name for the same.

use crate::conversation::ToolRequest;
use crate::model_output::add_metadata;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The most bytes of JSON that are stored with a call, and with a message.
const MAX_BYTES: usize = 1 << 20;
/// The metadata key for the endpoint and the model that the other fields belong to.
const ORIGIN: &str = "origin";
const DETAILS: &str = "reasoning_details";
const EXTRA: &str = "extra_content";
const SPECIFIC: &str = "provider_specific_fields";

/// The fields of one call.
#[derive(Default)]
pub(super) struct CallFields(Map<String, Value>);

impl CallFields {
    /// Adds the fields of one delta of the call.
    pub(super) fn take(&mut self, extra: Option<&RawValue>, specific: Option<&RawValue>) {
        for (name, raw) in [(EXTRA, extra), (SPECIFIC, specific)] {
            let value = raw.and_then(read::<Value>);
            if let Some(value) = value.filter(|value| !value.is_null()) {
                self.0.insert(name.to_owned(), value);
            }
        }
    }

    /// Stores the fields in the metadata of the call, with the reasoning if it is the first call.
    pub(super) fn store(
        mut self,
        request: &mut ToolRequest,
        details: ReasoningDetails,
        origin: &str,
    ) {
        if let Some(details) = details.value() {
            self.0.insert(DETAILS.to_owned(), details);
        }
        if self.0.is_empty() {
            return;
        }
        self.0.insert(ORIGIN.to_owned(), origin.into());
        add_metadata(request, self.0);
    }
}

/// The reasoning of a message.
#[derive(Default)]
pub(super) struct ReasoningDetails {
    parts: Vec<Map<String, Value>>,
    bytes: usize,
}

impl ReasoningDetails {
    /// Adds the details of a complete message or of one chunk. With `is_chunk` a part may continue the last
    /// one.
    pub(super) fn take(&mut self, raw: &RawValue, is_chunk: bool) {
        self.bytes += raw.get().len();
        if self.bytes > MAX_BYTES {
            self.parts = Vec::new();
            return;
        }
        for part in read::<Vec<Map<String, Value>>>(raw).unwrap_or_default() {
            match self.parts.last_mut() {
                Some(last) if is_chunk && is_continued_by(last, &part) => extend(last, part),
                _ => self.parts.push(part),
            }
        }
    }

    fn value(self) -> Option<Value> {
        if self.bytes > MAX_BYTES {
            let size = self.bytes;
            log::warn!("reasoning of the provider is too large to be returned bytes={size}");
        }
        let parts = self.parts.into_iter().map(Value::Object);
        let parts: Vec<Value> = parts.collect();
        (!parts.is_empty()).then_some(Value::Array(parts))
    }
}

/// The fields whose text grows with each chunk.
const GROWING: [&str; 2] = ["text", "summary"];

/// Whether `next` continues the text of `last`.
fn is_continued_by(last: &Map<String, Value>, next: &Map<String, Value>) -> bool {
    let is_set =
        |part: &Map<String, Value>, name: &str| part.get(name).is_some_and(|v| !v.is_null());
    let fits = |name: &str| {
        !(is_set(last, name) && is_set(next, name)) || last.get(name) == next.get(name)
    };
    last.get("type") == next.get("type")
        && last.get("index") == next.get("index")
        && fits("id")
        && !is_set(last, "signature")
        && !is_set(last, "data")
        && !is_set(next, "data")
}

fn extend(last: &mut Map<String, Value>, next: Map<String, Value>) {
    for (name, value) in next {
        match (last.get_mut(&name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if GROWING.contains(&&*name) => {
                text.push_str(&more);
            }
            (_, value) => {
                last.insert(name, value);
            }
        }
    }
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    let text = Some(raw.get()).filter(|text| text.len() <= MAX_BYTES)?;
    crate::json::from_str(text).ok()
}

/// The fields to send back with a call.
#[derive(Clone, Copy, Default)]
pub(super) struct Returned<'a> {
    pub(super) reasoning_details: Option<&'a Value>,
    pub(super) extra_content: Option<&'a Value>,
    pub(super) provider_specific_fields: Option<&'a Value>,
}

/// The stored fields of a call; none if another endpoint or model sent it.
pub(super) fn returned<'a>(request: &'a ToolRequest, origin: &str) -> Returned<'a> {
    let metadata = request.metadata.as_ref().and_then(Value::as_object);
    let own = metadata.filter(|own| own.get(ORIGIN).and_then(Value::as_str) == Some(origin));
    let Some(own) = own else {
        return Returned::default();
    };
    Returned {
        reasoning_details: own.get(DETAILS),
        extra_content: own.get(EXTRA),
        provider_specific_fields: own.get(SPECIFIC),
    }
}

#[cfg(test)]
mod tests;
