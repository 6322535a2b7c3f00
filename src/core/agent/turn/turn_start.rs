//! The start of a turn: the session's state is loaded, and the user's message goes to a pending question or to a
//! new turn. CORE §7.4; GUIDE §6.

use crate::agent::event::FanOut;
use crate::agent::recipes::MakeTurnRecipe;
use crate::agent::session::model_selection::Models;
use crate::agent::session::observers::SessionObservers;
use crate::agent::session::session_agent::{Agent, RUNNING_TURN_TIMEOUT, TurnStateGuard};
use crate::agent::session::session_naming;
use crate::agent::turn::model_history;
use crate::agent::turn::refused_images::RefusedImages;
use crate::agent::turn::turn_channel::TurnChannel;
use crate::agent::turn::turn_count::TurnCount;
use crate::agent::turn::turn_output::TurnOutput;
use crate::agent::turn::turn_state::TurnState;
use crate::agent::turn::turn_state_lru::TurnStateLru;
use crate::agent::turn::{Turn, TurnContext, TurnReport, TurnTally};
use crate::agent::{Error, Event, EventSink, Mode, Stores};
use crate::builtin::Workspace;
use crate::conversation::{
    Action, Content, ExtensionData, Message, NotificationType, Role, Session, SessionType,
    TokenState,
};
use crate::sys::cancel::Cancel;
use std::sync::Arc;
use std::time::Duration;

/// The input of a turn.
pub struct TurnInput<'r> {
    /// The user's message. One that answers a pending question (an elicitation, a tool of the client) goes to the call
    /// that waits for it, and no turn begins.
    pub user: Message,
    /// Replaces the stored messages.
    pub so_far: Option<Vec<Message>>,
    /// Whether a user can answer questions. If not, what needs an answer is refused at once.
    pub attended: bool,
    /// What the client offers to builtin servers.
    pub workspace: Option<Workspace>,
    /// How long after the start of the agent the turn waits for extensions, if there is a limit. One that starts
    /// later takes part from the next request to the model on.
    pub start_limit: Option<Duration>,
    /// Reads the session's recipe, if the turn is a run of it.
    pub recipe: Option<MakeTurnRecipe<'r>>,
}

impl TurnInput<'_> {
    /// The input of a user who is present.
    pub fn new(user: Message) -> Self {
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

/// What begins the turns of a session.
pub(in crate::agent) struct TurnStart<'t> {
    pub(in crate::agent) stores: &'t Stores,
    pub(in crate::agent) models: Models<'t>,
    pub(in crate::agent) turn_states: &'t TurnStateLru,
    pub(in crate::agent) turns: &'t TurnCount,
    pub(in crate::agent) observers: &'t SessionObservers,
    pub(in crate::agent) agent: &'t Arc<Agent>,
}

impl TurnStart<'_> {
    /// Runs a turn. `session` is as it was when the turn was asked for; `make_recipe` reads its recipe.
    pub(in crate::agent) fn run<'r>(
        &self,
        session: &Session,
        input: TurnInput<'r>,
        make_recipe: MakeTurnRecipe<'r>,
        events: &mut dyn EventSink,
        cancel: &Cancel,
    ) -> Result<TurnReport, Error> {
        let agent = self.agent;
        let mut output = TurnOutput {
            tokens: TokenState::of(session),
            price: None,
            events,
        };
        if agent.takes_answers(&input.user) {
            output.finish();
            return Ok(TurnReport::default());
        }
        // Helpers belong to a turn that runs.
        if session.session_type != SessionType::SubAgent {
            self.turns.check()?;
        }
        let mut guard = agent.begin_turn(cancel)?;
        let _workspace = agent.workspace.lend(input.workspace);
        let lock = (self.stores.sessions).lock_turn(&session.id, RUNNING_TURN_TIMEOUT)?;
        // The previous turn may have changed the session while this one waited.
        let session = self.stores.session_files().session(&session.id)?;
        output.tokens = TokenState::of(&session);
        self.turn_states.touch(agent);
        let turn_cancel = agent.cancel().child();
        let _link = cancel.on_cancel({
            let cancel = turn_cancel.clone();
            move || cancel.cancel()
        });
        agent.wait_within(input.start_limit, &turn_cancel)?;
        let state = self.load_turn_state(&session, &mut guard)?;
        // Those that the user sent to a turn that was cancelled, or whose process ended.
        state.journal.take_waiting()?;
        self.apply_client_history(&session, input.so_far, state)?;
        if model_history::is_stray(&input.user, state.journal.messages()) {
            output.finish();
            return Ok(TurnReport::default());
        }
        let mut fan_out;
        let others = (self.observers).ask(|it| it.turn_begins(&session.id, &input.user, cancel));
        let others: Vec<Box<dyn EventSink>> = others.flatten().collect();
        if !others.is_empty() {
            let first = output.events;
            fan_out = FanOut { first, others };
            output.events = &mut fan_out;
        }
        let attended = input.attended;
        let mut turn = self.turn(session, state, output, make_recipe, attended, turn_cancel)?;
        (agent.channel).begin_turn(&turn.model, turn.mode, attended);
        if turn.state.journal.messages().is_empty() {
            let (provider, model) = (turn.model.provider.name(), &turn.model.config.model_name);
            if let Some(told) = self.models.catalog.retirement(provider, model) {
                turn.output.notify(NotificationType::InlineMessage, told);
            }
        }
        let end = turn.run(input.user);
        turn.finish(end)?;
        let report = turn.report();
        let messages = turn.state.journal.messages();
        let has_topic = messages.iter().any(|m| session_naming::has_topic(m));
        drop(turn);
        drop(lock);
        drop(guard);
        if has_topic && attended {
            session_naming::name_in_background(agent, self.models, self.observers);
        }
        Ok(report)
    }

    /// The state of the previous turn with what other processes have appended since, or a new one.
    fn load_turn_state<'g>(
        &self,
        session: &Session,
        guard: &'g mut TurnStateGuard<'_>,
    ) -> Result<&'g mut TurnState, Error> {
        match &mut guard.state {
            Some(state) => {
                state.journal.refresh()?;
                Ok(state)
            }
            none => {
                let journal = self.stores.sessions.journal(&session.id)?;
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
        (self.stores.sessions).end_turn(&mut state.journal, |session| {
            session.counted_messages = Some(0)
        })?;
        Ok(())
    }

    /// Chooses the model and the mode of the turn, and tells the client if the model changes.
    fn turn<'a, 'r: 'a>(
        &'a self,
        session: Session,
        state: &'a mut TurnState,
        mut output: TurnOutput<'a>,
        make_recipe: MakeTurnRecipe<'r>,
        attended: bool,
        cancel: Cancel,
    ) -> Result<Turn<'a>, Error> {
        let own_model = self.models.of(&session)?;
        let stored = session.extension_data.0.get(ExtensionData::LEAD_WORKER);
        let is_turn = |message: &&Arc<Message>| {
            message.role == Role::User && message.tool_responses().next().is_none()
        };
        let turns = state.journal.messages().iter().filter(is_turn).count();
        let lead = self.models.catalog.lead_model(stored, turns)?;
        let (model, role) = self.models.for_turn(&own_model, lead.as_deref())?;
        if let Some(mode) = role
            && role != state.last_role
        {
            let model = &model.config.model_name;
            output.event(Event::ModelChange { model, mode });
        }
        state.last_role = role;
        output.price = self.models.price(&model);
        let recipe = make_recipe(&session)?;
        Ok(Turn {
            mode: Mode::of_session(&session, self.stores),
            model,
            refused: RefusedImages::of(&session.extension_data),
            told_import: false,
            compacted: 0,
            tally: TurnTally::default(),
            context: TurnContext {
                tokens_before: output.tokens,
                stores: self.stores,
                models: self.models,
                agent: self.agent,
                session,
                cancel,
                own_model,
                lead,
                attended,
                recipe,
            },
            state,
            output,
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
