//! OpenAI's Responses, the protocol of its newer models: requests, and the decoder of the response.
//!
//! <https://platform.openai.com/docs/api-reference/responses>
//!
//! The server stores nothing: each request has the complete conversation, and the model's reasoning goes back
//! encrypted, as the server sent it.

mod reasoning_signature;
mod responses_decoder;
mod responses_json;
mod responses_request;
#[cfg(test)]
mod tests;

pub(super) use responses_decoder::ResponsesDecoder;
pub(super) use responses_request::body;
