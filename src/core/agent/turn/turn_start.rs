//! The start of a turn: the session's state is loaded, and the user's message goes to a pending question or to a
//! new turn. CORE §7.4; GUIDE §6.

use crate::agent::recipes::MakeTurnRecipe;
use crate::agent::session::session_agent::{Agent, RUNNING_TURN_TIMEOUT, TurnStateGuard};
use crate::agent::session::session_naming;
use crate::agent::session::session_recipes::{self, NoRecipe};
use crate::agent::turn::model_history;
use crate::agent::turn::refused_images::RefusedImages;
use crate::agent::turn::turn_channel::TurnChannel;
use crate::agent::turn::turn_output::TurnOutput;
use crate::agent::turn::turn_state::TurnState;
use crate::agent::turn::{Turn, TurnReport, TurnStop};
use crate::agent::{Error, Event, EventSink, Registry};
use crate::builtin::ClientWorkspace;
use crate::conversation::{Action, Content, ExtensionData, Message, Role, Session, TokenState};
use crate::metrics::METRICS;
use crate::provider::{LeadWorker, Progress};
use crate::sys::cancel::Cancel;
use std::sync::Arc;
use std::time::Duration;

/// The input of a turn.
pub(in crate::agent) struct TurnInput {
    /// The user's message.
    pub(in crate::agent) user: Message,
    /// Replaces the stored messages.
    pub(in crate::agent) so_far: Option<Vec<Message>>,
    /// Whether a user can answer questions. If not, what needs an answer is refused at once.
    pub(in crate::agent) attended: bool,
    /// What the client offers to builtin servers.
    pub(in crate::agent) workspace: Option<Arc<dyn ClientWorkspace>>,
    /// How long after the start of the agent the turn waits for extensions, if there is a limit. One that starts
    /// later takes part from the next request to the model on.
    pub(in crate::agent) start_limit: Option<Duration>,
    /// Reads the session's recipe, if the turn is a run of it.
    pub(in crate::agent) recipe: Option<MakeTurnRecipe>,
}

impl TurnInput {
    /// The input of a user who is present.
    pub(in crate::agent) fn new(user: Message) -> Self {
        TurnInput {
            user,
            so_far: None,
            attended: true,
            workspace: None,
            start_limit: None,
            recipe: None,
        }
    }
}

impl Registry {
    /// Runs a turn: appends the user's message and lets the model answer; returns when the turn is over.
    /// `so_far` replaces the stored messages. Errors become events, and the last event is
    /// [`Event::Finish`] or [`Event::Error`], also if `cancel` ended the turn.
    ///
    /// A message that answers a pending question (an elicitation, a tool of the client) goes to the call
    /// that waits for it, and no turn begins.
    ///
    /// # Errors
    /// Why the turn ended early; the last event tells it, too. [`Error::Cancelled`] if `cancel` ended it.
    pub fn reply(
        &self,
        id: &str,
        user: Message,
        so_far: Option<Vec<Message>>,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        let input = TurnInput {
            so_far,
            ..TurnInput::new(user)
        };
        self.take_turn(id, input, events, cancel)
    }

    /// As [`reply`](Self::reply), for a client that offers its workspace to builtin servers, and that waits for
    /// extensions until `start_limit` after the start of the session's agent.
    ///
    /// # Errors
    /// As [`reply`](Self::reply).
    pub fn reply_and_report(
        &self,
        id: &str,
        user: Message,
        workspace: Option<Arc<dyn ClientWorkspace>>,
        start_limit: Duration,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        let input = TurnInput {
            workspace,
            start_limit: Some(start_limit),
            ..TurnInput::new(user)
        };
        self.take_turn(id, input, events, cancel)
    }

    /// Runs a turn of a part of the program: the session's recipe is read by `recipe`. A user who is not `attended`
    /// answers no questions: what needs an answer is refused at once. The events are those of [`reply`](Self::reply).
    ///
    /// # Errors
    /// As [`reply_and_report`](Self::reply_and_report).
    pub fn run_with_recipe(
        &self,
        id: &str,
        user: Message,
        attended: bool,
        recipe: MakeTurnRecipe,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        let input = TurnInput {
            attended,
            recipe: Some(recipe),
            ..TurnInput::new(user)
        };
        self.take_turn(id, input, events, cancel)
    }

    /// As [`reply_and_report`](Self::reply_and_report), with all parameters of a turn.
    pub(in crate::agent) fn take_turn(
        &self,
        id: &str,
        input: TurnInput,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        METRICS.turns.add(1);
        let outcome = self.run_turn(id, input, events, cancel);
        self.turn_states.release_surplus();
        let failed = match &outcome {
            Ok(report) => report.failure.is_some(),
            Err(_) => true,
        };
        METRICS.failed_turns.add(u64::from(failed));
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
        let _workspace = agent.workspace.lend(input.workspace);
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
        match input.start_limit {
            Some(limit) => drop(agent.wait_within(limit, &turn_cancel)?),
            None => drop(agent.wait(&turn_cancel)?),
        }
        let state = self.load_turn_state(&session, &mut guard)?;
        self.apply_client_history(&session, input.so_far, state)?;
        if model_history::is_stray(&user, state.journal.messages()) {
            output.finish();
            return Ok(TurnReport::default());
        }
        let mut turn = self.prepare_turn(session, &agent, state, output, turn_cancel)?;
        turn.recipe = match input.recipe {
            Some(make) => make(&turn.session)?,
            None => session_recipes::for_turn(&turn.session)?,
        };
        turn.attended = input.attended;
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
        let policy = LeadWorker::from_config(&self.stores().config)?;
        let lead = policy.map(|policy| (policy, progress(&session, state.journal.messages())));
        let (model, role) = self.model_for_turn(&own_model, lead.as_ref())?;
        if let Some(mode) = role
            && role != state.last_role
        {
            let model = &model.config.model_name;
            output.event(Event::ModelChange { model, mode });
        }
        state.last_role = role;
        let mode = self.mode_of(&session);
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
            lead,
            attended: true,
            recipe: Arc::new(NoRecipe),
            failure: None,
            stop: TurnStop::default(),
            refused,
            told_import: false,
            calls: 0,
            failures: 0,
            answered: false,
            compacted: 0,
        })
    }
}

/// The turns and failures of the session as they are stored, else as many turns as it has messages of the user.
fn progress(session: &Session, messages: &[Arc<Message>]) -> Progress {
    let stored = session.extension_data.0.get(ExtensionData::LEAD_WORKER);
    let stored = stored.and_then(|stored| crate::json::from_value(stored).ok());
    let is_turn = |message: &&Arc<Message>| {
        message.role == Role::User && message.tool_responses().next().is_none()
    };
    stored.unwrap_or_else(|| Progress::of_turns(messages.iter().filter(is_turn).count()))
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

impl Agent {
    /// Passes the answers in the message to the pending questions; whether it begins no turn: it had one of them,
    /// or nothing but answers that come too late.
    pub fn takes_answers(&self, user: &Message) -> bool {
        answer_pending_questions(&self.channel, user) || is_elicitation_response(user)
    }
}

/// Passes the answers in the message to the pending questions; true if there was one of them.
pub(in crate::agent) fn answer_pending_questions(channel: &TurnChannel, user: &Message) -> bool {
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
pub(in crate::agent) fn is_elicitation_response(user: &Message) -> bool {
    let is_response = |part: &Content| match part {
        Content::ActionRequired(action) => {
            matches!(action.data, Action::ElicitationResponse { .. })
        }
        _ => false,
    };
    !user.content.is_empty() && user.content.iter().all(is_response)
}
