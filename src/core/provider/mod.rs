//! Model providers: what every one of them is, a trait, and what knows them all, a [`Catalog`]. The providers behind
//! HTTP are a part of their own, `gosling-providers`; a program may have others ([`InProcessProvider`]).
//!
//! A provider gets the complete input of the model with every request and keeps no conversation. It passes
//! the deltas of the response to a [`DeltaSink`] as they arrive, in the calling thread, and returns the
//! complete response as a [`Completion`].

pub mod catalog;
mod error;
mod in_process_catalog;
#[doc(hidden)]
pub mod key_names;
#[cfg(any(test, feature = "openai", feature = "scripted"))]
#[doc(hidden)]
pub mod model_output;
#[cfg(feature = "scripted")]
#[doc(hidden)]
pub mod scripted;
#[doc(hidden)]
pub mod thinking_effort;
#[doc(hidden)]
pub mod tool_result_conversion;

pub use catalog::{Catalog, FastModel, LeadModel, ModelInfo, Price, ProviderDetails};
pub use error::{Error, ErrorClass};
pub use in_process_catalog::InProcessProvider;
#[doc(hidden)]
pub use in_process_catalog::{InProcessCatalog, not_made, unknown};
pub(crate) use tool_result_conversion::{
    audience_includes_model, has_content_for_model, image_hashes, is_part_for_model,
    replace_images, response_size, result_text,
};

use crate::conversation::{Content, Message};
use crate::mcp::jsonrpc::RawJson;
use crate::sys::cancel::Cancel;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// A request to a model.
pub struct CompletionRequest<'a> {
    /// The model and its settings.
    pub model: &'a ModelConfig,
    /// The system prompt; none if empty.
    pub system: &'a str,
    /// The messages so far, repaired: no message is empty, every tool request has its response in the
    /// next message, and every response its request in the previous one.
    pub messages: &'a [&'a Message],
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
    /// What the completion is for.
    pub purpose: Purpose,
    /// The estimated number of input tokens. If a protocol counts the output as a part of the context, the
    /// limit on output leaves room for them; OpenAI's protocol does not.
    pub input: u64,
}

/// What a completion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// The next message of a conversation.
    Turn,
    /// A name for the session.
    Name,
    /// A summary of the conversation so far.
    Summary,
    /// A request of an MCP server (`sampling/createMessage`).
    Sampling,
}

/// A tool as a model sees it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// `extension__tool`.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// A JSON Schema object.
    pub input_schema: RawJson,
}

/// A model and its limits, in the JSON shape of Goose's API (`ModelConfig` of its OpenAPI document).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelConfig {
    /// The provider's name of the model.
    pub model_name: String,
    /// The context size: input and output tokens together.
    pub context_limit: Option<u64>,
    /// The sampling temperature; the provider's default if absent.
    pub temperature: Option<f64>,
    /// The limit on output tokens, if the user sets one or the wire protocol requires one; the provider's
    /// default if absent. In a stored session it is the model's own limit, for clients, even if requests
    /// leave it out.
    pub max_tokens: Option<u64>,
    /// Not supported; always false.
    pub toolshim: bool,
    /// Not supported; always absent.
    pub toolshim_model: Option<String>,
    /// Further fields of every request, unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_params: Option<Map<String, Value>>,
}

/// [`Provider::complete`] calls it for each delta of the response, in the caller's thread.
pub trait DeltaSink {
    /// A response begins; `id` is the provider's id of it, if there is one. A retry may begin a second
    /// response, but only if the first had no delta.
    fn begin(&mut self, _id: Option<&str>) {}
    /// A piece of text, which clients see at once. The [`Completion`] has all of it, too.
    fn text(&mut self, text: &str);
    /// A piece of the model's reasoning.
    fn reasoning(&mut self, _text: &str) {}
    /// The provider is about to wait for more bytes: the sink should flush what it has.
    fn idle(&mut self) {}
    /// The request failed and the provider sends it again after `wait`; `attempt` counts from 1.
    fn retry(&mut self, _attempt: u32, _wait: Duration, _reason: &Error) {}
    /// Something that the user should know of this request, which goes on: one sentence.
    fn notice(&mut self, _text: &str) {}
    /// A tool of the request is not offered; `why` is a sentence that names it.
    fn left_out(&mut self, _tool: &str, why: &str) {
        self.notice(why);
    }
}

/// A sink that ignores all deltas.
pub struct DiscardDeltas;

impl DeltaSink for DiscardDeltas {
    fn text(&mut self, _: &str) {}
}

/// The complete response of a model.
#[derive(Debug, Default)]
pub struct Completion {
    /// The provider's id of the response.
    pub id: Option<String>,
    /// Text, images, reasoning and tool requests, in the order in which they came. A request whose
    /// arguments are not a JSON object is an [`Outcome::Error`](crate::conversation::Outcome) with `name`
    /// and `arguments` in its metadata.
    pub content: Vec<Content>,
    /// How many tokens it took.
    pub usage: Usage,
    /// Why the response ended.
    pub stop: StopReason,
}

/// Numbers of tokens, as far as the provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// The total, if the provider reports one.
    pub total: Option<u64>,
    /// The input tokens that came from the provider's cache.
    pub cached: Option<u64>,
    /// The input tokens that were written to its cache, for a price of its own.
    pub written: Option<u64>,
    /// The output tokens of reasoning.
    pub reasoning: Option<u64>,
}

/// Why a response ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It is complete, or the model waits for the results of its tool calls.
    #[default]
    Complete,
    /// It reached the limit on tokens.
    Length,
    /// The provider's content filter ended it.
    Filtered,
}

/// Access to the models of one provider. The agent calls it, for turns and for its own requests.
pub trait Provider: Send + Sync {
    /// The name that the provider is listed with.
    fn name(&self) -> &str;

    /// Sends a request to a model and waits for the end of the response.
    ///
    /// # Errors
    /// See [`Error`]. The sink may have received deltas before.
    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        cancel: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Error>;

    /// Whether [`CompletionRequest::input`] affects the provider's requests. If not, it may be 0.
    fn uses_input_size(&self) -> bool {
        true
    }

    /// The names of the models that the provider offers now.
    ///
    /// # Errors
    /// See [`Error`].
    fn models(&self, cancel: &Cancel) -> Result<Vec<String>, Error>;
}
