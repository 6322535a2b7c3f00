//! Requests of MCP servers to a session: sampling (an answer of its model) and elicitation (data from its
//! user). SERVER §5.5; MCP 2025-11-25,
//! client/sampling and client/elicitation.

use crate::agent::session::observers::SessionObservers;
use crate::agent::turn::token_estimate::{self, Estimate};
use crate::agent::turn::turn_channel::{MAX_SAMPLING_REQUESTS, Notice, TurnChannel};
use crate::agent::turn::turn_output::random_id;
use crate::conversation::{Action, ActionRequired, Content, Message, Metadata, Role};
use crate::extension::{RequestHandlers, tool_names};
use crate::mcp::client::RequestHandler;
use crate::mcp::elicitation_form;
use crate::mcp::jsonrpc::{self, ErrorObject};
use crate::mcp::types::{
    Content as Part, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitMode,
    ElicitParams, ElicitResult, SamplingMessage,
};
use crate::provider::{
    Completion, CompletionRequest, DiscardDeltas, ModelConfig, Purpose, StopReason,
};
use crate::sys::cancel::{Cancel, NoMessage};
use crate::text::{for_model, json_for_model, printable};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The largest output of the model for one sampling request, in tokens.
const MAX_SAMPLING_TOKENS: u64 = 4_096;
/// How many sampling requests of one session the model answers at the same time. This bounds nested requests
/// too, because sampling calls no tools.
const MAX_PARALLEL_SAMPLING: usize = 4;
/// The error code that MCP's example has for a user who rejects a sampling request.
const REJECTED: i64 = -1;
/// The longest text of an elicitation, in characters.
const MAX_QUESTION: usize = 4_000;
const NO_USER: &str = "there is no user to ask whether the model may answer";

/// What handles the requests for the session `id`. A request waits for the user's answer for `answer_timeout`.
pub(in crate::agent) fn request_handlers(
    id: &str,
    channel: Arc<TurnChannel>,
    observers: SessionObservers,
    answer_timeout: Duration,
) -> Arc<RequestHandlers> {
    let id: Arc<str> = id.into();
    let counts = Arc::new(Counts::default());
    Arc::new(move |extension| {
        Arc::new(ExtensionRequestHandler {
            extension,
            session_id: id.clone(),
            channel: channel.clone(),
            observers: observers.clone(),
            answer_timeout,
            counts: counts.clone(),
        })
    })
}

/// What the extensions of a session have in common.
#[derive(Default)]
struct Counts {
    /// Sampling requests that are being handled.
    sampling: AtomicUsize,
    /// Whether the log says that elicitations outside of turns are declined.
    told_no_turn: AtomicBool,
}

/// Handles the requests of one extension's server.
struct ExtensionRequestHandler {
    /// The key of the extension.
    extension: String,
    session_id: Arc<str>,
    channel: Arc<TurnChannel>,
    observers: SessionObservers,
    answer_timeout: Duration,
    counts: Arc<Counts>,
}

impl ExtensionRequestHandler {
    /// Asks the user in the turn, or outside of one; false if nobody sees the question.
    fn ask(&self, data: Action) -> bool {
        let content = vec![Content::ActionRequired(ActionRequired { data })];
        let question = Message::new(Role::Assistant, content).seen_by(Metadata::USER_ONLY);
        let mut asked = (self.observers).ask(|it| it.asked(&self.session_id, &question));
        self.channel.send(Notice::Message(question.clone())) || asked.any(|is_shown| is_shown)
    }

    /// Asks the user whether the model may answer the server. An error if not.
    fn approve_sampling(
        &self,
        params: &CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<(), ErrorObject> {
        let id = random_id("sampling_");
        let rejected = |why: &str| ErrorObject::new(REJECTED, why);
        if !self.channel.is_attended() {
            return Err(rejected(NO_USER));
        }
        let question = self.channel.confirmations.open(&id);
        let question = question.ok_or_else(|| rejected("the user could not be asked"))?;
        // The user sees what the model will see.
        let arguments = serde_json::to_string(params).unwrap_or_default();
        let arguments = RawValue::from_string(json_for_model(&arguments).into_owned());
        let arguments = arguments.unwrap_or_default();
        let shown = self.ask(Action::ToolConfirmation {
            id,
            tool_name: tool_names::full_name(&self.extension, "sampling"),
            arguments,
            prompt: Some(format!(
                "The MCP server of the extension {:?} wants to ask the model this.",
                self.extension
            )),
        });
        if !shown {
            return Err(rejected(NO_USER));
        }
        match question.wait(self.answer_timeout, cancel) {
            Ok(answer) if answer.is_allowed() => Ok(()),
            Ok(_) => Err(rejected("the user does not want the model to answer")),
            Err(NoMessage::TimedOut) => Err(rejected(
                "the user did not say in time whether the model may answer",
            )),
            Err(NoMessage::Cancelled | NoMessage::Closed) => Err(rejected("the call was given up")),
        }
    }
}

impl RequestHandler for ExtensionRequestHandler {
    fn sample(
        &self,
        _: Option<&str>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let (model, mode) = self.channel.model();
        let refused = |why: String| ErrorObject::new(jsonrpc::INTERNAL_ERROR, why);
        let model = model.ok_or_else(|| refused("the session has no model yet".to_owned()))?;
        if params.messages.is_empty() {
            let why = "`messages` is empty";
            return Err(ErrorObject::new(jsonrpc::INVALID_PARAMS, why));
        }
        let messages = params
            .messages
            .iter()
            .map(message)
            .collect::<Result<Vec<_>, _>>();
        let messages = messages.map_err(|why| ErrorObject::new(jsonrpc::INVALID_PARAMS, why))?;
        let _slot = SamplingSlot::take(&self.counts.sampling).ok_or_else(|| {
            refused(format!(
                "the model answers {MAX_PARALLEL_SAMPLING} servers already"
            ))
        })?;
        if !self.channel.count_sampling_request() {
            let why = format!(
                "servers have had {MAX_SAMPLING_REQUESTS} answers of the model in this turn"
            );
            return Err(refused(why));
        }
        if mode.asks_user() {
            self.approve_sampling(&params, cancel)?;
        }
        let config = sampling_config(&model.config, &params);
        let system = for_model(params.system_prompt.as_deref().unwrap_or_default());
        let size = system.len() + messages.iter().map(token_estimate::size_of).sum::<usize>();
        let request = CompletionRequest {
            model: &config,
            system: &system,
            messages: &messages.iter().collect::<Vec<_>>(),
            tools: &[],
            purpose: Purpose::Sampling,
            input: Estimate::default().tokens(size),
        };
        let answer = model
            .provider
            .complete(&request, cancel, &mut DiscardDeltas);
        let answer = answer.map_err(|error| refused(error.message))?;
        self.channel.send(Notice::Usage(answer.usage));
        Ok(sampling_result(&answer, config.model_name))
    }

    fn elicit(
        &self,
        _: Option<&str>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject> {
        let mut schema: Value = match &params.requested_schema {
            Some(schema) => crate::json::from_str(schema.get()).unwrap_or_default(),
            None => json!({"type": "object", "properties": {}}),
        };
        if let Some(fields) = schema.as_object_mut() {
            // MCP has no heading of a form; a client could show it above the name of the extension.
            fields.retain(|name, _| !matches!(name.as_str(), "title" | "description"));
        }
        let mut message = question_text(&self.extension, &params.message);
        if params.mode == ElicitMode::Url {
            // Reading the request has checked that the scheme is http or https.
            let url = printable(params.url.as_deref().unwrap_or_default(), MAX_QUESTION);
            message = format!("{message}\n\nOpen this address, if you trust it: {url}");
        }
        if !self.channel.is_attended() {
            return Ok(unanswered(ElicitAction::Decline));
        }
        let id = random_id("elicitation_");
        let Some(question) = self.channel.elicitations.open(&id) else {
            return Ok(unanswered(ElicitAction::Cancel));
        };
        let shown = self.ask(Action::Elicitation {
            id,
            message,
            requested_schema: to_raw_value(&schema).unwrap_or_default(),
        });
        let extension = self.extension.as_str();
        if !shown {
            // A server may ask without end.
            if !self.counts.told_no_turn.swap(true, Ordering::Relaxed) {
                log::info!(
                    "elicitations are declined, as no turn is running, which is logged once \
                     extension={extension:?}"
                );
            }
            return Ok(unanswered(ElicitAction::Decline));
        }
        match question.wait(self.answer_timeout, cancel) {
            Ok(answer) => elicit_result(answer, &schema, params.mode),
            Err(NoMessage::TimedOut) => {
                let timeout = self.answer_timeout;
                log::info!(
                    "elicitation declined, as the user did not answer in {timeout:?} extension={extension:?}"
                );
                self.channel
                    .send(Notice::Message(unanswered_notice(extension, timeout)));
                Ok(unanswered(ElicitAction::Decline))
            }
            Err(NoMessage::Cancelled | NoMessage::Closed) => Ok(unanswered(ElicitAction::Cancel)),
        }
    }
}

/// The model's settings with those that the server asks for.
fn sampling_config(model: &ModelConfig, params: &CreateMessageParams) -> ModelConfig {
    let most = model.max_tokens.unwrap_or(MAX_SAMPLING_TOKENS);
    let most = most.clamp(1, MAX_SAMPLING_TOKENS);
    ModelConfig {
        max_tokens: Some(params.max_tokens.clamp(1, most)),
        temperature: params.temperature.or(model.temperature),
        ..model.clone()
    }
}

fn sampling_result(answer: &Completion, model: String) -> CreateMessageResult {
    let stop_reason = match answer.stop {
        StopReason::Complete => "endTurn",
        StopReason::Length => "maxTokens",
        StopReason::Filtered => "contentFilter",
    };
    let mut content: Vec<Part> = answer.content.iter().filter_map(part).collect();
    if content.is_empty() {
        content.push(Part::text(""));
    }
    CreateMessageResult {
        role: "assistant".to_owned(),
        content,
        model,
        stop_reason: Some(stop_reason.to_owned()),
    }
}

/// The result for the user's answer. `null` declines; `{"action": "accept" | "decline" | "cancel",
/// "content": {…}}` is taken as it is, unless the schema has a property `action`; any other object is the
/// data of the form.
fn elicit_result(
    answer: Option<Value>,
    schema: &Value,
    mode: ElicitMode,
) -> Result<ElicitResult, ErrorObject> {
    let Some(answer) = answer else {
        return Ok(unanswered(ElicitAction::Decline));
    };
    let is_property = schema.pointer("/properties/action").is_some();
    let action = answer.get("action").filter(|_| !is_property);
    let (action, content) = match action.and_then(|action| crate::json::from_value(action).ok()) {
        Some(action) => (action, answer.get("content").cloned()),
        None => (ElicitAction::Accept, Some(answer)),
    };
    if action != ElicitAction::Accept || mode == ElicitMode::Url {
        return Ok(unanswered(action));
    }
    let filled_in = match content {
        Some(Value::Object(filled_in)) => filled_in,
        _ => Map::new(),
    };
    match elicitation_form::complete(schema, filled_in) {
        Ok(content) => Ok(ElicitResult {
            action,
            content: Some(content),
        }),
        Err(wrong) => {
            let why = format!("the user's answer does not fit: {}", wrong.join("; "));
            Err(ErrorObject::new(jsonrpc::INVALID_PARAMS, why))
        }
    }
}

fn unanswered(action: ElicitAction) -> ElicitResult {
    ElicitResult {
        action,
        content: None,
    }
}

/// The text of an elicitation. It begins with the extension. Each further line of the server's text is marked, so
/// that it cannot pass for a line of gosling or for the question of another extension.
fn question_text(extension: &str, message: &str) -> String {
    let mut shown: String = for_model(message).chars().take(MAX_QUESTION).collect();
    if message.chars().count() > MAX_QUESTION {
        shown.push('…');
    }
    let ends_line = |c| {
        matches!(
            c,
            '\n' | '\r' | '\x0b' | '\x0c' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let lines = shown
        .split(ends_line)
        .map(|line| line.replace(char::is_control, " "));
    let lines: Vec<_> = lines.filter(|line| !line.trim().is_empty()).collect();
    let name = printable(extension, 100);
    format!("The extension {name:?} asks: {}", lines.join("\n> "))
}

fn unanswered_notice(extension: &str, timeout: Duration) -> Message {
    let seconds = timeout.as_secs();
    let text = format!("There was no answer to {extension} in {seconds} s, so it was told no.");
    Message::text(Role::Assistant, text).seen_by(Metadata::USER_ONLY)
}

/// Converts a message of a sampling request.
fn message(from: &SamplingMessage) -> Result<Message, String> {
    let role = match from.role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err("a `role` is neither `user` nor `assistant`".to_owned()),
    };
    let content = from.content.iter().map(|part| {
        let part = json_for_model(part.as_json());
        let content: Content = crate::json::from_str(&part).map_err(|e| e.to_string())?;
        match content {
            Content::Text(_) | Content::Image(_) | Content::Audio(_) => Ok(content),
            _ => Err("only text, images and audio are taken".to_owned()),
        }
    });
    Ok(Message::new(role, content.collect::<Result<_, String>>()?))
}

/// Converts a part of an answer for the server; `None` for parts that MCP does not have.
fn part(content: &Content) -> Option<Part> {
    match content {
        Content::Text(text) => Some(Part::text(&text.text)),
        Content::Image(image) => Some(Part::image(&image.data, &image.mime_type)),
        _ => None,
    }
}

/// One of the sampling requests that are being handled.
struct SamplingSlot<'c>(&'c AtomicUsize);

impl<'c> SamplingSlot<'c> {
    /// `None` if there are too many.
    fn take(count: &'c AtomicUsize) -> Option<Self> {
        let order = Ordering::SeqCst;
        let more = |count: usize| (count < MAX_PARALLEL_SAMPLING).then_some(count + 1);
        count
            .fetch_update(order, order, more)
            .ok()
            .map(|_| SamplingSlot(count))
    }
}

impl Drop for SamplingSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
