//! `/sessions/{session_id}/events`, `…/reply` and `…/cancel`: turns that do not end with the client's
//! connection, and the stream of their events. Part of Goose's API after 1.28.

use crate::agent::{self, Registry};
use crate::api::json_body;
use crate::background_turn::BackgroundTurns;
use crate::conversation::Message;
use crate::event_log::{EventLog, Listener, Received};
use crate::http::{Access::Keyed, Error, EventStream, Request, Response, Router};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The interval of the comments that show a client that the stream is alive.
const PING_INTERVAL: Duration = Duration::from_millis(500);
/// How long a stream waits for the last event of a turn when the server stops.
const LAST_EVENT_TIMEOUT: Duration = Duration::from_secs(2);
/// The error of a client whose next event is no longer there. Clients compare the first words.
const TOO_FAR_BEHIND: &str = "Client too far behind: the events after the given id are no longer kept; read the \
session again";
/// The length of a UUID in its usual form, with hyphens at [`UUID_HYPHENS`].
const UUID_LENGTH: usize = 36;
const UUID_HYPHENS: [usize; 4] = [8, 13, 18, 23];

pub(crate) fn routes(router: Router, registry: &Arc<Registry>) -> Router {
    let turns = BackgroundTurns::new(registry);
    let with = |handler: fn(&Arc<BackgroundTurns>, &Request) -> Result<Response, Error>| {
        let turns = turns.clone();
        move |request: &Request| handler(&turns, request)
    };
    router
        .get("/sessions/{session_id}/events", Keyed, with(events))
        .post("/sessions/{session_id}/reply", Keyed, with(reply))
        .post("/sessions/{session_id}/cancel", Keyed, with(cancel))
}

fn events(turns: &Arc<BackgroundTurns>, request: &Request) -> Result<Response, Error> {
    let log = turns.event_log(request.param("session_id"))?;
    let after = request.header("Last-Event-ID").and_then(event_id);
    let registry = turns.registry.clone();
    // Before the head is sent: the client gets every event from then on.
    let (listener, running) = log.listen(after);
    Ok(Response::events("", move |stream| {
        if !running.is_empty() {
            let event = json!({"type": "ActiveRequests", "request_ids": running});
            stream.queue(|out| serde_json::to_writer(out, &event));
        }
        let wake = |log: &Arc<EventLog>| {
            let log = log.clone();
            move || log.wake()
        };
        let _gone = stream.gone().on_cancel(wake(&log));
        let _stopping = registry.cancel().on_cancel(wake(&log));
        send_events(&registry, &log, listener, stream);
    }))
}

/// The id of an event; `None` if it is not a number. A number that does not fit counts as the largest one.
fn event_id(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// Sends events until the client disconnects, the session is deleted or the server stops.
fn send_events(
    registry: &Registry,
    log: &EventLog,
    mut listener: Listener,
    stream: &mut EventStream,
) {
    let mut pings = 0u64;
    let mut next_ping = Instant::now();
    let mut last_moment = None;
    while !stream.gone().is_cancelled() {
        match listener.receive(next_ping) {
            Received::Events(events) => {
                for (id, json) in events {
                    stream.queue_with_id(id, &json);
                }
                stream.flush();
            }
            Received::Nothing => {
                if registry.cancel().is_cancelled() {
                    let last_moment =
                        last_moment.get_or_insert_with(|| Instant::now() + LAST_EVENT_TIMEOUT);
                    if !log.has_requests() || Instant::now() >= *last_moment {
                        return;
                    }
                }
            }
            Received::TooFarBehind => {
                let error = json!({"type": "Error", "error": TOO_FAR_BEHIND}).to_string();
                stream.queue_with_id(0, error.as_bytes());
                return;
            }
            Received::Closed => return,
        }
        let now = Instant::now();
        if now >= next_ping {
            stream.queue_comment(format_args!("ping {pings}"));
            stream.flush();
            pings += 1;
            next_ping = now + PING_INTERVAL;
        }
    }
}

fn reply(turns: &Arc<BackgroundTurns>, request: &Request) -> Result<Response, Error> {
    json_body!(request => ReplyRequest {
        request_id: String,
        user_message: Message,
        override_conversation: Option<Vec<Message>>,
    });
    if !is_uuid(&request_id) {
        return Err(Error::bad_request("`request_id` must be a UUID"));
    }
    let session = request.param("session_id");
    match turns.reply_in_background(session, &request_id, user_message, override_conversation) {
        Ok(()) => Ok(Response::json(&json!({ "request_id": request_id }))),
        // Clients compare the words "already has an active request".
        Err(error @ agent::Error::Working { .. }) => Err(Error::bad_request(format!(
            "the session already has an active request: {error}"
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Ignores a request that does not run, unless the session has had none at all.
fn cancel(turns: &Arc<BackgroundTurns>, request: &Request) -> Result<Response, Error> {
    json_body!(request => CancelRequest { request_id: String });
    let session = request.param("session_id");
    match turns.cancel_request(session, &request_id) {
        Ok(()) => Ok(Response::empty(200)),
        Err(agent::Error::NoSession) if turns.registry.files().session(session).is_ok() => {
            Err(Error::not_found(
                "there is no such request: the session has had none since the server started",
            ))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether this is a UUID in its usual form.
fn is_uuid(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| {
        if UUID_HYPHENS.contains(&at) {
            byte == b'-'
        } else {
            byte.is_ascii_hexdigit()
        }
    };
    text.len() == UUID_LENGTH && text.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests;
