//! One turn: the user's message goes to the model, gosling runs the tool calls that the model requests, and
//! their results go back to the model, until it requests no more. CORE §7.4; GUIDE §6.
//!
//! The turn runs in the thread that calls [`reply`](crate::agent::Registry::reply). Each message goes out as an [`Event`](crate::agent::Event) and
//! is in the session's journal before the next request to the model.

pub(in crate::agent) mod checked_turn;
pub(in crate::agent) mod compaction;
pub(in crate::agent) mod model_history;
pub(in crate::agent) mod model_request;
pub(in crate::agent) mod refused_images;
pub(in crate::agent) mod steering;
pub(in crate::agent) mod token_estimate;
pub(in crate::agent) mod tool_calls;
pub(in crate::agent) mod turn_channel;
pub(in crate::agent) mod turn_count;
pub(in crate::agent) mod turn_output;
pub(in crate::agent) mod turn_start;
pub(in crate::agent) mod turn_state;
pub(in crate::agent) mod turn_state_lru;

use crate::agent::questions::permission_mode::Mode;
use crate::agent::recipes::{AfterAnswer, TurnRecipe};
use crate::agent::session::import_notice;
use crate::agent::session::model_selection::Models;
use crate::agent::session::session_agent::Agent;
use crate::agent::turn::refused_images::RefusedImages;
use crate::agent::turn::turn_channel::Model;
use crate::agent::turn::turn_output::{TurnOutput, random_id};
use crate::agent::turn::turn_state::TurnState;
use crate::agent::{Error, Stores};
use crate::conversation::{
    ExtensionData, Message, Metadata, Role, Session, TokenState, ToolRequest,
};
use crate::extension::Manager;
use crate::provider::LeadModel;
use crate::store::settings;
use crate::sys::cancel::Cancel;
use serde_json::Value;

/// The turn ends after so many answers in a row whose tool calls are all malformed.
const MAX_MALFORMED: usize = 3;

/// A running turn.
pub(in crate::agent) struct Turn<'t> {
    pub(in crate::agent) context: TurnContext<'t>,
    pub(in crate::agent) state: &'t mut TurnState,
    pub(in crate::agent) output: TurnOutput<'t>,
    /// The user may change it between the tool calls of one answer and those of the next.
    pub(in crate::agent) mode: Mode,
    /// The model that answers. The lead model may replace the worker.
    pub(in crate::agent) model: Model,
    pub(in crate::agent) tally: TurnTally,
    /// The images that the model refused.
    pub(in crate::agent) refused: RefusedImages,
    /// Whether this turn told the user what an import left out.
    pub(in crate::agent) told_import: bool,
    /// How many messages there were when this turn compacted the conversation, or found it too short for that; 0 if
    /// it did neither.
    pub(in crate::agent) compacted: usize,
}

/// What a turn needs; it stays the same until the end of the turn.
pub(in crate::agent) struct TurnContext<'t> {
    pub(in crate::agent) stores: &'t Stores,
    pub(in crate::agent) models: Models<'t>,
    pub(in crate::agent) agent: &'t Agent,
    pub(in crate::agent) session: Session,
    pub(in crate::agent) cancel: Cancel,
    /// The session's own model. Another one answers if it is the lead model's turn.
    pub(in crate::agent) own_model: Model,
    /// The lead model that shares the session.
    pub(in crate::agent) lead: Option<Box<dyn LeadModel>>,
    /// The token counts when the turn began.
    pub(in crate::agent) tokens_before: TokenState,
    /// Whether a user can answer questions.
    pub(in crate::agent) attended: bool,
    /// What the session's recipe adds.
    pub(in crate::agent) recipe: Box<dyn TurnRecipe + 't>,
}

/// What a turn has come to so far.
#[derive(Default)]
pub(in crate::agent) struct TurnTally {
    /// What the turn reports, but for its last text.
    pub(in crate::agent) report: TurnReport,
    /// How many of its tool calls failed.
    pub(in crate::agent) failures: usize,
    /// Whether the model has answered.
    pub(in crate::agent) answered: bool,
}

/// The outcome of a turn.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TurnReport {
    /// The text of the model's last message.
    pub last_text: String,
    /// Why the model could not do its task, if it could not.
    pub failure: Option<String>,
    /// How many tool calls the turn made.
    pub calls: usize,
    /// Why the turn ended.
    pub stop: TurnStop,
}

/// Why a turn ended that was not cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnStop {
    /// The model has nothing more to do.
    #[default]
    Finished,
    /// The model's answer is cut off by its limit on output.
    MaxTokens,
    /// The turn has made as many requests to the model as it may.
    MaxRequests,
    /// The provider held back the model's answer, or a part of it.
    Filtered,
}

/// Why a turn ends.
pub(in crate::agent) enum End {
    /// The model has nothing more to do, or must not be asked again.
    Finished,
    /// The client left, or the session was stopped.
    Cancelled,
}

impl<'t> Turn<'t> {
    pub(in crate::agent) fn extensions(&self) -> &'t Manager {
        &self.context.agent.extensions
    }

    pub(in crate::agent) fn report(&self) -> TurnReport {
        let mut messages = self.state.journal.messages().iter().rev();
        let by_model = messages.find(|m| m.role == Role::Assistant && m.metadata.agent_visible);
        TurnReport {
            last_text: by_model.map(|m| m.concat_text()).unwrap_or_default(),
            ..self.tally.report.clone()
        }
    }

    pub(in crate::agent) fn run(&mut self, user: Message) -> Result<End, Error> {
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
        self.run_with_checks()
    }

    /// Tells the user once what an import left out.
    fn report_import(&mut self) -> Result<(), Error> {
        if let Some(imported) = self.context.session.extension_data.imported()
            && !imported.told
        {
            self.send_and_store(import_notice::notice(&imported))?;
            self.told_import = true;
        }
        Ok(())
    }

    /// Asks the model and runs the calls that it requests, until it requests none and the user has nothing to add.
    pub(in crate::agent) fn ask_and_call(&mut self) -> Result<End, Error> {
        let channel = &self.context.agent.channel;
        let steering = channel.steering.open(&self.context.cancel);
        loop {
            let end = self.ask_until_answered()?;
            while !self.take_steered()? {
                if matches!(end, End::Cancelled) || steering.close_if_idle() {
                    return Ok(end);
                }
            }
            self.tally.report.failure = None;
        }
    }

    /// Asks the model and runs the calls that it requests, until it requests none.
    fn ask_until_answered(&mut self) -> Result<End, Error> {
        let (limit, limit_name) = self.max_requests();
        let mut malformed = 0;
        for _ in 0..limit {
            if self.context.cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            self.take_steered()?;
            let Some(message) = self.ask_model()? else {
                return Ok(self.end());
            };
            if message.tool_requests().next().is_none() {
                match self.context.recipe.after_answer() {
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
            if let Some(output) = self.context.recipe.output() {
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
        if self.context.cancel.is_cancelled() {
            return Ok(End::Cancelled);
        }
        self.tally.report.stop = TurnStop::MaxRequests;
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

    /// Gives the messages that the user has sent to this turn their place and shows them; whether there were any.
    fn take_steered(&mut self) -> Result<bool, Error> {
        if self.context.cancel.is_cancelled() || !self.context.agent.channel.steering.take() {
            return Ok(false);
        }
        self.state.journal.refresh()?;
        let steered = self.state.journal.take_waiting()?;
        for message in steered {
            self.output.message(message);
        }
        let any = !steered.is_empty();
        self.output.flush();
        Ok(any)
    }

    fn end(&self) -> End {
        if self.context.cancel.is_cancelled() {
            End::Cancelled
        } else {
            End::Finished
        }
    }

    /// Tells the user why the model could not do its task, in a message that the model does not see.
    pub(in crate::agent) fn fail(&mut self, why: impl Into<String>) -> Result<(), Error> {
        let why = why.into();
        self.tally.report.failure = Some(why.clone());
        self.output.events.turn_failed();
        self.reply_without_model(why)
    }

    /// Sends and stores a message in place of an answer of the model, which does not see it.
    pub(in crate::agent) fn reply_without_model(
        &mut self,
        text: impl Into<String>,
    ) -> Result<(), Error> {
        let message = Message::text(Role::Assistant, text).with_id(random_id("msg_"));
        self.send_and_store(message.seen_by(Metadata::USER_ONLY))
    }

    fn send_and_store(&mut self, message: Message) -> Result<(), Error> {
        self.output.message(&message);
        self.output.flush();
        self.store(message)
    }

    /// Appends a message to the journal.
    pub(in crate::agent) fn store(&mut self, mut message: Message) -> Result<(), Error> {
        if message.id.is_none() {
            message.id = Some(random_id(&format!("msg_{}_", self.context.session.id)));
        }
        Ok(self.state.journal.append(vec![message])?)
    }

    /// Makes the messages and the session durable, and sends the last event.
    pub(in crate::agent) fn finish(&mut self, end: Result<End, Error>) -> Result<(), Error> {
        let TurnContext {
            stores,
            models,
            own_model,
            tokens_before,
            ..
        } = &self.context;
        let tokens = self.output.tokens;
        let counted_messages = self.state.estimate.counted_messages();
        let refused = &self.refused;
        let told_import = self.told_import;
        let progress = self.progress(end.is_ok());
        let stored = stores
            .sessions
            .end_turn(&mut self.state.journal, |session: &mut Session| {
                tokens.store(tokens_before, session);
                session.counted_messages = Some(counted_messages);
                let data = &mut session.extension_data;
                refused.store(data);
                if let Some(progress) = progress {
                    data.0
                        .insert(ExtensionData::LEAD_WORKER.to_owned(), progress);
                }
                if told_import && let Some(mut imported) = data.imported() {
                    imported.told = true;
                    data.set_imported(&imported);
                }
                if session.provider_name.is_none() {
                    models.set_shown(session, own_model);
                }
            });
        let end = end?;
        self.output.tokens = TokenState::of(&stored?);
        match end {
            End::Finished => self.output.finish(),
            // If the session was stopped, the client is still connected and gets the error.
            End::Cancelled => return Err(Error::Cancelled),
        }
        Ok(())
    }

    /// What the lead model knows of the session with this turn, which counts if the model has answered to its end.
    fn progress(&self, is_whole: bool) -> Option<Value> {
        let failed = self.tally.report.calls > 0 && self.tally.failures == self.tally.report.calls;
        let counts = self.tally.answered && is_whole;
        let lead = self.context.lead.as_ref()?;
        Some(lead.after(counts.then_some(failed)))
    }

    /// How many requests to the model this turn may make, and the name of the setting.
    fn max_requests(&self) -> (u64, &'static str) {
        if let Some(limit) = self.context.recipe.max_turns() {
            return (limit.max(1), "the recipe");
        }
        let setting = &settings::MAX_TURNS;
        let limit = setting.count(&self.context.stores.config);
        (limit.max(1), setting.name)
    }
}
