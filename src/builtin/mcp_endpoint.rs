//! An MCP server over Streamable HTTP, at `/mcp`. MCP 2025-11-25, basic/transports.
//!
//! Each client has a session with its own server. If the response is ready soon and no message precedes it,
//! it is sent as JSON; otherwise as an event stream, which a client whose connection broke resumes by `GET`
//! with `Last-Event-ID`. A broken connection cancels nothing; `notifications/cancelled` does. `GET` without
//! `Last-Event-ID` opens the stream for messages outside of requests, if the server declares that its lists change. It
//! is answered with 405 for other servers, as the specification allows, because they send none.

mod client_sessions;
mod response_stream;

pub use client_sessions::Sessions;

use crate::command_line::Failure;
use crate::command_line::serve::listen;
use crate::http::{
    Access, AccessControl, Error, Limits, Method, Request, Response, Router, Server,
};
use crate::mcp::jsonrpc::{
    self, ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Malformed, Message, Payload,
};
use crate::mcp::types::VERSIONS;
use crate::sys::cancel::Cancel;
use client_sessions::Session;
use response_stream::{EventId, First, ResponseStream};
use std::sync::Arc;
use std::time::Duration;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// How long a response is awaited before an event stream begins, which keeps the connection alive.
const JSON_TIMEOUT: Duration = Duration::from_secs(1);
/// The comment that keeps an idle stream alive.
const KEEP_ALIVE: &str = ":\n\n";
/// The first MCP version whose clients accept an event without data, which gives them an event id.
const FIRST_PRIMED_VERSION: &str = "2025-11-25";
const SESSION: &str = "Mcp-Session-Id";
const VERSION: &str = "MCP-Protocol-Version";

/// The routes of an MCP server.
pub fn router(sessions: &Arc<Sessions>) -> Router {
    let with = |handler: fn(&Sessions, &Request) -> Result<Response, Error>| {
        let sessions = sessions.clone();
        move |request: &Request| {
            // Scripts of a page see only the response fields that are listed here.
            let exposed = "Access-Control-Expose-Headers";
            match check_version(request).and_then(|()| handler(&sessions, request)) {
                Ok(response) => Ok(response.header(exposed, SESSION)),
                Err(error) => Err(error.header(exposed, SESSION)),
            }
        }
    };
    Router::new()
        .error_format(refusal)
        .post(PATH, Access::Keyed, with(post))
        .get(PATH, Access::Keyed, with(get))
        .route(Method::Delete, PATH, Access::Keyed, with(delete))
}

/// A server for these routes at a port of this machine, without encryption.
///
/// # Errors
/// The port is taken.
pub(crate) fn serve(router: Router, guard: AccessControl, port: u16) -> Result<Server, Failure> {
    let mut server = Server::new(router, guard, Limits::default(), None);
    listen(&mut server, ("127.0.0.1", port)).map(|()| server)
}

/// The body of a refusal: a JSON-RPC error without an id, which MCP allows and clients show.
fn refusal(status: u16, text: &str) -> Vec<u8> {
    let code = match status {
        500.. => INTERNAL_ERROR,
        _ => INVALID_REQUEST,
    };
    let error = ErrorObject::new(code, text);
    jsonrpc::response(None, Err::<&(), _>(&error)).unwrap_or_default()
}

fn post(sessions: &Sessions, request: &Request) -> Result<Response, Error> {
    request.expect_json()?;
    if !(accepts(request, "application/json") && accepts(request, "text/event-stream")) {
        return Err(not_acceptable("`application/json` and `text/event-stream`"));
    }
    if request.header(SESSION).is_some() {
        let session = sessions.find(session_id(request)?)?;
        let message = jsonrpc::parse(&request.body, session.connection.takes_batches());
        return Ok(answer(session, message));
    }
    let message = jsonrpc::parse(&request.body, false);
    if !is_initialize(&message) {
        return Err(missing_session());
    }
    let session = sessions.begin()?;
    let response = answer(session.clone(), message);
    if session.connection.version().is_none() {
        return Ok(response);
    }
    sessions.add(&session)?;
    Ok(response.header(SESSION, &session.id))
}

fn get(sessions: &Sessions, request: &Request) -> Result<Response, Error> {
    if !accepts(request, "text/event-stream") {
        return Err(not_acceptable("`text/event-stream`"));
    }
    let session = sessions.find(session_id(request)?)?;
    let last = request.header("Last-Event-ID");
    let last: Option<EventId> = last.and_then(|id| id.parse().ok());
    let stream = match last {
        Some(last) => session.stream(last.stream).map(|stream| (stream, last)),
        None => session.standalone(),
    };
    match stream {
        Some((stream, last)) if !stream.is_complete_after(last.message) => {
            Ok(event_stream(&session.ended, stream, last, false))
        }
        // The client has received the whole stream, or asks for messages outside of requests.
        _ => Err(Error::new(
            405,
            "There is nothing to hear: `GET` is for the rest of a stream that broke off, with its \
             `Last-Event-ID`",
        )
        .header("Allow", "POST, DELETE")),
    }
}

fn delete(sessions: &Sessions, request: &Request) -> Result<Response, Error> {
    sessions.end(session_id(request)?)?;
    Ok(Response::empty(200))
}

/// Passes the message to the session's server and returns its response. While this waits it holds no reference
/// to the session, so that ending the session also ends its server and the calls.
fn answer(session: Arc<Session>, message: Result<Payload, Malformed>) -> Response {
    let has_request = has_request(&message);
    let stream = Arc::new(ResponseStream::default());
    let sink = stream.sink();
    session.connection.receive_parsed(message, &sink);
    drop(sink);
    let primed = session.connection.version() == Some(FIRST_PRIMED_VERSION);
    let ended = session.ended.clone();
    let session = Arc::downgrade(&session);
    let as_json = |json| Response::bytes("application/json", json);
    match stream.first(JSON_TIMEOUT) {
        First::Response(json) if has_request => as_json(json),
        First::Response(refusal) => as_json(refusal).with_status(400),
        First::Nothing if !has_request => Response::empty(202),
        First::Nothing | First::More => {
            let kept = session.upgrade().map(|session| session.keep(&stream));
            let beginning = EventId {
                // A stream of an ended session is not resumed.
                stream: kept.unwrap_or_default(),
                message: 0,
            };
            event_stream(&ended, stream, beginning, primed)
        }
    }
}

/// The messages after the event `last`, until the session has `ended`. If the stream is `primed`, an event
/// with the id `last` and without data comes first.
fn event_stream(
    ended: &Cancel,
    stream: Arc<ResponseStream>,
    last: EventId,
    primed: bool,
) -> Response {
    let ended = ended.clone();
    // Taken before anything is sent, because a client may disconnect and resume after the first event.
    let reader = stream.new_reader();
    Response::events(KEEP_ALIVE, move |out| {
        if primed && !stream.is_complete_after(last.message) {
            out.queue_with_id(last, b"");
            out.flush();
        }
        stream.write_to(out, reader, last, &ended);
    })
}

fn is_initialize(message: &Result<Payload, Malformed>) -> bool {
    matches!(message, Ok(Payload::One(Message::Request { method, .. })) if method == "initialize")
}

/// Whether the message has a request, which needs a response.
fn has_request(message: &Result<Payload, Malformed>) -> bool {
    let is_request = |message: &Message| matches!(message, Message::Request { .. });
    match message {
        Ok(Payload::One(message)) => is_request(message),
        Ok(Payload::Batch(parts)) => parts.iter().flatten().any(is_request),
        Err(_) => false,
    }
}

fn session_id(request: &Request) -> Result<&str, Error> {
    request.header(SESSION).ok_or_else(missing_session)
}

fn missing_session() -> Error {
    let text = format!(
        "Begin with `initialize`, and send the `{SESSION}` of its answer with what follows"
    );
    Error::bad_request(text)
}

/// Errs with 400 if the client names a version of MCP that is not supported.
fn check_version(request: &Request) -> Result<(), Error> {
    match request.header(VERSION) {
        Some(version) if !VERSIONS.contains(&version.trim()) => {
            let known = VERSIONS.join(", ");
            let text = format!("`{VERSION}` must be one of {known}");
            Err(Error::bad_request(text))
        }
        _ => Ok(()),
    }
}

fn not_acceptable(what: &str) -> Error {
    Error::new(406, format!("`Accept` must allow {what}"))
}

/// Whether the client accepts this media type. Without `Accept` it accepts any (RFC 9110 §12.5.1).
fn accepts(request: &Request, media_type: &str) -> bool {
    let mut fields = request
        .headers
        .iter()
        .filter(|header| header.field.equiv("Accept"))
        .peekable();
    fields.peek().is_none() || fields.any(|field| allows(field.value.as_str(), media_type))
}

fn allows(accept: &str, media_type: &str) -> bool {
    let (kind, _) = media_type.split_once('/').unwrap_or((media_type, ""));
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let refused = parts.any(|parameter| {
            let weight = parameter.strip_prefix("q=").map(str::parse::<f32>);
            weight == Some(Ok(0.0))
        });
        let of_kind = || {
            let of = range.strip_suffix("/*");
            of.is_some_and(|of| of == "*" || of.eq_ignore_ascii_case(kind))
        };
        !refused && (range.eq_ignore_ascii_case(media_type) || of_kind())
    })
}

#[cfg(test)]
mod tests;
