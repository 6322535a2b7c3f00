//! Models: one trait, one file a wire protocol, and a catalog of who speaks which.
//!
//! A provider gets the whole of what the model is to see with every call and keeps nothing of it. What
//! the model says goes to a [`DeltaSink`] as it arrives, in the thread that asked, and comes back whole
//! as an [`Completion`].

#[cfg(feature = "anthropic")]
mod anthropic;
mod catalog;
mod classify_error;
#[cfg(any(test, fuzzing))]
mod decoder_testing;
mod error;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod gemini_signatures;
#[cfg(feature = "google")]
mod google;
mod http_provider;
mod json_splitter;
pub mod lead_worker;
mod lenient_json;
#[cfg(test)]
mod memory_ratio;
#[cfg(feature = "ollama")]
mod ollama;
mod openai;
mod output_limit;
mod protocol;
mod retry;
mod scripted;
mod tool_calls;
mod tool_names;
mod tool_output;
mod tool_schema;

pub use catalog::{Catalog, InProcessProvider, ModelInfo, ProviderDetails};
pub use error::{Error, ErrorClass};
pub use http_provider::{HttpProvider, HttpProviderOptions};
pub use lead_worker::{Choice, LeadWorker, Progress};
#[cfg(feature = "ollama")]
pub use ollama::OllamaOptions;
pub use openai::OpenAiOptions;
pub use scripted::{Scripted, scripted};
pub(crate) use tool_calls::replayed_call;
pub(crate) use tool_output::{
    audience_includes_model, image_hashes, is_part_for_model, replace_images, response_size,
    result_text,
};

use crate::conversation::{Content, Message};
use crate::mcp::jsonrpc::RawJson;
use crate::sys::cancel::Cancel;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// What a model is asked.
pub struct CompletionRequest<'a> {
    /// Which model, and how.
    pub model: &'a ModelConfig,
    /// The system prompt; none if empty.
    pub system: &'a str,
    /// What was said so far, repaired: no message is empty, every tool request has its response in the
    /// next message, and every response its request in the one before.
    pub messages: &'a [&'a Message],
    /// What it should know now, which may be something else with the next question: it goes behind all
    /// messages, as the user's, so that what a provider keeps of the messages stays good.
    pub note: Option<&'a Message>,
    /// The tools that it may call.
    pub tools: &'a [ToolSpec],
    /// What for.
    pub purpose: Purpose,
    /// About how many tokens the model is to read. Where a protocol counts the output as a part of the
    /// context, the limit on output leaves them room; OpenAI's does not.
    pub input: u64,
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The next message of a conversation.
    Turn,
    /// A name for the session.
    Name,
    /// A summary of the conversation so far.
    Summary,
    /// What an MCP server wants from it.
    Sampling,
}

/// A tool as a model sees it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// `extension__tool`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON Schema object.
    pub input_schema: RawJson,
}

/// A model and its limits, in the JSON shape of Goose's API (`ModelConfig` of its OpenAPI document).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelConfig {
    /// As the provider calls it.
    pub model_name: String,
    /// How many tokens it takes and gives in all.
    pub context_limit: Option<u64>,
    /// How freely it chooses; the provider's default if absent.
    pub temperature: Option<f64>,
    /// How many tokens it may give, if the user says so or the wire protocol demands a number; the
    /// provider's default if absent. What is stored with a session is for clients: the most that the model
    /// can give, also where requests leave the number out.
    pub max_tokens: Option<u64>,
    /// Not supported; always false.
    pub toolshim: bool,
    /// Not supported; always absent.
    pub toolshim_model: Option<String>,
    /// Goes into every request as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_params: Option<Map<String, Value>>,
}

/// Hears what a model says while it says it.
pub trait DeltaSink {
    /// A new answer begins; `id` is the provider's, where it gives one. After a retry it may come again,
    /// but never after a delta.
    fn begin(&mut self, _id: Option<&str>) {}
    /// A piece of text.
    fn text(&mut self, text: &str);
    /// A piece of what the model thinks.
    fn reasoning(&mut self, _text: &str) {}
    /// Nothing more has arrived: what was handed over so far should go out before the provider waits.
    fn idle(&mut self) {}
    /// The provider was too busy, and is asked again after `wait`; `attempt` counts from 1.
    fn retry(&mut self, _attempt: u32, _wait: Duration, _reason: &Error) {}
}

/// Hears nothing.
pub struct DiscardDeltas;

impl DeltaSink for DiscardDeltas {
    fn text(&mut self, _: &str) {}
}

/// What a model said.
#[derive(Debug, Default)]
pub struct Completion {
    /// The provider's id of it.
    pub id: Option<String>,
    /// Text, images, thoughts and tool requests, in the order in which they came. A request whose
    /// arguments are no JSON object is an [`Outcome::Error`](crate::conversation::Outcome) with `name`
    /// and `arguments` in its metadata.
    pub content: Vec<Content>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop: StopReason,
}

/// Tokens, as far as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// What the model read, what it had in its cache included.
    pub input: Option<u64>,
    /// What it wrote.
    pub output: Option<u64>,
    /// Both, if the provider says so itself.
    pub total: Option<u64>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopReason {
    /// It is complete, or the model waits for its tools.
    #[default]
    Complete,
    /// It met the limit on tokens.
    Length,
    /// The provider held the rest back.
    Filtered,
}

/// A way to models.
pub trait Provider: Send + Sync {
    /// What the configuration calls it.
    fn name(&self) -> &str;

    /// Asks a model and waits for the end of its answer.
    ///
    /// # Errors
    /// See [`Error`]. What the listener heard before stays said.
    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        cancel: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Error>;

    /// Whether [`CompletionRequest::input`] changes the requests that it makes. Where it does not, it may be 0.
    fn uses_input_size(&self) -> bool {
        true
    }

    /// The names of the models that it offers now.
    ///
    /// # Errors
    /// See [`Error`].
    fn models(&self, cancel: &Cancel) -> Result<Vec<String>, Error>;
}
