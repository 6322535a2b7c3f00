//! What MCP servers ask of a session: an answer of its model, or of its user. SERVER §5.5; MCP 2025-11-25,
//! client/sampling and client/elicitation.

use super::pending_questions::NoAnswer;
use super::token_estimate::{self, Estimate};
use super::turn_channel::{Notice, SAMPLES, TurnChannel};
use super::turn_output::random_id;
use crate::conversation::{Action, ActionRequired, Content, Message, Metadata, Role};
use crate::extension::{Origin, ServerRequestHandler, tool_names};
use crate::mcp::elicitation_form;
use crate::mcp::jsonrpc::{self, ErrorObject};
use crate::mcp::types::{
    Content as Part, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitMode,
    ElicitParams, ElicitResult, SamplingMessage,
};
use crate::provider::{CompletionRequest, DiscardDeltas, Purpose, StopReason};
use crate::sys::cancel::Cancel;
use crate::text::{for_model, json_for_model};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long the user has for an answer, unless a setting says otherwise.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// The most that a server may have the model write at once, in tokens.
const MAX_TOKENS: u64 = 4_096;
/// How many answers of the model servers may wait for at the same time in one session. An answer to a
/// server calls no tools, so this bounds the depth too: a server that asks because another asked.
const MAX_DEPTH: usize = 4;
/// What MCP's example has for a user who does not agree.
const REJECTED: i64 = -1;

/// SessionRequestHandler for one session.
pub(super) struct SessionRequestHandler {
    pub(super) channel: Arc<TurnChannel>,
    /// How long the user has for an answer.
    answer_timeout: Duration,
    asking: AtomicUsize,
}

impl SessionRequestHandler {
    pub(super) fn new(channel: Arc<TurnChannel>, answer_timeout: Duration) -> Self {
        SessionRequestHandler {
            channel,
            answer_timeout,
            asking: AtomicUsize::new(0),
        }
    }

    /// Asks the user whether the model may answer the server.
    fn may_sample(
        &self,
        from: Origin<'_>,
        params: &CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<(), ErrorObject> {
        let id = random_id("sampling_");
        let rejected = |why: &str| ErrorObject::new(REJECTED, why);
        let question = self.channel.confirmations.ask(&id);
        let question = question.ok_or_else(|| rejected("the user could not be asked"))?;
        // The user is to see what the model will.
        let arguments = serde_json::to_string(params).unwrap_or_default();
        let arguments = RawValue::from_string(json_for_model(&arguments).into_owned());
        let arguments = arguments.unwrap_or_default();
        let shown = self
            .channel
            .tell(Notice::Message(asking(Action::ToolConfirmation {
                id,
                tool_name: tool_names::full_name(from.extension, "sampling"),
                arguments,
                prompt: Some(format!(
                    "The MCP server of the extension {:?} wants to ask the model this.",
                    from.extension
                )),
            })));
        if !shown {
            return Err(rejected(
                "there is no user to ask whether the model may answer",
            ));
        }
        match question.wait(self.answer_timeout, cancel) {
            Ok(answer) if answer.allows() => Ok(()),
            Ok(_) => Err(rejected("the user does not want the model to answer")),
            Err(NoAnswer::TimedOut) => Err(rejected(
                "the user did not say in time whether the model may answer",
            )),
            Err(NoAnswer::Cancelled) => Err(rejected("the call was given up")),
        }
    }
}

impl ServerRequestHandler for SessionRequestHandler {
    fn sample(
        &self,
        from: Origin<'_>,
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
        let _one = One::of(&self.asking)
            .ok_or_else(|| refused(format!("the model answers {MAX_DEPTH} servers already")))?;
        if !self.channel.sample() {
            let why = format!("servers have had {SAMPLES} answers of the model in this turn");
            return Err(refused(why));
        }
        if mode.asks() {
            self.may_sample(from, &params, cancel)?;
        }
        let mut config = model.config.clone();
        let most = config.max_tokens.unwrap_or(MAX_TOKENS).min(MAX_TOKENS);
        config.max_tokens = Some(params.max_tokens.clamp(1, most));
        config.temperature = params.temperature.or(config.temperature);
        let system = for_model(params.system_prompt.as_deref().unwrap_or_default());
        let size = system.len() + messages.iter().map(token_estimate::size_of).sum::<usize>();
        let ask = CompletionRequest {
            model: &config,
            system: &system,
            messages: &messages.iter().collect::<Vec<_>>(),
            note: None,
            tools: &[],
            purpose: Purpose::Sampling,
            input: Estimate::default().tokens(size),
        };
        let answer = model.provider.complete(&ask, cancel, &mut DiscardDeltas);
        let answer = answer.map_err(|error| refused(error.message))?;
        self.channel.tell(Notice::Usage(answer.usage));
        let stop_reason = match answer.stop {
            StopReason::Complete => "endTurn",
            StopReason::Length => "maxTokens",
            StopReason::Filtered => "contentFilter",
        };
        let mut content: Vec<Part> = answer.content.iter().filter_map(part).collect();
        if content.is_empty() {
            content.push(Part::text(""));
        }
        Ok(CreateMessageResult {
            role: "assistant".to_owned(),
            content,
            model: config.model_name,
            stop_reason: Some(stop_reason.to_owned()),
        })
    }

    fn elicit(
        &self,
        from: Origin<'_>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject> {
        let schema: Value = match &params.requested_schema {
            Some(schema) => crate::json::from_str(schema.get()).unwrap_or_default(),
            None => json!({"type": "object", "properties": {}}),
        };
        let mut message = for_model(&params.message).into_owned();
        if params.mode == ElicitMode::Url {
            // That it is http or https was checked when it was read.
            let url = params.url.as_deref().unwrap_or_default();
            message = format!("{message}\n\nOpen this address, if you trust it: {url}");
        }
        let id = random_id("elicitation_");
        let Some(question) = self.channel.answers.ask(&id) else {
            return Ok(unanswered(ElicitAction::Cancel));
        };
        let shown = self
            .channel
            .tell(Notice::Message(asking(Action::Elicitation {
                id,
                message,
                requested_schema: to_raw_value(&schema).unwrap_or_default(),
            })));
        let who = from.extension;
        if !shown {
            log::info!("declined, as there is nobody to ask extension={who:?}");
            return Ok(unanswered(ElicitAction::Decline));
        }
        match question.wait(self.answer_timeout, cancel) {
            Ok(answer) => judged(answer, &schema, params.mode),
            Err(NoAnswer::TimedOut) => {
                let answer_timeout = self.answer_timeout;
                log::info!("declined, as nobody answered in {answer_timeout:?} extension={who:?}");
                self.channel
                    .tell(Notice::Message(late(who, answer_timeout)));
                Ok(unanswered(ElicitAction::Decline))
            }
            Err(NoAnswer::Cancelled) => Ok(unanswered(ElicitAction::Cancel)),
        }
    }
}

/// What the user's answer means: `null` is no; `{"action": "accept" | "decline" | "cancel", "content":
/// {…}}` says it in full, unless the form itself asks for an `action`; any other object is what was
/// filled in.
fn judged(
    answer: Option<Value>,
    schema: &Value,
    mode: ElicitMode,
) -> Result<ElicitResult, ErrorObject> {
    let Some(answer) = answer else {
        return Ok(unanswered(ElicitAction::Decline));
    };
    let own = schema.pointer("/properties/action").is_some();
    let action = answer.get("action").filter(|_| !own);
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

fn asking(data: Action) -> Message {
    let content = vec![Content::ActionRequired(ActionRequired { data })];
    Message::new(Role::Assistant, content).seen_by(Metadata::USER_ONLY)
}

fn late(extension: &str, answer_timeout: Duration) -> Message {
    let seconds = answer_timeout.as_secs();
    let text = format!("There was no answer to {extension} in {seconds} s, so it was told no.");
    Message::text(Role::Assistant, text).seen_by(Metadata::USER_ONLY)
}

/// A message of a server as one of ours.
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
            Content::Text(_) | Content::Image(_) => Ok(content),
            _ => Err("only text and images are taken".to_owned()),
        }
    });
    Ok(Message::new(role, content.collect::<Result<_, String>>()?))
}

/// A part of our message as one for a server.
fn part(content: &Content) -> Option<Part> {
    match content {
        Content::Text(text) => Some(Part::text(&text.text)),
        Content::Image(image) => Some(Part::image(&image.data, &image.mime_type)),
        _ => None,
    }
}

/// One of those who are asking.
struct One<'c>(&'c AtomicUsize);

impl<'c> One<'c> {
    fn of(count: &'c AtomicUsize) -> Option<Self> {
        let order = Ordering::SeqCst;
        let more = |count: usize| (count < MAX_DEPTH).then_some(count + 1);
        count
            .fetch_update(order, order, more)
            .ok()
            .map(|_| One(count))
    }
}

impl Drop for One<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(answer: Value, schema: Value) -> (ElicitAction, Option<Value>) {
        let answer = Some(answer).filter(|answer| !answer.is_null());
        let result = super::judged(answer, &schema, ElicitMode::Form).unwrap();
        (result.action, result.content.map(Value::Object))
    }

    #[test]
    fn an_answer_says_yes_no_or_nothing() {
        let form = json!({"properties": {"name": {"type": "string"}}});
        for (answer, action, content) in [
            (json!(null), ElicitAction::Decline, None),
            (
                json!({"name": "x"}),
                ElicitAction::Accept,
                Some(json!({"name": "x"})),
            ),
            (json!({"action": "cancel"}), ElicitAction::Cancel, None),
            (
                json!({"action": "decline", "content": {"name": "x"}}),
                ElicitAction::Decline,
                None,
            ),
            (
                json!({"action": "accept", "content": {"name": "x"}}),
                ElicitAction::Accept,
                Some(json!({"name": "x"})),
            ),
        ] {
            assert_eq!(judged(answer, form.clone()), (action, content));
        }
        let own = json!({"properties": {"action": {"type": "string"}}});
        let filled_in = json!({"action": "cancel"});
        let accepted = (ElicitAction::Accept, Some(filled_in.clone()));
        assert_eq!(judged(filled_in, own), accepted);
    }

    #[test]
    fn only_so_many_ask_at_once() {
        let count = AtomicUsize::new(0);
        let all: Vec<_> = (0..MAX_DEPTH).map_while(|_| One::of(&count)).collect();
        assert_eq!(all.len(), MAX_DEPTH);
        assert!(One::of(&count).is_none());
        drop(all);
        assert!(One::of(&count).is_some());
    }
}
