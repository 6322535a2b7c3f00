//! One request of a turn to the model: what it contains, what becomes of the answer or the error.

use crate::agent::prompt::checklist;
use crate::agent::prompt::context_changes::{self, Facts, ToldContext};
use crate::agent::prompt::system_prompt;
use crate::agent::questions::permission_mode::Mode;
use crate::agent::session::model_selection::{LEAD, WORKER};
use crate::agent::turn::model_history;
use crate::agent::turn::token_estimate::{self, RequestSize};
use crate::agent::turn::turn_channel::Model;
use crate::agent::turn::turn_output::{AnswerAccumulator, random_id};
use crate::agent::turn::turn_state::TurnState;
use crate::agent::turn::{Turn, TurnStop};
use crate::agent::{Error, Event};
use crate::conversation::{Content, Message, Metadata, NotificationType, Outcome, Role};
use crate::extension::resource_tools;
use crate::mcp::types::Tool;
use crate::provider::{
    self, Completion, CompletionRequest, ErrorClass, Purpose, StopReason, ToolSpec,
};
use crate::store::settings;
use crate::sys::clock;
use crate::text::{for_model, json_for_model};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// How many times a request is repeated because the model refused an image in it: without the new images,
/// then without any.
const IMAGE_RETRIES: usize = 2;
/// The length of `YYYY-MM-DD`.
const DATE_LENGTH: usize = 10;

/// What the model is told after its answer broke off.
const CONTINUE: &str = "The connection broke in the middle of your answer. Continue exactly where it stopped, \
                        without repeating what is there.";

/// The answer of the model to one request.
struct Reply {
    answer: Result<Completion, provider::Error>,
    /// The message as far as it was streamed.
    streamed: Message,
    /// The size of the request, if it was measured.
    size: Option<RequestSize>,
}

impl Turn<'_> {
    /// Asks the model once, and once more for the rest if the connection breaks in its text; stores and returns its
    /// message. `None` if the turn is over: the answer was empty, the model failed, or the turn was cancelled.
    pub(in crate::agent) fn ask_model(&mut self) -> Result<Option<Message>, Error> {
        self.ask_for_answer(true)
    }

    fn ask_for_answer(&mut self, may_continue: bool) -> Result<Option<Message>, Error> {
        let Reply {
            answer,
            streamed,
            size,
        } = self.request_answer_of_either()?;
        match answer {
            Ok(answer) => {
                self.refused.prove();
                let usage = answer.usage;
                let message = self.store_answer(answer, streamed)?;
                let TurnState {
                    journal, estimate, ..
                } = &mut *self.state;
                estimate.learn(size, usage, journal.messages());
                Ok(message)
            }
            Err(error) => {
                let has_begun = !streamed.content.iter().all(says_nothing);
                if !streamed.content.is_empty() {
                    self.store(streamed)?;
                }
                if may_continue && has_begun && error.class == ErrorClass::Transport {
                    self.prepare_continuation(&error)?;
                    return self.ask_for_answer(false);
                }
                if error.class != ErrorClass::Cancelled {
                    self.report_failure(&error, has_begun)?;
                }
                Ok(None)
            }
        }
    }

    /// Asks for the rest of an answer whose begin is stored, and tells the user. Calls in the lost part are not known,
    /// so the model makes them anew.
    fn prepare_continuation(&mut self, error: &provider::Error) -> Result<(), Error> {
        log::warn!("the model's answer continues reason={:?}", error.message);
        let told = format!("{error}. The model continues its answer.");
        self.output.notify(NotificationType::InlineMessage, told);
        let note = Message::text(Role::User, CONTINUE);
        self.store(note.seen_by(Metadata::AGENT_ONLY))
    }

    /// As [`request_answer`](Self::request_answer); if the worker model gives no answer, the lead model replaces it
    /// until the end of the turn, as in Goose.
    fn request_answer_of_either(&mut self) -> Result<Reply, Error> {
        if self.state.last_role != Some(WORKER) {
            return self.request_answer();
        }
        let reply = self.request_answer_or_summary()?;
        let Err(error) = &reply.answer else {
            return Ok(reply);
        };
        if error.class == ErrorClass::Cancelled || self.context.cancel.is_cancelled() {
            return Ok(reply);
        }
        let Some(lead) = self.context.lead.as_deref() else {
            return Ok(reply);
        };
        let class = error.class;
        let worker = error.message.trim_end_matches('.').to_owned();
        let failed = |lead: &dyn fmt::Display| {
            provider::Error::new(
                class,
                format!("{worker}. The lead model failed, too: {lead}"),
            )
        };
        match self.context.models.lead(lead, &self.context.own_model) {
            Ok(lead) => self.replace_worker(lead, error, reply.streamed)?,
            Err(lead) => {
                let answer = Err(failed(&lead));
                return Ok(Reply { answer, ..reply });
            }
        }
        let reply = self.request_answer_or_summary()?;
        Ok(match &reply.answer {
            Err(lead) if lead.class != ErrorClass::Cancelled => Reply {
                answer: Err(failed(lead)),
                ..reply
            },
            _ => reply,
        })
    }

    /// As [`request_answer`](Self::request_answer); the error of a summary beforehand is the model's answer.
    fn request_answer_or_summary(&mut self) -> Result<Reply, Error> {
        match self.request_answer() {
            Err(Error::Model(error)) => Ok(Reply {
                answer: Err(error),
                streamed: Message::new(Role::Assistant, Vec::new()),
                size: None,
            }),
            reply => reply,
        }
    }

    /// Lets the lead model answer from here to the end of the turn. `streamed` is what the worker wrote before it
    /// failed; only the user sees it.
    fn replace_worker(
        &mut self,
        lead: Model,
        error: &provider::Error,
        streamed: Message,
    ) -> Result<(), Error> {
        let worker = &self.model.config.model_name;
        log::warn!(
            "the lead model replaces the worker model={worker:?} reason={:?}",
            error.message
        );
        if !streamed.content.is_empty() {
            self.store(streamed.seen_by(Metadata::USER_ONLY))?;
        }
        let told = format!(
            "The worker model gave no answer, so the lead model answers until the end of this turn: {error}"
        );
        self.output.notify(NotificationType::InlineMessage, told);
        self.output.event(Event::ModelChange {
            model: &lead.config.model_name,
            mode: LEAD,
        });
        self.output.price = self.context.models.price(&lead);
        self.context.agent.channel.set_model(&lead);
        self.state.last_role = Some(LEAD);
        self.model = lead;
        Ok(())
    }

    /// Sends the conversation to the model. Repeats the request after compacting the conversation if it is
    /// too long for the model, and without images that the model refused.
    fn request_answer(&mut self) -> Result<Reply, Error> {
        let tools = self.tools()?;
        let now = self.facts();
        let first = self.update_told_context(&now, &tools);
        let system = self.system_prompt(&first);
        let list = self.checklist();
        let beside = token_estimate::size_beside(&system, &tools);
        let (provider, model) = (&self.model.provider, &self.model.config.model_name);
        let name = format!("{}/{model}", provider.name());
        let mut image_retries = 0;
        loop {
            let size = self.compact_if_full(beside)?;
            let messages = self.state.journal.messages();
            if let Some(news) = context_changes::news(&first, &now, list.as_deref(), messages) {
                self.store(news)?;
            }
            let history = model_history::repaired(self.state.journal.messages());
            let history = self.refused.in_words(&name, history);
            let messages: Vec<&Message> = history.iter().map(Cow::as_ref).collect();
            let ask = CompletionRequest {
                model: &self.model.config,
                system: &system,
                messages: &messages,
                tools: &tools,
                purpose: Purpose::Turn,
                input: size.map_or(0, |size| size.tokens),
            };
            let mut accumulator = AnswerAccumulator::new(&mut self.output, &mut self.state.notices);
            let provider = &self.model.provider;
            let answer = provider.complete(&ask, &self.context.cancel, &mut accumulator);
            let left_out = accumulator.take_left_out();
            let streamed = accumulator.into_message();
            self.context.agent.left_out.add(&name, left_out);
            match answer {
                Err(error)
                    if error.class == ErrorClass::ContextExceeded
                        && streamed.content.is_empty()
                        && (self.refused).add_older(
                            &name,
                            &history,
                            self.state.journal.messages(),
                        ) =>
                {
                    let kind = NotificationType::InlineMessage;
                    let told = "The request is too large for the model, which gets a short text in \
                        place of the older images";
                    self.output.notify(kind, format!("{told}: {error}"));
                }
                Err(error) if error.class == ErrorClass::ContextExceeded && self.may_compact() => {
                    if !self.compact("The conversation is too long for the model")? {
                        return Ok(Reply {
                            answer: Err(error),
                            streamed,
                            size,
                        });
                    }
                }
                Err(error)
                    if error.class == ErrorClass::Image
                        && streamed.content.is_empty()
                        && image_retries < IMAGE_RETRIES
                        && (self.refused).add(&name, &history, self.state.journal.messages()) =>
                {
                    image_retries += 1;
                    let kind = NotificationType::InlineMessage;
                    let told = "The model refused an image and gets a short text in its place";
                    self.output.notify(kind, format!("{told}: {error}"));
                }
                answer => {
                    return Ok(Reply {
                        answer,
                        streamed,
                        size,
                    });
                }
            }
        }
    }

    /// Stores the answer and sends the parts that were not streamed. `None` if the answer has neither text
    /// nor calls.
    fn store_answer(
        &mut self,
        answer: Completion,
        streamed: Message,
    ) -> Result<Option<Message>, Error> {
        let mut message = Message {
            content: answer.content,
            ..streamed
        };
        self.complete_requests(&mut message);
        self.tally.answered = true;
        self.tally.report.stop = match answer.stop {
            StopReason::Complete => TurnStop::Finished,
            StopReason::Length => TurnStop::MaxTokens,
            StopReason::Filtered => TurnStop::Filtered,
        };
        self.output.count_request(answer.usage);
        if message.content.iter().all(says_nothing) {
            message.content.retain(is_thought);
            if !message.content.is_empty() {
                self.store(message)?;
            }
            let text = empty_answer(answer.stop);
            self.tally.report.failure = Some(text.to_owned());
            self.output.notify(NotificationType::InlineMessage, text);
            return Ok(None);
        }
        let rest = message.content.iter().filter(|part| {
            matches!(
                part,
                Content::Image(_) | Content::ToolRequest(_) | Content::Other(_)
            )
        });
        let rest: Vec<Content> = rest.cloned().collect();
        if !rest.is_empty() {
            self.output.message(&Message {
                content: rest,
                id: message.id.clone(),
                ..message
            });
            self.output.flush();
        }
        self.store(message.clone())?;
        let cut = match answer.stop {
            StopReason::Complete => None,
            StopReason::Length => {
                Some("The answer met the model's limit on output and is cut off.")
            }
            StopReason::Filtered => Some("The provider held back the rest of the answer."),
        };
        if let Some(cut) = cut {
            self.output.notify(NotificationType::InlineMessage, cut);
        }
        Ok(Some(message))
    }

    /// Gives every request an id that is unique in the session and adds what clients need to show the call: the extension that owns
    /// the tool, and the tool's user interface.
    fn complete_requests(&self, message: &mut Message) {
        // Some servers count the calls of each answer anew.
        let earlier = self.state.journal.messages().iter();
        let earlier = earlier.flat_map(|message| message.tool_requests());
        let mut seen: HashSet<String> = earlier.map(|request| request.id.clone()).collect();
        for part in &mut message.content {
            let Content::ToolRequest(request) = part else {
                continue;
            };
            if request.id.is_empty() || !seen.insert(request.id.clone()) {
                request.id = random_id("call_");
                seen.insert(request.id.clone());
            }
            let owner = match &request.tool_call {
                Outcome::Success { value } => self.extensions().find(&value.name),
                Outcome::Error { .. } => None,
            };
            if let Some(owner) = owner {
                let mut meta = json!({ "goose_extension": owner.extension });
                if let Some(ui) = owner.tool.ui() {
                    meta["ui"] = Value::Object(ui);
                }
                request.meta = Some(meta);
            }
        }
    }

    /// Tells the user that the model failed, and whether its answer had begun. The model does not see this message.
    fn report_failure(&mut self, error: &provider::Error, has_begun: bool) -> Result<(), Error> {
        log::warn!(
            "model failed class={:?} reason={:?}",
            error.class,
            error.message
        );
        self.output.events.model_failed(error, has_begun);
        if error.class == ErrorClass::Credits {
            self.output
                .notify(NotificationType::CreditsExhausted, &error.message);
        }
        let what = if has_begun {
            "model's answer broke off"
        } else {
            "model gave no answer"
        };
        self.tally.report.failure = Some(format!("the {what}: {error}"));
        self.reply_without_model(format!(
            "The {what}: {error}\n\nSend your message again to try once more."
        ))
    }

    /// The tools that the model may call: none in chat mode, unless the conversation has calls.
    fn tools(&self) -> Result<Vec<ToolSpec>, Error> {
        // Some providers refuse a history with calls if the request offers no tools.
        let has_calls =
            |m: &Arc<Message>| m.metadata.agent_visible && m.tool_requests().next().is_some();
        let spec = |name: String, tool: Tool| ToolSpec {
            name,
            description: for_model(&tool.description.unwrap_or_default()).into_owned(),
            input_schema: match json_for_model(tool.input_schema.get()) {
                Cow::Borrowed(_) => tool.input_schema,
                // The replacement keeps it valid JSON.
                Cow::Owned(schema) => RawValue::from_string(schema).unwrap_or_default(),
            },
        };
        let is_chat = self.mode == Mode::Chat;
        let own = self.context.recipe.tools(is_chat).into_iter();
        let mut specs: Vec<ToolSpec> = own.map(|tool| spec(tool.name.clone(), tool)).collect();
        if is_chat && !self.state.journal.messages().iter().any(has_calls) {
            return Ok(specs);
        }
        let listed = self
            .extensions()
            .tools(None, &self.context.cancel)
            .into_iter();
        let listed = listed.filter(|listed| listed.tool.is_for_models());
        specs.extend(listed.map(|listed| spec(listed.name, listed.tool)));
        if self.extensions().has_resources() {
            let resource_tools = resource_tools::tools().into_iter();
            specs.extend(resource_tools.map(|tool| spec(tool.name.clone(), tool)));
        }
        Ok(specs)
    }

    /// What the model has to know of the session's surroundings now.
    fn facts(&self) -> Facts {
        let names = settings::CONTEXT_FILE_NAMES.list(&self.context.stores.config);
        let hints = &self.context.stores.hints;
        Facts {
            date: clock::now_rfc3339()[..DATE_LENGTH].to_owned(),
            mode: self.mode,
            hints: hints.text(
                &self.context.session.working_dir,
                &self.context.session.extension_data.additional_dirs(),
                &names,
            ),
            extensions: self.extensions().instructions(),
        }
    }

    /// The facts for the system prompt: those of the previous request, if they may stay.
    fn update_told_context(&mut self, now: &Facts, tools: &[ToolSpec]) -> Facts {
        let began = self.context.session.created_at.get(..DATE_LENGTH);
        let began = began.unwrap_or(&now.date);
        ToldContext::update(&mut self.state.told, now, began, tools).clone()
    }

    fn system_prompt(&self, facts: &Facts) -> String {
        let extensions: Vec<(&str, &str)> = (facts.extensions.iter())
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let recipe_instructions = self.context.recipe.instructions();
        self.context.stores.prompts.system(&system_prompt::Parts {
            date: &facts.date,
            working_dir: &self.context.session.working_dir.to_string_lossy(),
            os: std::env::consts::OS,
            extensions: &extensions,
            hints: &facts.hints,
            recipe_instructions: recipe_instructions.as_deref(),
            mode: facts.mode,
        })
    }

    /// The session's current checklist, which may be empty; `None` if it keeps none.
    fn checklist(&self) -> Option<String> {
        if !self.extensions().has(checklist::SERVER) {
            return None;
        }
        let files = self.context.stores.session_files();
        let session = files.session(&self.context.session.id).ok()?;
        Some(
            checklist::of_session(&session)
                .unwrap_or_default()
                .to_owned(),
        )
    }
}

fn is_thought(part: &Content) -> bool {
    matches!(
        part,
        Content::Thinking(_) | Content::RedactedThinking(_) | Content::Reasoning(_)
    )
}

/// Whether a part of an answer is neither a call nor a text with something in it.
fn says_nothing(part: &Content) -> bool {
    match part {
        Content::Text(text) => text.text.trim().is_empty(),
        part => is_thought(part),
    }
}

/// The notification for an answer without text and calls.
fn empty_answer(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Complete => "The model answered with nothing.",
        StopReason::Length => {
            "The model answered with nothing: it met its limit on output (`length`) before it wrote \
             anything. Allow it more with GOOSE_MAX_TOKENS, or choose another model."
        }
        StopReason::Filtered => {
            "The model answered with nothing: the provider held back the whole answer \
             (`content_filter`)."
        }
    }
}
