//! The JSON of a response and of its events, parsed without copying strings where possible.

use crate::Usage;
use crate::lenient_json::{JsonId, JsonStr, token_count};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The kind of an event, whose other fields have any type if the kind is unknown.
#[derive(Deserialize)]
pub(super) struct EventKind<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// An event about a part of an item: a delta, or the complete text.
#[derive(Deserialize)]
pub(super) struct PartEvent<'a> {
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) item_id: Option<JsonStr<'a>>,
    #[serde(default)]
    pub(super) content_index: Option<u64>,
    #[serde(default)]
    pub(super) summary_index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) delta: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) text: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// An event with a complete item.
#[derive(Deserialize)]
pub(super) struct ItemEvent<'a> {
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: OutputItem<'a>,
}

/// An event with the response.
#[derive(Deserialize)]
pub(super) struct ResponseEvent<'a> {
    #[serde(borrow)]
    pub(super) response: Response<'a>,
}

/// A response, complete or not.
#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) status: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) incomplete_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

/// An item of the output, of any kind.
#[derive(Deserialize)]
pub(super) struct OutputItem<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) id: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) call_id: Option<JsonId<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) encrypted_content: Option<JsonStr<'a>>,
}

impl<'a> Response<'a> {
    /// The items of the output.
    pub(super) fn items(&self) -> impl Iterator<Item = OutputItem<'a>> + use<'a> {
        list(self.output).filter_map(read)
    }

    /// Why the response is incomplete, if it is.
    pub(super) fn incomplete_reason(&self) -> Option<Cow<'a, str>> {
        #[derive(Deserialize)]
        struct Details<'a> {
            #[serde(borrow, default)]
            reason: JsonStr<'a>,
        }
        let details: Option<Details<'a>> = self.incomplete_details.and_then(read);
        let status = self.status.as_ref();
        let is_incomplete = status.is_some_and(|status| status.0 == "incomplete");
        match details {
            Some(details) => Some(details.reason.0),
            None => is_incomplete.then_some(Cow::Borrowed("")),
        }
    }

    /// How many tokens it took, as far as it says so.
    pub(super) fn usage(&self) -> Option<Usage> {
        #[derive(Deserialize)]
        struct Counts {
            #[serde(default, deserialize_with = "token_count")]
            input_tokens: Option<u64>,
            #[serde(default, deserialize_with = "token_count")]
            output_tokens: Option<u64>,
            #[serde(default, deserialize_with = "token_count")]
            total_tokens: Option<u64>,
            input_tokens_details: Option<InputDetails>,
            output_tokens_details: Option<OutputDetails>,
        }
        #[derive(Deserialize)]
        struct InputDetails {
            #[serde(default, deserialize_with = "token_count")]
            cached_tokens: Option<u64>,
        }
        #[derive(Deserialize)]
        struct OutputDetails {
            #[serde(default, deserialize_with = "token_count")]
            reasoning_tokens: Option<u64>,
        }
        let counts: Counts = self.usage.and_then(read)?;
        Some(Usage {
            input: counts.input_tokens,
            output: counts.output_tokens,
            total: counts.total_tokens,
            written: None,
            cached: counts.input_tokens_details.and_then(|it| it.cached_tokens),
            reasoning: (counts.output_tokens_details).and_then(|it| it.reasoning_tokens),
        })
    }
}

/// The texts in a list of parts; a refusal counts.
pub(super) fn texts<'a>(parts: Option<&'a RawValue>) -> impl Iterator<Item = Cow<'a, str>> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow, default)]
        text: Option<JsonStr<'a>>,
        #[serde(borrow, default)]
        refusal: Option<JsonStr<'a>>,
    }
    let text = |part: Part<'a>| part.text.or(part.refusal).map(|text| text.0);
    list(parts).filter_map(read::<Part<'a>>).filter_map(text)
}

/// The members of an array; none if it is something else.
fn list<'a>(raw: Option<&'a RawValue>) -> impl Iterator<Item = &'a RawValue> + use<'a> {
    let members: Option<Vec<&'a RawValue>> = raw.and_then(read);
    members.into_iter().flatten()
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    crate::json::from_str(raw.get()).ok()
}
