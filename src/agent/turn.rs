//! One turn: the user's message goes to the model, gosling runs the tool calls that the model requests, and
//! their results go back to the model, until it requests no more. CORE §7.4; GUIDE §6.
//!
//! The turn runs in the thread that calls [`Registry::reply`]. Each message goes out as an [`Event`] and is
//! in the session's journal before the next request to the model.

use super::permission_mode::Mode;
#[cfg(feature = "recipes")]
use super::recipe_run::Nesting;
#[cfg(not(feature = "recipes"))]
use super::recipe_tools::Nesting;
use super::recipe_tools::{AfterAnswer, RecipeTools};
use super::refused_images::RefusedImages;
use super::session_agent::{Agent, RUNNING_TURN_TIMEOUT, TurnStateGuard};
#[cfg(feature = "recipes")]
use super::success_checks::Verdict;
use super::token_estimate::{self, Estimate, RequestSize};
use super::turn_channel::{Model, TurnChannel};
use super::turn_output::{AnswerAccumulator, TurnOutput, random_id};
use super::{
    Error, Event, EventSink, Registry, model_history, session_naming, session_operations,
    system_prompt,
};
use crate::builtin::todo;
use crate::conversation::{
    Action, Content, Message, Metadata, NotificationType, Outcome, Role, Session, TokenState,
    ToolRequest,
};
use crate::extension::resource_tools;
use crate::mcp::types::Tool;
use crate::provider::{
    self, Completion, CompletionRequest, ErrorClass, LeadWorker, Progress, Purpose, StopReason,
    ToolSpec,
};
use crate::store::Journal;
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::text::{for_model, json_for_model};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// How many requests to the model a turn makes at most, unless a setting says otherwise.
const MAX_REQUESTS: u64 = 1_000;
/// How many times a request is repeated because the model refused an image in it: without the new images,
/// then without any.
const IMAGE_RETRIES: usize = 2;
/// The turn ends after so many answers in a row whose tool calls are all malformed.
const MAX_MALFORMED: usize = 3;

/// What the user is told in place of success checks.
#[cfg(feature = "recipes")]
const UNTRUSTED_CHECKS: &str = "The success checks of this recipe are shell commands. They are not run, because \
                                the recipe does not come from you: save it in your own folder to trust it.";

/// What an agent keeps from turn to turn. A running turn owns it.
pub(super) struct TurnState {
    pub(super) journal: Journal,
    pub(super) estimate: Estimate,
    /// The results of the turns so far, where a lead and a worker model share the session.
    progress: Progress,
    /// Which of the two models answered last: `lead` or `worker`.
    last_role: Option<&'static str>,
}

impl TurnState {
    fn new(journal: Journal) -> Self {
        let is_turn = |message: &&Arc<Message>| {
            message.role == Role::User && message.tool_responses().next().is_none()
        };
        let turns = journal.messages().iter().filter(is_turn).count();
        TurnState {
            journal,
            estimate: Estimate::default(),
            progress: Progress::of_turns(turns),
            last_role: None,
        }
    }
}

/// A running turn.
pub(super) struct Turn<'t> {
    pub(super) registry: &'t Registry,
    pub(super) agent: &'t Agent,
    pub(super) session: Session,
    pub(super) state: &'t mut TurnState,
    pub(super) output: TurnOutput<'t>,
    pub(super) cancel: Cancel,
    pub(super) mode: Mode,
    /// The model that answers this turn.
    pub(super) model: Model,
    /// The session's own model. Another one answers this turn if it is the lead model's.
    own_model: Model,
    /// The token counts when the turn began.
    tokens_before: TokenState,
    /// Whether a user can answer questions.
    pub(super) attended: bool,
    /// What the session's recipe adds.
    pub(super) recipe: Arc<RecipeTools>,
    /// Whether the recipe's success checks are run.
    with_checks: bool,
    /// Why the model could not do its task, if it could not.
    pub(super) failure: Option<String>,
    /// The images that the model refused.
    refused: RefusedImages,
    /// Whether this turn told the user what an import left out.
    told_import: bool,
    /// How many tool calls this turn made.
    pub(super) calls: usize,
    /// How many of them failed.
    pub(super) failures: usize,
    /// Whether the model has answered.
    answered: bool,
    /// How many messages there were when this turn compacted the conversation; 0 if it did not.
    pub(super) compacted: usize,
}

/// The input of a turn.
pub(super) struct TurnInput {
    /// The user's message.
    pub(super) user: Message,
    /// Replaces the stored messages.
    pub(super) so_far: Option<Vec<Message>>,
    /// Whether a user can answer questions. If not, what needs an answer is refused at once.
    pub(super) attended: bool,
    /// Whether the success checks of the session's recipe are run.
    pub(super) with_checks: bool,
    /// The runs that this turn is in.
    pub(super) nesting: Nesting,
}

/// The outcome of a turn.
#[cfg_attr(
    not(feature = "recipes"),
    expect(dead_code, reason = "only runs of recipes read it")
)]
#[derive(Default)]
pub(super) struct TurnReport {
    /// The text of the model's last message.
    pub(super) last_text: String,
    /// Why the model could not do its task, if it could not.
    pub(super) failure: Option<String>,
    /// How many tool calls the turn made.
    pub(super) calls: usize,
}

/// Why a turn ends.
enum End {
    /// The model has nothing more to do, or must not be asked again.
    Finished,
    /// The client left, or the session was stopped.
    Cancelled,
}

impl Registry {
    /// Runs a turn: appends the user's message and lets the model answer; returns when the turn is over.
    /// `so_far` replaces the stored messages. Errors become events, and the last event is
    /// [`Event::Finish`] or [`Event::Error`], also if `cancel` ended the turn.
    ///
    /// A message that answers a pending question (an elicitation, a tool of the client) goes to the call
    /// that waits for it, and no turn begins.
    pub fn reply(
        &self,
        id: &str,
        user: Message,
        so_far: Option<Vec<Message>>,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) {
        let input = TurnInput {
            user,
            so_far,
            attended: true,
            with_checks: false,
            nesting: Nesting::default(),
        };
        let _ = self.reply_and_report(id, input, events, cancel);
    }

    /// As [`reply`](Self::reply). Also returns the outcome; the events tell an error, too.
    pub(super) fn reply_and_report(
        &self,
        id: &str,
        input: TurnInput,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        let outcome = self.run_turn(id, input, events, cancel);
        if let Err(error) = &outcome {
            let error = match error {
                Error::NoSession => format!("Failed to read session: {error}"),
                error => error.to_string(),
            };
            events.event(Event::Error { error: &error });
        }
        events.flush();
        outcome
    }

    fn run_turn(
        &self,
        id: &str,
        input: TurnInput,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        let user = input.user;
        let (session, agent) = self.activate(id)?;
        let mut output = TurnOutput {
            tokens: TokenState::of(&session),
            events,
        };
        if answer_pending_questions(&agent.channel, &user) || is_elicitation_response(&user) {
            output.finish();
            return Ok(TurnReport::default());
        }
        let mut guard = agent.begin_turn(cancel)?;
        let lock = self.stores().sessions.lock_turn(id, RUNNING_TURN_TIMEOUT)?;
        // The previous turn may have changed the session while this one waited.
        let session = self.session(id)?;
        output.tokens = TokenState::of(&session);
        self.turn_states.touch(&agent);
        let turn_cancel = agent.cancel().child();
        let _link = cancel.on_cancel({
            let cancel = turn_cancel.clone();
            move || cancel.cancel()
        });
        agent.wait(&turn_cancel)?;
        let state = self.load_turn_state(&session, &mut guard)?;
        self.apply_client_history(&session, input.so_far, state)?;
        if model_history::is_stray(&user, state.journal.messages()) {
            output.finish();
            return Ok(TurnReport::default());
        }
        let mut turn = self.prepare_turn(session, &agent, state, output, turn_cancel)?;
        turn.recipe = Arc::new(RecipeTools::of(&turn.session, &input.nesting)?);
        turn.attended = input.attended;
        turn.with_checks = input.with_checks;
        agent
            .channel
            .begin_turn(&turn.model, turn.mode, turn.attended);
        let end = turn.run(user);
        turn.finish(end)?;
        let report = turn.report();
        let messages = turn.state.journal.messages();
        let has_topic = messages.iter().any(|m| session_naming::has_topic(m));
        drop(lock);
        drop(guard);
        if has_topic && input.attended {
            self.name_in_background(&agent, id);
        }
        Ok(report)
    }

    /// The state of the previous turn with what other processes have appended since, or a new one.
    fn load_turn_state<'g>(
        &self,
        session: &Session,
        guard: &'g mut TurnStateGuard<'_>,
    ) -> Result<&'g mut TurnState, Error> {
        match &mut **guard {
            Some(state) => {
                state.journal.refresh()?;
                Ok(state)
            }
            none => {
                let journal = self.stores().sessions.journal(&session.id)?;
                Ok(none.insert(Box::new(TurnState::new(journal))))
            }
        }
    }

    /// Replaces the stored messages by those that the client sent, if they differ.
    fn apply_client_history(
        &self,
        session: &Session,
        so_far: Option<Vec<Message>>,
        state: &mut TurnState,
    ) -> Result<(), Error> {
        let new = so_far.filter(|messages| !is_same(messages, state.journal.messages()));
        let Some(messages) = new else {
            state.estimate.resume(session, state.journal.messages());
            return Ok(());
        };
        state.journal.replace(messages)?;
        state.estimate.forget();
        // The stored counts cover the replaced messages. This holds even if the turn ends early.
        self.stores()
            .sessions
            .end_turn(&mut state.journal, |session| {
                session.counted_messages = Some(0)
            })?;
        Ok(())
    }

    /// Chooses the model and the mode of the turn, and tells the client if the model changes.
    fn prepare_turn<'t>(
        &'t self,
        session: Session,
        agent: &'t Agent,
        state: &'t mut TurnState,
        mut output: TurnOutput<'t>,
        cancel: Cancel,
    ) -> Result<Turn<'t>, Error> {
        let own_model = self.model_of(&session)?;
        let (model, role) = self.model_for_turn(&own_model, &state.progress)?;
        if let Some(mode) = role
            && role != state.last_role
        {
            let model = &model.config.model_name;
            output.event(Event::ModelChange { model, mode });
        }
        state.last_role = role;
        let mode = Mode::of(self.setting("GOOSE_MODE").as_ref());
        let refused = RefusedImages::of(&session.extension_data);
        Ok(Turn {
            tokens_before: output.tokens,
            registry: self,
            agent,
            session,
            state,
            output,
            cancel,
            mode,
            model,
            own_model,
            attended: true,
            recipe: Arc::default(),
            with_checks: false,
            failure: None,
            refused,
            told_import: false,
            calls: 0,
            failures: 0,
            answered: false,
            compacted: 0,
        })
    }
}

/// Whether the client sent the messages that are stored. Some clients repeat them with every message, and
/// the journal must not grow by that.
fn is_same(so_far: &[Message], stored: &[Arc<Message>]) -> bool {
    let json = |message: &Message| serde_json::to_string(message).ok();
    so_far.len() == stored.len()
        && so_far
            .iter()
            .zip(stored)
            .all(|(a, b)| a.id == b.id && json(a) == json(b))
}

/// Passes the answers in the message to the pending questions; true if there was one of them.
fn answer_pending_questions(channel: &TurnChannel, user: &Message) -> bool {
    let mut any = false;
    for part in &user.content {
        any |= match part {
            Content::ActionRequired(action) => match &action.data {
                Action::ElicitationResponse { id, user_data } => {
                    let data = Some(user_data.clone()).filter(|data| !data.is_null());
                    channel.elicitations.answer(id, data)
                }
                _ => false,
            },
            Content::ToolResponse(response) => {
                let result = response.tool_result.clone();
                channel.frontend_results.answer(&response.id, result)
            }
            _ => false,
        };
    }
    any
}

/// Whether the message holds nothing but responses to elicitations. They are not for the model, even if
/// they come too late.
fn is_elicitation_response(user: &Message) -> bool {
    let is_response = |part: &Content| match part {
        Content::ActionRequired(action) => {
            matches!(action.data, Action::ElicitationResponse { .. })
        }
        _ => false,
    };
    !user.content.is_empty() && user.content.iter().all(is_response)
}

/// The answer of the model to one request.
struct Reply {
    answer: Result<Completion, provider::Error>,
    /// The message as far as it was streamed.
    streamed: Message,
    /// The size of the request, if it was measured.
    size: Option<RequestSize>,
}

impl Turn<'_> {
    fn report(&self) -> TurnReport {
        let mut messages = self.state.journal.messages().iter().rev();
        let by_model = messages.find(|m| m.role == Role::Assistant && m.metadata.agent_visible);
        TurnReport {
            last_text: by_model.map(|m| m.concat_text()).unwrap_or_default(),
            failure: self.failure.clone(),
            calls: self.calls,
        }
    }

    fn run(&mut self, user: Message) -> Result<End, Error> {
        let Some(user) = self.run_slash_command(user)? else {
            return Ok(End::Finished);
        };
        let is_first = self.state.journal.messages().is_empty();
        if !user.content.is_empty() {
            self.store(user)?;
        }
        if is_first {
            self.report_import()?;
        }
        if self.with_checks {
            self.run_with_checks()
        } else {
            self.ask_and_call()
        }
    }

    /// Lets the model work until the recipe's success checks pass, or there are no more retries. Each retry
    /// begins with the messages of now.
    #[cfg(feature = "recipes")]
    fn run_with_checks(&mut self) -> Result<End, Error> {
        let Some(retry) = self.recipe.retry().cloned() else {
            return self.ask_and_call();
        };
        if !self.session.extension_data.recipe_origin().trusted {
            self.reply_without_model(UNTRUSTED_CHECKS)?;
            return self.ask_and_call();
        }
        let start = self.state.journal.messages().iter();
        let start: Vec<Message> = start.map(|message| message.as_ref().clone()).collect();
        for attempt in 0.. {
            let end = self.ask_and_call()?;
            if self.failure.is_some() || matches!(end, End::Cancelled) {
                return Ok(end);
            }
            let verdict = self.check_success(&retry, attempt);
            if self.cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            match verdict {
                Verdict::Passed => break,
                Verdict::Failed(reason) => {
                    self.fail(reason)?;
                    break;
                }
                Verdict::Retry(reason) => {
                    self.state.journal.replace(start.clone())?;
                    self.state.estimate.forget();
                    self.recipe.reset();
                    self.send_conversation();
                    let kind = NotificationType::InlineMessage;
                    let text =
                        format!("A success check failed, so the recipe starts again: {reason}");
                    self.output.notify(kind, text);
                }
            }
        }
        Ok(End::Finished)
    }

    #[cfg(not(feature = "recipes"))]
    fn run_with_checks(&mut self) -> Result<End, Error> {
        self.ask_and_call()
    }

    /// Tells the user once what an import left out.
    fn report_import(&mut self) -> Result<(), Error> {
        if let Some(imported) = self.session.extension_data.imported()
            && !imported.told
        {
            self.send_and_store(session_operations::notice(&imported))?;
            self.told_import = true;
        }
        Ok(())
    }

    /// Asks the model and runs the calls that it requests, until it requests none.
    fn ask_and_call(&mut self) -> Result<End, Error> {
        let (limit, limit_name) = self.max_requests();
        let mut malformed = 0;
        for _ in 0..limit {
            if self.cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            let Some(message) = self.ask_model()? else {
                return Ok(self.end());
            };
            if message.tool_requests().next().is_none() {
                match self.recipe.after_answer() {
                    AfterAnswer::Finished => return Ok(End::Finished),
                    AfterAnswer::Fail(reason) => {
                        self.fail(reason)?;
                        return Ok(End::Finished);
                    }
                    AfterAnswer::Remind(text) => {
                        let reminder = Message::text(Role::User, text);
                        self.store(reminder.seen_by(Metadata::AGENT_ONLY))?;
                        continue;
                    }
                }
            }
            let is_malformed = |call: &ToolRequest| call.tool_call.value().is_none();
            malformed = if message.tool_requests().all(is_malformed) {
                malformed + 1
            } else {
                0
            };
            if !self.call_tools(&message)? {
                return Ok(End::Cancelled);
            }
            if let Some(output) = self.recipe.output() {
                let message = Message::text(Role::Assistant, output);
                self.send_and_store(message.with_id(random_id("msg_")))?;
                return Ok(End::Finished);
            }
            if malformed == MAX_MALFORMED {
                self.fail(
                    "I could not spell a tool call correctly several times in a row, so I stop \
                     here. A model with a larger limit on its output, or another model, may help.",
                )?;
                return Ok(End::Finished);
            }
        }
        if self.cancel.is_cancelled() {
            return Ok(End::Cancelled);
        }
        let often = match limit {
            1 => "once".to_owned(),
            limit => format!("{limit} times"),
        };
        self.fail(format!(
            "I have asked for tools {often} in this turn and stop here, as {limit_name} says. \
             Shall I go on?"
        ))?;
        Ok(End::Finished)
    }

    fn end(&self) -> End {
        if self.cancel.is_cancelled() {
            End::Cancelled
        } else {
            End::Finished
        }
    }

    /// Asks the model once; stores and returns its message. `None` if the turn is over: the answer was
    /// empty, the model failed, or the turn was cancelled.
    fn ask_model(&mut self) -> Result<Option<Message>, Error> {
        let Reply {
            answer,
            streamed,
            size,
        } = self.request_answer()?;
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
                if !streamed.content.is_empty() {
                    self.store(streamed)?;
                }
                if error.class != ErrorClass::Cancelled {
                    self.report_model_error(&error)?;
                }
                Ok(None)
            }
        }
    }

    /// Sends the conversation to the model. Repeats the request after compacting the conversation if it is
    /// too long for the model, and without images that the model refused.
    fn request_answer(&mut self) -> Result<Reply, Error> {
        let tools = self.tools()?;
        let system = self.system_prompt();
        let note = self.checklist();
        let beside = token_estimate::size_beside(&system, &tools)
            + note.as_ref().map_or(0, token_estimate::size_of);
        let (provider, model) = (&self.model.provider, &self.model.config.model_name);
        let name = format!("{}/{model}", provider.name());
        let mut image_retries = 0;
        loop {
            let size = self.compact_if_full(beside)?;
            let history = model_history::repaired(self.state.journal.messages());
            let history = self.refused.in_words(&name, history);
            let messages: Vec<&Message> = history.iter().map(Cow::as_ref).collect();
            let ask = CompletionRequest {
                model: &self.model.config,
                system: &system,
                messages: &messages,
                note: note.as_ref(),
                tools: &tools,
                purpose: Purpose::Turn,
                input: size.map_or(0, |size| size.tokens),
            };
            let mut accumulator = AnswerAccumulator::new(&mut self.output);
            let provider = &self.model.provider;
            let answer = provider.complete(&ask, &self.cancel, &mut accumulator);
            let streamed = accumulator.into_message();
            match answer {
                Err(error) if error.class == ErrorClass::ContextExceeded && self.may_compact() => {
                    self.compact("The conversation is too long for the model")?;
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
        self.answered = true;
        self.output.count_request(answer.usage);
        let is_thought = |part: &Content| {
            matches!(
                part,
                Content::Thinking(_) | Content::RedactedThinking(_) | Content::Reasoning(_)
            )
        };
        if message.content.iter().all(is_thought) {
            if !message.content.is_empty() {
                self.store(message)?;
            }
            let text = empty_answer(answer.stop);
            self.failure = Some(text.to_owned());
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

    /// Gives every request a unique id and adds what clients need to show the call: the extension that owns
    /// the tool, and the tool's user interface.
    fn complete_requests(&self, message: &mut Message) {
        let mut seen = HashSet::new();
        for part in &mut message.content {
            let Content::ToolRequest(request) = part else {
                continue;
            };
            if request.id.is_empty() || !seen.insert(request.id.clone()) {
                request.id = random_id("call_");
                seen.insert(request.id.clone());
            }
            let owner = match &request.tool_call {
                Outcome::Success { value } => self.agent.extensions.find(&value.name),
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

    /// Tells the user that the model failed. The model does not see this message.
    fn report_model_error(&mut self, error: &provider::Error) -> Result<(), Error> {
        log::warn!(
            "model failed class={:?} reason={:?}",
            error.class,
            error.message
        );
        self.output.events.model_failed(error);
        if error.class == ErrorClass::Credits {
            self.output
                .notify(NotificationType::CreditsExhausted, &error.message);
        }
        self.failure = Some(format!("the model gave no answer: {error}"));
        self.reply_without_model(format!(
            "The model gave no answer: {error}\n\nSend your message again to try once more."
        ))
    }

    /// Tells the user why the model could not do its task, in a message that the model does not see.
    pub(super) fn fail(&mut self, why: impl Into<String>) -> Result<(), Error> {
        let why = why.into();
        self.failure = Some(why.clone());
        self.output.events.turn_failed();
        self.reply_without_model(why)
    }

    /// Sends and stores a message in place of an answer of the model, which does not see it.
    pub(super) fn reply_without_model(&mut self, text: impl Into<String>) -> Result<(), Error> {
        let message = Message::text(Role::Assistant, text).with_id(random_id("msg_"));
        self.send_and_store(message.seen_by(Metadata::USER_ONLY))
    }

    fn send_and_store(&mut self, message: Message) -> Result<(), Error> {
        self.output.message(&message);
        self.output.flush();
        self.store(message)
    }

    /// Appends a message to the journal.
    pub(super) fn store(&mut self, mut message: Message) -> Result<(), Error> {
        if message.id.is_none() {
            message.id = Some(random_id(&format!("msg_{}_", self.session.id)));
        }
        Ok(self.state.journal.append(vec![message])?)
    }

    /// Makes the messages and the session durable, and sends the last event.
    fn finish(&mut self, end: Result<End, Error>) -> Result<(), Error> {
        let registry = self.registry;
        let model = &self.own_model;
        let before = self.tokens_before;
        let tokens = self.output.tokens;
        let counted_messages = self.state.estimate.counted_messages();
        let refused = &self.refused;
        let told_import = self.told_import;
        let stored = registry.stores().sessions.end_turn(
            &mut self.state.journal,
            |session: &mut Session| {
                tokens.store(&before, session);
                session.counted_messages = Some(counted_messages);
                let data = &mut session.extension_data;
                refused.store(data);
                if told_import && let Some(mut imported) = data.imported() {
                    imported.told = true;
                    data.set_imported(&imported);
                }
                if session.provider_name.is_none() {
                    registry.set_shown_model(session, model);
                }
            },
        );
        let end = end?;
        self.output.tokens = TokenState::of(&stored?);
        if self.answered
            && let Some(policy) = LeadWorker::from_config(&self.registry.stores().config)?
        {
            let failed = self.calls > 0 && self.failures == self.calls;
            self.state.progress = policy.after(self.state.progress, failed);
        }
        match end {
            End::Finished => self.output.finish(),
            // If the session was stopped, the client is still connected and gets the error.
            End::Cancelled => return Err(Error::Cancelled),
        }
        Ok(())
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
        let own = self.recipe.tools(is_chat).into_iter();
        let mut specs: Vec<ToolSpec> = own.map(|tool| spec(tool.name.clone(), tool)).collect();
        if is_chat && !self.state.journal.messages().iter().any(has_calls) {
            return Ok(specs);
        }
        let listed = self.agent.tools(None, &self.cancel)?.into_iter();
        let listed = listed.filter(|listed| listed.tool.is_for_models());
        specs.extend(listed.map(|listed| spec(listed.name, listed.tool)));
        if self.agent.extensions.has_resources() {
            let resource_tools = resource_tools::tools().into_iter();
            specs.extend(resource_tools.map(|tool| spec(tool.name.clone(), tool)));
        }
        Ok(specs)
    }

    fn system_prompt(&self) -> String {
        let instructions = self.agent.extensions.instructions();
        let extensions: Vec<(&str, &str)> = (instructions.iter())
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let recipe_instructions = self.recipe.instructions();
        let names = super::hints::names(self.registry.setting("CONTEXT_FILE_NAMES").as_ref());
        let hints = self
            .registry
            .stores()
            .hints
            .text(&self.session.working_dir, &names);
        self.registry
            .stores()
            .prompts
            .system(&system_prompt::Parts {
                date: clock::now_rfc3339().get(..10).unwrap_or_default(),
                working_dir: &self.session.working_dir.to_string_lossy(),
                os: std::env::consts::OS,
                extensions: &extensions,
                hints: &hints,
                recipe_instructions: recipe_instructions.as_deref(),
                mode: self.mode,
            })
    }

    /// A message with the session's current checklist, for the model.
    fn checklist(&self) -> Option<Message> {
        if !cfg!(feature = "todo") || !self.agent.extensions.has(todo::NAME) {
            return None;
        }
        let session = self.registry.session(&self.session.id).ok()?;
        let list = todo::list(session.extension_data.0.get(todo::KEY))?;
        Some(Message::text(Role::User, system_prompt::checklist(list)))
    }

    /// How many requests to the model this turn may make, and the name of the setting.
    fn max_requests(&self) -> (u64, &'static str) {
        if let Some(limit) = self.recipe.max_turns() {
            return (limit.max(1), "the recipe");
        }
        let setting = self.registry.setting("GOOSE_MAX_TURNS");
        let limit = number(setting.as_ref()).map(|limit| limit as u64);
        (limit.unwrap_or(MAX_REQUESTS).max(1), "GOOSE_MAX_TURNS")
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

/// The setting as a number, if it is one.
pub(super) fn number(value: Option<&Value>) -> Option<f64> {
    let value = value?;
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}
