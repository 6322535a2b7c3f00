//! One turn: what the user said goes to the model, the calls that it wants are made, what they give goes
//! back to it, until it has no more to ask. CORE §7.4; GUIDE §6.
//!
//! The turn runs in the thread of whoever asked. Everything it says goes out as an [`Event`], and is
//! in the session's journal before the next request to the model.

use super::permission_mode::Mode;
use super::refused_images::RefusedImages;
use super::session_agent::{Agent, MOMENT};
use super::token_estimate::{self, Estimate};
use super::turn_channel::{Model, TurnChannel};
use super::turn_output::{AnswerAccumulator, TurnOutput, random_id};
use super::{
    Error, Event, EventSink, Registry, model_history, session_naming, session_operations,
    system_prompt,
};
use crate::builtin::todo;
use crate::conversation::{
    Content, Message, Metadata, NotificationType, Outcome, Role, Session, TokenState, ToolRequest,
};
use crate::extension::resource_tools;
use crate::mcp::types::Tool;
use crate::provider::{
    self, Completion, CompletionRequest, ErrorClass, LeadWorker, Progress, Purpose, StopReason,
    ToolSpec,
};
use crate::recipe;
use crate::store::Journal;
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::text::{for_model, json_for_model};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// How often the model is asked in one turn, where nothing else is set.
const MAX_TURNS: u64 = 1_000;
/// How often one question is asked again because the model refused an image in it: without the new images,
/// then without any.
const IMAGE_RETRIES: usize = 2;
/// After so many answers in a row with nothing but calls that are none, the model is not asked again.
const MAX_BAD: usize = 3;

/// What an agent keeps from turn to turn. The turn that runs has it.
pub(super) struct TurnState {
    pub(super) journal: Journal,
    pub(super) estimate: Estimate,
    /// How the turns went, where two models share them.
    progress: Progress,
    /// Which of the two answered last.
    part: Option<&'static str>,
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
            part: None,
        }
    }
}

/// One turn under way.
pub(super) struct Turn<'t> {
    pub(super) registry: &'t Registry,
    pub(super) agent: &'t Agent,
    pub(super) session: Session,
    pub(super) work: &'t mut TurnState,
    pub(super) output: TurnOutput<'t>,
    pub(super) cancel: Cancel,
    pub(super) mode: Mode,
    pub(super) model: Model,
    /// The session's own model, where another one answers this turn.
    own: Model,
    /// The tokens when the turn began.
    before: TokenState,
    /// The images that the model refused.
    refused: RefusedImages,
    /// The user was told in this turn what was left out of an import.
    told_import: bool,
    /// How many calls there were in this turn.
    pub(super) calls: usize,
    /// How many of them gave nothing but an error.
    pub(super) failures: usize,
    /// The model has said something.
    answered: bool,
    /// How many messages there were when the conversation was compacted in this turn; 0 if it was not.
    pub(super) compacted: usize,
}

/// Why a turn ends.
enum End {
    /// The model has said all, or is not to be asked further.
    Finished,
    /// Nobody waits any more.
    Cancelled,
}

impl Registry {
    /// Takes what the user says and lets the agent answer; returns when the turn is over. `so_far`
    /// replaces what was said before. Whatever goes wrong is an event, and the last event is
    /// [`Event::Finish`] or [`Event::Error`], unless `cancel` ended the turn.
    ///
    /// What answers an open question (an elicitation, a tool of the client) goes to who asked, and
    /// begins no turn.
    pub fn reply(
        &self,
        id: &str,
        user: Message,
        so_far: Option<Vec<Message>>,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) {
        let outcome = self.turn(id, user, so_far, events, cancel);
        if let Err(error) = outcome {
            let error = match error {
                Error::NoSession => format!("Failed to read session: {error}"),
                error => error.to_string(),
            };
            events.event(Event::Error { error: &error });
        }
        events.flush();
    }

    fn turn(
        &self,
        id: &str,
        user: Message,
        so_far: Option<Vec<Message>>,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let (session, agent) = self.activate(id)?;
        let mut output = TurnOutput {
            tokens: TokenState::of(&session),
            events,
        };
        if answers(&agent.channel, &user) || is_form(&user) {
            output.event(Event::Finish {
                reason: "stop",
                token_state: output.tokens,
            });
            return Ok(());
        }
        let mut working = agent.begin(cancel)?;
        let lock = self.stores().sessions.lock_turn(id, MOMENT)?;
        // The turn before may have changed it while this one waited.
        let session = self.session(id)?;
        output.tokens = TokenState::of(&session);
        self.turn_states.touch(&agent);
        let turn_cancel = agent.cancel().child();
        let _link = cancel.on_cancel({
            let cancel = turn_cancel.clone();
            move || cancel.cancel()
        });
        agent.wait(&turn_cancel)?;
        let work = match &mut *working {
            Some(work) => {
                work.journal.refresh()?;
                work
            }
            none => none.insert(Box::new(TurnState::new(
                self.stores().sessions.journal(id)?,
            ))),
        };
        if let Some(so_far) = so_far
            && !is_same(&so_far, work.journal.messages())
        {
            work.journal.replace(so_far)?;
            work.estimate.forget();
            // The stored counts are those of the conversation before, also if this turn ends early.
            let sessions = &self.stores().sessions;
            sessions.end_turn(&mut work.journal, |session| {
                session.counted_messages = Some(0)
            })?;
        } else {
            work.estimate.resume(&session, work.journal.messages());
        }
        if model_history::is_stray(&user, work.journal.messages()) {
            let token_state = output.tokens;
            output.event(Event::Finish {
                reason: "stop",
                token_state,
            });
            return Ok(());
        }
        let own = self.model_of(&session)?;
        let (model, part) = self.model_for(&own, &work.progress)?;
        if let (Some(mode), true) = (part, part != work.part) {
            let model = &model.config.model_name;
            output.event(Event::ModelChange { model, mode });
        }
        work.part = part;
        let mode = Mode::of(self.setting("GOOSE_MODE").as_ref());
        agent.channel.begin(&model, mode);
        let refused = RefusedImages::of(&session.extension_data);
        let mut turn = Turn {
            before: output.tokens,
            registry: self,
            agent: &agent,
            session,
            work,
            output,
            cancel: turn_cancel,
            mode,
            model,
            own,
            refused,
            told_import: false,
            calls: 0,
            failures: 0,
            answered: false,
            compacted: 0,
        };
        let end = turn.run(user);
        turn.finish(end)?;
        let messages = turn.work.journal.messages();
        let tells = messages
            .iter()
            .any(|message| session_naming::tells(message));
        drop(lock);
        drop(working);
        if tells {
            self.name_in_background(&agent, id);
        }
        Ok(())
    }
}

/// Whether this is what was said already: some clients repeat it with every message, and the journal
/// need not grow by it.
fn is_same(so_far: &[Message], stored: &[Arc<Message>]) -> bool {
    let json = |message: &Message| serde_json::to_string(message).ok();
    so_far.len() == stored.len()
        && so_far
            .iter()
            .zip(stored)
            .all(|(a, b)| a.id == b.id && json(a) == json(b))
}

/// Gives what the message answers to who asked; true if anybody had.
fn answers(channel: &TurnChannel, user: &Message) -> bool {
    use crate::conversation::Action;
    let mut any = false;
    for part in &user.content {
        any |= match part {
            Content::ActionRequired(action) => match &action.data {
                Action::ElicitationResponse { id, user_data } => {
                    let data = Some(user_data.clone()).filter(|data| !data.is_null());
                    channel.answers.answer(id, data)
                }
                _ => false,
            },
            Content::ToolResponse(response) => {
                let result = response.tool_result.clone();
                channel.results.answer(&response.id, result)
            }
            _ => false,
        };
    }
    any
}

/// Whether there is nothing in it but what somebody filled in: that says nothing to the model, even if it
/// comes too late for who asked.
fn is_form(user: &Message) -> bool {
    use crate::conversation::Action::ElicitationResponse;
    let is_answer = |part: &Content| matches!(part, Content::ActionRequired(action) if matches!(action.data, ElicitationResponse { .. }));
    !user.content.is_empty() && user.content.iter().all(is_answer)
}

impl Turn<'_> {
    fn run(&mut self, user: Message) -> Result<End, Error> {
        let Some(user) = self.obey(user)? else {
            return Ok(End::Finished);
        };
        let is_first = self.work.journal.messages().is_empty();
        if !user.content.is_empty() {
            self.keep(user)?;
        }
        if is_first
            && let Some(imported) = self.session.extension_data.imported()
            && !imported.told
        {
            self.tell(session_operations::notice(&imported))?;
            self.told_import = true;
        }
        let (limit, who) = self.max_turns();
        let (mut count, mut bad) = (0, 0);
        loop {
            if self.cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            if count == limit {
                let often = match limit {
                    1 => "once".to_owned(),
                    limit => format!("{limit} times"),
                };
                self.stop_short(format!(
                    "I have asked for tools {often} in this turn and stop here, as {who} says. \
                     Shall I go on?"
                ))?;
                return Ok(End::Finished);
            }
            count += 1;
            let Some(message) = self.ask()? else {
                return Ok(if self.cancel.is_cancelled() {
                    End::Cancelled
                } else {
                    End::Finished
                });
            };
            if message.tool_requests().next().is_none() {
                return Ok(End::Finished);
            }
            let is_bad = |call: &ToolRequest| call.tool_call.value().is_none();
            bad = if message.tool_requests().all(is_bad) {
                bad + 1
            } else {
                0
            };
            if !self.call(&message)? {
                return Ok(End::Cancelled);
            }
            if bad == MAX_BAD {
                self.stop_short(
                    "I could not spell a tool call correctly several times in a row, so I stop \
                     here. A model with a larger limit on its output, or another model, may help.",
                )?;
                return Ok(End::Finished);
            }
        }
    }

    /// Asks the model once; stores and gives back what it says. `None` if the turn is over with that:
    /// it said nothing, it failed, or nobody waits any more.
    fn ask(&mut self) -> Result<Option<Message>, Error> {
        let tools = self.tools()?;
        let system = self.system();
        let note = self.checklist();
        let beside = token_estimate::size_beside(&system, &tools)
            + note.as_ref().map_or(0, token_estimate::size_of);
        let (provider, model) = (&self.model.provider, &self.model.config.model_name);
        let name = format!("{}/{model}", provider.name());
        let mut image_retries = 0;
        let (answer, heard, size) = loop {
            let size = self.make_room(beside)?;
            let history = model_history::repaired(self.work.journal.messages());
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
            let heard = accumulator.end();
            match answer {
                Err(error) if error.class == ErrorClass::ContextExceeded && self.may_compact() => {
                    self.compact("The conversation is too long for the model")?;
                }
                Err(error)
                    if error.class == ErrorClass::Image
                        && heard.content.is_empty()
                        && image_retries < IMAGE_RETRIES
                        && (self.refused).add(&name, &history, self.work.journal.messages()) =>
                {
                    image_retries += 1;
                    let kind = NotificationType::InlineMessage;
                    let told = "The model refused an image and gets a short text in its place";
                    self.output.notify(kind, format!("{told}: {error}"));
                }
                answer => break (answer, heard, size),
            }
        };
        match answer {
            Ok(answer) => {
                self.refused.prove();
                let usage = answer.usage;
                let message = self.take(answer, heard)?;
                let TurnState {
                    journal, estimate, ..
                } = &mut *self.work;
                estimate.learn(size, usage, journal.messages());
                Ok(message)
            }
            Err(error) => {
                if !heard.content.is_empty() {
                    self.keep(heard)?;
                }
                if error.class != ErrorClass::Cancelled {
                    self.failed(&error)?;
                }
                Ok(None)
            }
        }
    }

    /// Stores an answer and says what has not been said while it came.
    fn take(&mut self, answer: Completion, heard: Message) -> Result<Option<Message>, Error> {
        let mut message = Message {
            content: answer.content,
            ..heard
        };
        self.mark(&mut message);
        self.answered = true;
        self.output.used(answer.usage);
        let thought = |part: &Content| {
            matches!(
                part,
                Content::Thinking(_) | Content::RedactedThinking(_) | Content::Reasoning(_)
            )
        };
        if message.content.iter().all(thought) {
            if !message.content.is_empty() {
                self.keep(message)?;
            }
            let why = empty_answer(answer.stop);
            self.output.notify(NotificationType::InlineMessage, why);
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
            self.output.say(&Message {
                content: rest,
                id: message.id.clone(),
                ..message
            });
            self.output.flush();
        }
        self.keep(message.clone())?;
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

    /// Gives every call an id of its own and says who owns its tool.
    fn mark(&self, message: &mut Message) {
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
                Outcome::Success { value } => self
                    .agent
                    .extensions
                    .find(&value.name)
                    .map(|tool| tool.extension),
                Outcome::Error { .. } => None,
            };
            if let Some(owner) = owner {
                request.meta = Some(json!({ "goose_extension": owner }));
            }
        }
    }

    /// The model failed: the user is told, and the model need not know.
    fn failed(&mut self, error: &provider::Error) -> Result<(), Error> {
        log::warn!(
            "model failed class={:?} reason={:?}",
            error.class,
            error.message
        );
        self.output.events.failed(error);
        if error.class == ErrorClass::Credits {
            self.output
                .notify(NotificationType::CreditsExhausted, &error.message);
        }
        self.stop_short(format!(
            "The model gave no answer: {error}\n\nSend your message again to try once more."
        ))
    }

    /// Says something in the place of the model; the model is not told.
    pub(super) fn stop_short(&mut self, text: impl Into<String>) -> Result<(), Error> {
        let message = Message::text(Role::Assistant, text).with_id(random_id("msg_"));
        self.tell(message.seen_by(Metadata::USER_ONLY))
    }

    fn tell(&mut self, message: Message) -> Result<(), Error> {
        self.output.say(&message);
        self.output.flush();
        self.keep(message)
    }

    /// Puts a message into the journal.
    pub(super) fn keep(&mut self, mut message: Message) -> Result<(), Error> {
        if message.id.is_none() {
            message.id = Some(random_id(&format!("msg_{}_", self.session.id)));
        }
        Ok(self.work.journal.append(vec![message])?)
    }

    /// Makes everything durable, and says how the turn ended.
    fn finish(&mut self, end: Result<End, Error>) -> Result<(), Error> {
        let (registry, model) = (self.registry, &self.own);
        let (before, tokens) = (self.before, self.output.tokens);
        let counted_messages = self.work.estimate.counted_messages();
        let (refused, told_import) = (&self.refused, self.told_import);
        let stored =
            registry
                .stores()
                .sessions
                .end_turn(&mut self.work.journal, |session: &mut Session| {
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
                });
        let end = end?;
        self.output.tokens = TokenState::of(&stored?);
        if self.answered
            && let Some(policy) = LeadWorker::from_config(&self.registry.stores().config)?
        {
            let failed = self.calls > 0 && self.failures == self.calls;
            self.work.progress = policy.after(self.work.progress, failed);
        }
        match end {
            End::Finished => {
                let token_state = self.output.tokens;
                self.output.event(Event::Finish {
                    reason: "stop",
                    token_state,
                });
            }
            // The client may be gone, but it may as well be the session that was stopped.
            End::Cancelled => return Err(Error::Cancelled),
        }
        Ok(())
    }

    /// The tools that the model may call; none in chat mode, unless the conversation has calls already.
    fn tools(&self) -> Result<Vec<ToolSpec>, Error> {
        // Some providers refuse a history with calls where no tools are offered.
        let calls =
            |m: &Arc<Message>| m.metadata.agent_visible && m.tool_requests().next().is_some();
        if self.mode == Mode::Chat && !self.work.journal.messages().iter().any(calls) {
            return Ok(Vec::new());
        }
        let listed = self.agent.tools(None, &self.cancel)?;
        let spec = |name: String, tool: Tool| ToolSpec {
            name,
            description: for_model(&tool.description.unwrap_or_default()).into_owned(),
            input_schema: match json_for_model(tool.input_schema.get()) {
                Cow::Borrowed(_) => tool.input_schema,
                // It still is the JSON that it was.
                Cow::Owned(schema) => RawValue::from_string(schema).unwrap_or_default(),
            },
        };
        let listed = listed
            .into_iter()
            .map(|listed| spec(listed.name, listed.tool));
        let mut specs: Vec<ToolSpec> = listed.collect();
        if self.agent.extensions.has_resources() {
            let own = resource_tools::tools().into_iter();
            specs.extend(own.map(|tool| spec(tool.name.clone(), tool)));
        }
        Ok(specs)
    }

    fn system(&self) -> String {
        let instructions = self.agent.extensions.instructions();
        let extensions: Vec<(&str, &str)> = (instructions.iter())
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let rendered = recipe::of_session(&self.session).unwrap_or_else(|error| {
            log::warn!(
                "recipe not applied session={} reason={error}",
                self.session.id
            );
            None
        });
        let names = super::hints::names(self.registry.setting("CONTEXT_FILE_NAMES").as_ref());
        let hints = self
            .registry
            .stores()
            .hints
            .text(&self.session.working_dir, &names);
        system_prompt::system(&system_prompt::Parts {
            date: clock::now_rfc3339().get(..10).unwrap_or_default(),
            working_dir: &self.session.working_dir.to_string_lossy(),
            os: std::env::consts::OS,
            extensions: &extensions,
            hints: &hints,
            recipe_instructions: rendered.as_ref().and_then(|r| r.instructions.as_deref()),
            mode: self.mode,
            own: None,
        })
    }

    /// The session's checklist as it is now, for the model.
    fn checklist(&self) -> Option<Message> {
        if !self.agent.extensions.has(todo::NAME) {
            return None;
        }
        let session = self.registry.session(&self.session.id).ok()?;
        let list = todo::list(session.extension_data.0.get(todo::KEY))?;
        Some(Message::text(Role::User, system_prompt::checklist(list)))
    }

    /// How often the model may be asked in one turn, and who says so.
    fn max_turns(&self) -> (u64, &'static str) {
        let recipe = self.session.recipe.as_ref();
        if let Some(limit) = recipe.and_then(|recipe| recipe["settings"]["max_turns"].as_u64()) {
            return (limit.max(1), "the recipe");
        }
        let setting = self.registry.setting("GOOSE_MAX_TURNS");
        let limit = number(setting.as_ref()).map(|limit| limit as u64);
        (limit.unwrap_or(MAX_TURNS).max(1), "GOOSE_MAX_TURNS")
    }
}

/// What the user is told of an answer without text and calls.
fn empty_answer(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Complete => "The model answered with nothing.",
        StopReason::Length => {
            "The model answered with nothing: it met its limit on output (`length`) before it said \
             anything. Allow it more with GOOSE_MAX_TOKENS, or choose another model."
        }
        StopReason::Filtered => {
            "The model answered with nothing: the provider held back the whole answer \
             (`content_filter`)."
        }
    }
}

/// What a setting says, if it can be read.
pub(super) fn number(value: Option<&Value>) -> Option<f64> {
    let value = value?;
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}
