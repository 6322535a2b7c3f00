//! The JSON of a response, parsed without copying strings where possible.

use crate::lenient_json::{JsonId, JsonStr, token_count};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A chunk of a stream, or a complete response.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) object: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Choices<'a>>,
    #[serde(default)]
    pub(super) usage: Option<TokenCounts>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    /// Some servers write an error without a field around it.
    #[serde(borrow, default)]
    pub(super) message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<JsonStr<'a>>,
    /// OpenRouter: the reason in the words of the provider behind it.
    #[serde(borrow, default)]
    pub(super) native_finish_reason: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) usage: Option<TokenCounts>,
}

#[derive(Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<TextOrParts<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<TextOrParts<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<ToolCallDelta<'a>>>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) images: Option<Vec<Part<'a>>>,
}

/// A delta of a tool call.
#[derive(Deserialize)]
pub(super) struct ToolCallDelta<'a> {
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(borrow, default)]
    pub(super) id: Option<JsonId<'a>>,
    #[serde(borrow, default)]
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) provider_specific_fields: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<TextOrParts<'a>>,
    #[serde(borrow, default)]
    pub(super) image_url: Option<Url<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Url<'a> {
    #[serde(borrow)]
    pub(super) url: JsonStr<'a>,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub(super) struct TokenCounts {
    #[serde(default, deserialize_with = "token_count")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    pub(super) completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    pub(super) total_tokens: Option<u64>,
    /// How many of the prompt came from the cache.
    #[serde(
        default,
        rename = "prompt_tokens_details",
        deserialize_with = "cached_tokens"
    )]
    pub(super) cached: Option<u64>,
}

/// The count in the details, whatever else they are.
fn cached_tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(deserializer)?["cached_tokens"].as_u64())
}

/// The list of models.
#[derive(Deserialize)]
pub(super) struct Models<'a> {
    #[serde(borrow, alias = "models")]
    pub(super) data: Vec<Model<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Model<'a> {
    #[serde(borrow, alias = "name")]
    pub(super) id: JsonStr<'a>,
}

/// Text, or a list of parts.
pub(super) enum TextOrParts<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for TextOrParts<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct ValueVisitor;

        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = TextOrParts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or an array of parts")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<TextOrParts<'de>, E> {
                Ok(TextOrParts::Text(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<TextOrParts<'de>, E> {
                Ok(TextOrParts::Text(text.to_owned().into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<TextOrParts<'de>, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(TextOrParts::Parts(parts))
            }

            // Some servers send `{}` for no content.
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<TextOrParts<'de>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(TextOrParts::Parts(Vec::new()))
            }
        }

        d.deserialize_any(ValueVisitor)
    }
}

/// The choices of a response, of which a request asks for one.
pub(super) struct Choices<'a>(pub(super) Vec<Choice<'a>>);

/// The most choices of one response; the others are parsed but not kept.
const MAX_CHOICES: usize = 8;

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct ListVisitor;

        impl<'de> Visitor<'de> for ListVisitor {
            type Value = Choices<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choices<'de>, A::Error> {
                let mut choices = Vec::new();
                while choices.len() < MAX_CHOICES
                    && let Some(choice) = list.next_element()?
                {
                    choices.push(choice);
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Choices(choices))
            }
        }

        d.deserialize_seq(ListVisitor)
    }
}
