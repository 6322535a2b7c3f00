//! Turns that do not end with the client's request: each runs in a thread of its own, and its events go to the
//! session's [`EventLog`].

use crate::agent::{Error, Event, EventSink, EventWriter, Registry, TurnInput, has_topic};
use crate::conversation::{Content, Message, Role, Thinking, TokenState};
use crate::event_log::{EventJson, EventLog, EventLogs};
use crate::sys::cancel::Cancel;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many turns of these run at the same time in all sessions.
const MAX_TURNS: usize = 256;
/// The size in bytes at which events go to the log without a flush.
const FLUSH_BYTES: usize = 32 << 10;

/// The logs of a registry's sessions, and the turns that write to them.
pub(crate) struct BackgroundTurns {
    pub(crate) registry: Arc<Registry>,
    logs: Arc<EventLogs>,
    /// How many run.
    running: Arc<AtomicUsize>,
}

impl BackgroundTurns {
    /// Without any yet. The logs follow the sessions of the registry from now on.
    pub(crate) fn new(registry: &Arc<Registry>) -> Arc<Self> {
        let logs = Arc::new(EventLogs::default());
        registry.observe(&logs);
        Arc::new(BackgroundTurns {
            registry: registry.clone(),
            logs,
            running: Arc::default(),
        })
    }

    /// The log of the session's requests.
    ///
    /// # Errors
    /// When there is no such session or it cannot be read.
    pub(crate) fn event_log(&self, id: &str) -> Result<Arc<EventLog>, Error> {
        let log = self.logs.get_or_create(id);
        // Checked afterwards: if the session is deleted from now on, this log is closed.
        match self.registry.files().session(id) {
            Ok(_) => Ok(log),
            Err(error) => {
                if matches!(error, Error::NoSession) {
                    self.logs.remove(id);
                }
                Err(error)
            }
        }
    }

    /// Begins a turn as [`Registry::reply`] does, and returns. The turn's events go to the
    /// [`event_log`](Self::event_log), with the id `request`. The last one is [`Event::Finish`] also if
    /// [`cancel_request`](Self::cancel_request) ended the turn.
    ///
    /// A message that answers a pending question begins no turn.
    ///
    /// # Errors
    /// [`Error::Working`] when a turn of the session runs, in this process or another; [`Error::Cancelled`] when
    /// the session's agent is ending; [`Error::Busy`] when too many turns run; when there is no such session, or no
    /// thread can be started.
    pub(crate) fn reply_in_background(
        self: &Arc<Self>,
        id: &str,
        request: &str,
        user: Message,
        so_far: Option<Vec<Message>>,
    ) -> Result<(), Error> {
        self.registry.check_open(&user)?;
        let log = self.event_log(id)?;
        let agent = self.registry.active_agent(id)?;
        if agent.takes_answers(&user) {
            return Ok(());
        }
        // Also ends with this agent if another one replaces it before the turn begins: that one joins this
        // agent's threads first.
        let cancel = agent.cancel().child();
        let counted = CountedTurn::begin(&self.running)?;
        log.open_request(request, &cancel)?;
        let mut open = OpenRequest {
            log,
            _counted: counted,
            id: request.to_owned(),
            fields: request_fields(request),
            closed: false,
        };
        let sessions = &self.registry.stores().sessions;
        if let Err(error) =
            (agent.check_no_turn()).and_then(|()| Ok(sessions.check_no_turn_in_other_process(id)?))
        {
            open.close(None);
            return Err(error);
        }
        let (turns, session) = (self.clone(), id.to_owned());
        agent.in_background("turn", move || {
            turns.run(&session, open, user, so_far, &cancel);
        })
    }

    /// Cancels the request, if it runs. Its turn ends soon after.
    ///
    /// # Errors
    /// [`Error::NoSession`] when the session has had neither a listener nor a request.
    pub(crate) fn cancel_request(&self, id: &str, request: &str) -> Result<(), Error> {
        let log = self.logs.get(id).ok_or(Error::NoSession)?;
        log.cancel_request(request);
        Ok(())
    }

    fn run(
        &self,
        id: &str,
        mut open: OpenRequest,
        user: Message,
        so_far: Option<Vec<Message>>,
        cancel: &Cancel,
    ) {
        let registry = &self.registry;
        let name_session = || registry.name_session(id);
        let has_topic = has_topic(&user);
        let mut events = RequestEvents {
            open: &open,
            writer: EventWriter::default(),
            batch: Vec::new(),
            batch_bytes: 0,
            last: None,
            message: None,
            name_session: has_topic.then(|| Box::new(name_session) as Box<dyn FnOnce()>),
        };
        let input = TurnInput {
            so_far,
            ..TurnInput::new(user)
        };
        let outcome = registry.reply(id, input, &mut events, cancel);
        if outcome.is_err() && open.log.is_cancelled(&open.id) {
            let session = registry.files().session(id);
            let finish = Event::Finish {
                reason: "stop",
                token_state: session.as_ref().map(TokenState::of).unwrap_or_default(),
            };
            events.last = events.json(&finish);
        }
        let last = events.last.take();
        drop(events);
        open.close(last);
    }
}

/// The members of each event that name its request, behind those of the event.
fn request_fields(request: &str) -> [String; 2] {
    let request = serde_json::Value::from(request);
    let chat = format!(r#","chat_request_id":{request}"#);
    let both = format!(r#"{chat},"request_id":{request}}}"#);
    [format!("{chat}}}"), both]
}

/// A request in the log. Dropping it closes the request with an error: the turn has panicked, or has no thread.
struct OpenRequest {
    log: Arc<EventLog>,
    id: String,
    /// See [`request_fields`]: without and with `request_id`.
    fields: [String; 2],
    closed: bool,
    _counted: CountedTurn,
}

/// One of [`MAX_TURNS`], until it is dropped.
struct CountedTurn(Arc<AtomicUsize>);

impl CountedTurn {
    /// Counts a turn.
    ///
    /// # Errors
    /// [`Error::Busy`] if there are too many.
    fn begin(turns: &Arc<AtomicUsize>) -> Result<Self, Error> {
        let turn = CountedTurn(turns.clone());
        if turns.fetch_add(1, Ordering::SeqCst) >= MAX_TURNS {
            let reason =
                format!("{MAX_TURNS} turns are running; wait for the end of one, or cancel it");
            return Err(Error::Busy { reason });
        }
        Ok(turn)
    }
}

impl Drop for CountedTurn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl OpenRequest {
    fn close(&mut self, last: Option<EventJson>) {
        self.closed = true;
        self.log.close_request(&self.id, last);
    }

    /// The JSON of an event with the members that name the request.
    fn json(&self, event: &Event<'_>, writer: &mut EventWriter) -> Option<EventJson> {
        let [without, with] = &self.fields;
        let fields = match event {
            // The id of a tool call is there.
            Event::Notification { .. } => without,
            _ => with,
        };
        let mut json = Vec::with_capacity(512);
        if let Err(error) = writer.write(event, &mut json) {
            log::error!("an event has no JSON form reason={error}");
            return None;
        }
        let end = json.pop();
        debug_assert_eq!(end, Some(b'}'));
        json.extend_from_slice(fields.as_bytes());
        Some(json.into())
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if !self.closed {
            let error = "the turn did not run to its end; the log of gosling says why";
            let last = self.json(&Event::Error { error }, &mut EventWriter::default());
            self.close(last);
        }
    }
}

/// Appends the events of one request to the log.
struct RequestEvents<'r> {
    open: &'r OpenRequest,
    writer: EventWriter,
    /// Events that are not in the log yet.
    batch: Vec<EventJson>,
    /// Their size in bytes.
    batch_bytes: usize,
    /// The last event of the turn. It goes to the log when the turn has released its locks, so that a client
    /// that has received it can send the next message.
    last: Option<EventJson>,
    /// The id of the message of the last event.
    message: Option<String>,
    /// Starts to name the session, with the first message of the model: the clients of these routes read the name
    /// when they have received the last event.
    name_session: Option<Box<dyn FnOnce() + 'r>>,
}

impl RequestEvents<'_> {
    fn json(&mut self, event: &Event<'_>) -> Option<EventJson> {
        self.open.json(event, &mut self.writer)
    }
}

impl EventSink for RequestEvents<'_> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Message { message, .. } = &event
            && message.role == Role::Assistant
            && let Some(name_session) = self.name_session.take()
        {
            name_session();
        }
        if let Event::Message { message, .. } = &event
            && message.id.is_some()
            && message.id != self.message
        {
            self.message.clone_from(&message.id);
            let id = message.id.as_deref().unwrap_or_default();
            self.open.log.has_message(&self.open.id, id);
        }
        let json = match event {
            Event::Finish { .. } | Event::Error { .. } => {
                self.last = self.json(&event);
                return;
            }
            // Not part of these routes.
            Event::ModelChange { .. } => return,
            Event::Message {
                message,
                token_state,
            } if has_reasoning(message) => self.json(&Event::Message {
                message: &with_thinking(message),
                token_state,
            }),
            event => self.json(&event),
        };
        if let Some(json) = json {
            self.batch_bytes += json.len();
            self.batch.push(json);
            if self.batch_bytes >= FLUSH_BYTES {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        self.batch_bytes = 0;
        if !self.batch.is_empty() {
            self.open.log.append(std::mem::take(&mut self.batch));
        }
    }
}

fn has_reasoning(message: &Message) -> bool {
    let is_reasoning = |part: &Content| matches!(part, Content::Reasoning(_));
    message.content.iter().any(is_reasoning)
}

/// The message with its reasoning as `thinking`, which is what the clients of these routes show.
fn with_thinking(message: &Message) -> Message {
    let mut message = message.clone();
    for part in &mut message.content {
        if let Content::Reasoning(reasoning) = part {
            *part = Content::Thinking(Thinking {
                thinking: std::mem::take(&mut reasoning.text),
                ..Thinking::default()
            });
        }
    }
    message
}

#[cfg(test)]
mod tests;
