//! The providers of models behind HTTP: a module for each wire protocol, the logins of clouds, and the catalog of all
//! providers and models.
//!
//! [`ProviderCatalog`] finds a provider by its name: a vendor with a protocol of its own, a host that is a row of data
//! ([`catalog`]), a file of the user ([`catalog::custom_providers`]), or one in the process. An [`HttpProvider`] sends
//! its requests and repeats them where that can help; a `Protocol` writes the request and decodes the stream, without
//! any I/O. What models and clients see of all this are the types of [`gosling_core::provider`].
//!
//! [`PART`] adds the catalog and `gosling models`.
#![forbid(unsafe_code)]

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(feature = "bedrock")]
mod bedrock;
mod body_fields;
mod call_limit;
pub mod catalog;
mod classify_error;
#[cfg(feature = "copilot")]
mod copilot;
mod credentials;
#[cfg(test)]
mod decoder_memory_ratio;
#[cfg(any(test, fuzzing))]
mod decoder_testing;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod gemini_signatures;
#[cfg(feature = "google")]
mod google;
mod header_settings;
mod http_provider;
mod json_splitter;
mod lead_worker;
mod lenient_json;
mod listed_limits;
mod message_parts;
mod model_details;
mod model_facts;
mod model_families;
mod model_traits;
mod models_command;
#[cfg(feature = "ollama")]
mod ollama;
mod openai;
mod output_limit;
mod provider_spec;
mod request_form;
mod request_retries;
mod response_body;
mod responses;
mod responses_url;
mod server_url;
mod thinking_effort;
mod thinking_origin;
mod too_long;
mod tool_name_encoding;
mod tool_offer;
mod tool_schema;
#[cfg(feature = "vertex")]
mod vertex;
mod wait_in_words;
mod wire_protocol;

pub use catalog::ProviderCatalog;
pub use gosling_outbound as outbound;
pub use http_provider::{HttpProvider, HttpProviderOptions};
pub use responses_url::UseResponses;
pub use wire_protocol::Endpoint;

use gosling_core::part::Part;
use gosling_core::provider::model_output::MIN_OUTPUT;
use gosling_core::provider::{
    Completion, CompletionRequest, DeltaSink, Error, ErrorClass, ModelConfig, Provider, Purpose,
    StopReason, ToolSpec, Usage, model_output, tool_result_conversion,
};
use gosling_core::{conversation, features, json, sorting, store, sys};

/// What these providers add to gosling.
pub const PART: Part = Part {
    commands: &[models_command::COMMAND],
    catalog: Some(catalog::create),
    ..Part::new("openai")
};
