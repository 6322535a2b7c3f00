//! Decodes a response: one JSON object for each line; the last one has `done`.

use crate::call_limit::check_call_count;
use crate::classify_error;
use crate::conversation::Content;
use crate::json_splitter::JsonSplitter;
use crate::lenient_json::{JsonId, JsonStr, arguments_text, token_count};
use crate::model_output::tool_request;
use crate::wire_protocol::Decoder;
use crate::{Completion, DeltaSink, Error, ErrorClass, StopReason};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct ChatLine<'a> {
    #[serde(borrow, default)]
    message: Option<ChatMessage<'a>>,
    #[serde(default)]
    done: bool,
    #[serde(borrow, default)]
    done_reason: Option<JsonStr<'a>>,
    #[serde(default, deserialize_with = "token_count")]
    prompt_eval_count: Option<u64>,
    #[serde(default, deserialize_with = "token_count")]
    eval_count: Option<u64>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ChatMessage<'a> {
    #[serde(borrow, default)]
    content: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    thinking: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Option<JsonId<'a>>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: JsonStr<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Default)]
pub(super) struct OllamaDecoder {
    line: JsonSplitter,
    begun: bool,
    done: bool,
    calls: usize,
    completion: Completion,
}

impl Decoder for OllamaDecoder {
    fn push(&mut self, mut piece: &[u8], sink: &mut dyn DeltaSink) -> Result<bool, Error> {
        while !self.done
            && let Some((line, rest)) = self.line.push(piece)
        {
            piece = rest;
            self.line(&crate::json::sanitize_bytes(&line), sink)?;
        }
        Ok(self.done)
    }

    fn finish(self: Box<Self>) -> Result<Completion, Error> {
        if self.done {
            Ok(self.completion)
        } else {
            Err(Error::new(
                ErrorClass::Transport,
                if self.begun {
                    "the connection ended in the middle of the answer"
                } else {
                    "the connection ended without an answer"
                },
            ))
        }
    }
}

impl OllamaDecoder {
    fn line(&mut self, json: &str, sink: &mut dyn DeltaSink) -> Result<(), Error> {
        // Some servers send the lines as an event stream.
        let json = json.trim_start();
        let json = json.strip_prefix("data:").unwrap_or(json);
        let line: ChatLine<'_> = crate::json::from_str(json).map_err(|e| {
            let head: String = json.chars().take(500).collect();
            let what = format!("the answer has a line that is not a chat message ({e}): {head}");
            Error::protocol(what)
        })?;
        if line.error.is_some() {
            let error: Value = crate::json::from_str(json).unwrap_or_default();
            return Err(classify_error::stream_error(&error));
        }
        if !self.begun {
            self.begun = true;
            sink.begin(None);
        }
        if let Some(message) = line.message {
            self.message(message, sink)?;
        }
        let usage = &mut self.completion.usage;
        usage.input = line.prompt_eval_count.or(usage.input);
        usage.output = line.eval_count.or(usage.output);
        if line.done {
            self.done = true;
            if line.done_reason.is_some_and(|reason| reason.0 == "length") {
                self.completion.stop = StopReason::Length;
            }
        }
        Ok(())
    }

    fn message(&mut self, message: ChatMessage<'_>, sink: &mut dyn DeltaSink) -> Result<(), Error> {
        let completion = &mut self.completion;
        completion.add_reasoning(&message.thinking.unwrap_or_default().0, sink);
        completion.add_text(&message.content.unwrap_or_default().0, sink);
        for call in message.tool_calls.into_iter().flatten() {
            check_call_count(self.calls)?;
            self.calls += 1;
            let arguments = call.function.arguments.map(arguments_text);
            let request = tool_request(
                call.id.map(|id| id.0.into_owned()),
                call.function.name.0.into_owned(),
                arguments.unwrap_or_default().into_owned(),
            );
            completion.content.push(Content::ToolRequest(request));
        }
        Ok(())
    }
}
