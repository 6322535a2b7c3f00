//! The running turns that Goose's clients follow: each window that has the session open sees the turn, whichever has
//! begun it; the turn goes on when a window closes, and one that opens the session joins it.

use super::client_tools::{self, ClientTools};
use super::{ConnectionState, TurnUpdates};
use crate::agent::{Compaction, Event, EventSink, Registry, SessionObserver};
use crate::conversation::{Action, Content, Message};
use crate::provider;
use crate::sys::cancel::Cancel;
use crate::sys::{self, lock};
use crate::updates::{self, Speaker, Status};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// The connections of Goose's clients to one server, and the turns that they follow: those that they begin, and those
/// of other clients and of schedules.
#[derive(Default)]
pub struct LiveTurns {
    connections: Mutex<Vec<Weak<ConnectionState>>>,
    turns: Turns,
    /// The tools in these clients.
    pub(crate) tools: Arc<ClientTools>,
}

/// The running turns by their sessions.
type Turns = Arc<Mutex<HashMap<String, Arc<LiveTurn>>>>;

/// A running turn.
pub(crate) struct LiveTurn {
    /// Ends it.
    pub(crate) cancel: Cancel,
    /// The id by which the windows know this run of the session.
    run: String,
    state: Mutex<Followed>,
}

#[derive(Default)]
struct Followed {
    followers: Vec<TurnUpdates>,
    /// The message whose deltas come, as far as it has come.
    partial: Option<Message>,
    /// The calls without a result, and their state.
    calls: Vec<(Content, Status)>,
    /// What nobody has answered yet.
    questions: Vec<Action>,
}

impl LiveTurns {
    /// Lets a client follow the turns of the sessions that it has open.
    pub(crate) fn add(&self, connection: &Arc<ConnectionState>) {
        let mut connections = lock(&self.connections);
        connections.retain(|known| known.strong_count() > 0);
        connections.push(Arc::downgrade(connection));
    }

    /// The running turn of a session.
    pub(crate) fn of(&self, session: &str) -> Option<Arc<LiveTurn>> {
        lock(&self.turns).get(session).cloned()
    }

    /// Begins a turn of a session with these contents of the user, which the windows other than that of `owner` show;
    /// `None` if one is running.
    pub(crate) fn begin(
        &self,
        session: &str,
        owner: Option<TurnUpdates>,
        cancel: &Cancel,
        user: &[Content],
    ) -> Option<RunningLiveTurn> {
        let mut turns = lock(&self.turns);
        if turns.contains_key(session) {
            return None;
        }
        let connections = lock(&self.connections).clone();
        let is_owner = |it: &Arc<ConnectionState>| {
            owner
                .as_ref()
                .is_some_and(|owner| Arc::ptr_eq(it, &owner.connection))
        };
        let others = connections.iter().filter_map(Weak::upgrade);
        let others: Vec<_> = others.filter(|it| !is_owner(it)).collect();
        let of_window = (owner.as_ref()).map(|owner| owner.connection.registry.clone());
        let mut followers = Vec::from_iter(owner);
        for connection in others {
            let Some(opened) = connection.opened(session) else {
                continue;
            };
            let mut follower = TurnUpdates::new(&connection, &opened, cancel);
            for block in user.iter().filter_map(updates::block) {
                follower.update(&updates::chunk(Speaker::User, None, block, None));
            }
            followers.push(follower);
        }
        let run = sys::random_hex(8).unwrap_or_else(|_| session.to_owned());
        for follower in &mut followers {
            follower.tell_run(Some(&run));
        }
        let turn = Arc::new(LiveTurn {
            cancel: cancel.clone(),
            run,
            state: Mutex::new(Followed {
                followers,
                ..Followed::default()
            }),
        });
        turns.insert(session.to_owned(), turn.clone());
        Some(RunningLiveTurn {
            turns: self.turns.clone(),
            tools: self.tools.clone(),
            of_window,
            session: session.to_owned(),
            turn,
        })
    }
}

/// Turns of other clients and of schedules.
impl SessionObserver for LiveTurns {
    fn turn_begins(&self, id: &str, user: &Message, cancel: &Cancel) -> Option<Box<dyn EventSink>> {
        let mut connections = lock(&self.connections).clone().into_iter();
        if !connections.any(|it| it.strong_count() > 0) {
            return None;
        }
        let turn = self.begin(id, None, cancel, &user.content)?;
        Some(Box::new(turn))
    }
}

impl LiveTurn {
    /// Lets a window that opens the session follow the turn. `replay` shows the stored messages, given which calls
    /// run, and returns the ids of the messages; the turn waits meanwhile.
    ///
    /// # Errors
    /// Those of `replay`; the window does not follow then.
    pub(crate) fn join<E>(
        &self,
        mut follower: TurnUpdates,
        replay: impl FnOnce() -> Result<Vec<String>, E>,
    ) -> Result<(), E> {
        let mut state = lock(&self.state);
        let is_same =
            |known: &mut TurnUpdates| Arc::ptr_eq(&known.connection, &follower.connection);
        for mut before in state.followers.extract_if(.., is_same) {
            before.withdraw_all();
        }
        for (request, status) in &state.calls {
            if let Content::ToolRequest(request) = request {
                follower.know(request, *status);
            }
        }
        let shown = replay()?;
        if let Some(partial) = &state.partial
            && !partial.id.as_ref().is_some_and(|id| shown.contains(id))
        {
            follower.message(partial);
        }
        follower.shown = shown;
        follower.tell_run(Some(&self.run));
        for question in state.questions.clone() {
            follower.ask(&question);
        }
        follower.flush_or_leave();
        state.followers.push(follower);
        Ok(())
    }

    /// Adds a message with `add`, and tells the windows that it waits for the next request to the model, before they are
    /// told more of the turn. Returns the id of the message.
    ///
    /// # Errors
    /// Those of `add`.
    pub(crate) fn steer<E>(&self, add: impl FnOnce() -> Result<String, E>) -> Result<String, E> {
        let mut state = lock(&self.state);
        let message = add()?;
        for follower in &mut state.followers {
            let queued = json!({"messageId": message, "runId": self.run});
            follower.update(&json!({
                "sessionUpdate": "session_info_update",
                "_meta": {"goose": {"queuedSteer": queued}},
            }));
            follower.flush_or_leave();
        }
        Ok(message)
    }

    /// The id by which the windows know the run.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Withdraws a question that one window has answered from the others, which show `status` for its call.
    pub(crate) fn answered(&self, id: &str, status: Option<Status>, by: &Arc<ConnectionState>) {
        let mut state = lock(&self.state);
        state.questions.retain(|question| id_of(question) != id);
        if let Some(status) = status {
            state.set_status(id, status);
        }
        for follower in &mut state.followers {
            if !Arc::ptr_eq(&follower.connection, by) {
                follower.withdraw(id, status);
                follower.flush_or_leave();
            }
        }
    }
}

fn id_of(question: &Action) -> &str {
    match question {
        Action::ToolConfirmation { id, .. }
        | Action::Elicitation { id, .. }
        | Action::ElicitationResponse { id, .. } => id,
    }
}

impl Followed {
    fn set_status(&mut self, call: &str, status: Status) {
        for (request, of) in &mut self.calls {
            if matches!(request, Content::ToolRequest(request) if request.id == call) {
                *of = status;
            }
        }
    }

    /// Keeps of a message what a window that joins has to be told.
    fn keep(&mut self, message: &Message) {
        let is_question = |part: &Content| matches!(part, Content::ActionRequired(_));
        match &mut self.partial {
            // It is kept as a question, below.
            _ if message.content.iter().all(is_question) => {}
            Some(partial) if partial.id.is_some() && partial.id == message.id => {
                for part in &message.content {
                    match (partial.content.last_mut(), part) {
                        (Some(Content::Text(text)), Content::Text(more)) => {
                            text.text.push_str(&more.text);
                        }
                        (Some(Content::Thinking(text)), Content::Thinking(more)) => {
                            text.thinking.push_str(&more.thinking);
                        }
                        _ => partial.content.push(part.clone()),
                    }
                }
            }
            _ => self.partial = Some(message.clone()),
        }
        for part in &message.content {
            match part {
                Content::ToolRequest(_) => self.calls.push((part.clone(), Status::Pending)),
                Content::ToolResponse(response) => {
                    let is_its = |part: &Content| matches!(part, Content::ToolRequest(request) if request.id == response.id);
                    self.calls.retain(|(request, _)| !is_its(request));
                    self.questions.retain(|it| id_of(it) != response.id);
                }
                Content::ActionRequired(question) => self.questions.push(question.data.clone()),
                _ => {}
            }
        }
    }
}

/// A turn that is running. Dropping it ends it, and the updates of its calls.
pub(crate) struct RunningLiveTurn {
    turns: Turns,
    tools: Arc<ClientTools>,
    /// The server of the window that has begun the turn, if one has. Another client may run its tools itself.
    of_window: Option<Arc<Registry>>,
    session: String,
    turn: Arc<LiveTurn>,
}

impl RunningLiveTurn {
    fn each(&self, act: impl Fn(&mut TurnUpdates)) {
        lock(&self.turn.state).followers.iter_mut().for_each(act);
    }
}

impl Drop for RunningLiveTurn {
    fn drop(&mut self) {
        self.each(|follower| {
            follower.tell_run(None);
            follower.end();
        });
        lock(&self.turns).remove(&self.session);
    }
}

impl EventSink for RunningLiveTurn {
    fn event(&mut self, event: Event<'_>) {
        let mut state = lock(&self.turn.state);
        if let Event::Message { message, .. } = event
            && message.metadata.user_visible
        {
            state.keep(message);
        }
        if let Event::Message { message, .. } = event {
            for part in &message.content {
                if let Content::FrontendToolRequest(request) = part
                    && !self.tools.run(&self.session, request, &self.turn.cancel)
                    && let Some(registry) = &self.of_window
                {
                    client_tools::refuse(registry, &self.session, request);
                }
            }
        }
        for follower in &mut state.followers {
            follower.event(event);
        }
    }

    fn flush(&mut self) {
        let mut state = lock(&self.turn.state);
        state.followers.retain_mut(TurnUpdates::flush_or_leave);
    }

    fn model_failed(&mut self, error: &provider::Error, has_begun: bool) {
        self.each(|follower| follower.model_failed(error, has_begun));
    }

    fn call_begins(&mut self, request: &str) {
        let mut state = lock(&self.turn.state);
        state.set_status(request, Status::InProgress);
        for follower in &mut state.followers {
            follower.call_begins(request);
        }
    }

    fn compaction(&mut self, stage: Compaction) {
        self.each(|follower| follower.compaction(stage));
    }

    fn summary(&mut self, text: &str, is_whole: bool) {
        self.each(|follower| follower.summary(text, is_whole));
    }
}
