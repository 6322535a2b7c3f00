//! Responses and their heads.

use super::chunked::is_token;
use super::{Error, EventStream, Socket};
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tiny_http::{Header, StatusCode};

/// What a handler returns.
#[derive(Debug)]
pub struct Response {
    /// The status. The server adds the reason phrase.
    pub status: StatusCode,
    /// Header fields. The server itself writes `Date`, `Connection`, `Content-Length` and the CORS field.
    pub headers: Vec<Header>,
    /// The body, empty if there is none.
    pub body: Vec<u8>,
    /// What has the connection after the head, if the body is not all.
    pub(super) handler: Option<Handler>,
    /// The error message, if this is an error.
    pub(super) error_message: Option<String>,
}

/// How a client finds the end of a body (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// `Content-Length`.
    Length,
    /// Chunked transfer coding.
    Chunks,
    /// The end of the connection.
    Close,
}

/// What has the connection after the head of a response.
pub(super) enum Handler {
    /// Writes the body.
    Events(Events),
    /// Speaks another protocol.
    Upgrade(Upgrade),
}

/// The handler of an event stream.
pub(super) struct Events {
    pub(super) keep_alive: &'static str,
    pub(super) run: Box<dyn FnOnce(&mut EventStream) + Send>,
}

/// The handler of a connection that has changed its protocol.
pub(super) type Upgrade = Box<dyn FnOnce(&mut Socket<'_>) + Send>;

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").finish_non_exhaustive()
    }
}

/// The fields that only the server writes (RFC 9112 §6, §9.6).
const RESERVED_FIELDS: &str =
    "Date Connection Content-Length Transfer-Encoding Access-Control-Allow-Origin";

impl Response {
    /// A response without a body and content type.
    pub fn empty(status: u16) -> Response {
        Response {
            status: StatusCode(status),
            headers: Vec::new(),
            body: Vec::new(),
            handler: None,
            error_message: None,
        }
    }

    /// 200 with plain text.
    pub fn text(text: impl Into<String>) -> Response {
        Response::bytes("text/plain; charset=utf-8", text.into().into_bytes())
    }

    /// 200 with bytes of the given media type.
    pub fn bytes(content_type: &str, body: impl Into<Vec<u8>>) -> Response {
        let mut response = Response::empty(200).header("Content-Type", content_type);
        response.body = body.into();
        response
    }

    /// 200 with `value` as JSON; 500 if `value` cannot be serialized, for example a map whose keys are not
    /// strings.
    pub fn json(value: &impl Serialize) -> Response {
        match serde_json::to_vec(value) {
            Ok(body) => Response::bytes("application/json", body),
            Err(error) => {
                Error::internal(format!("The answer cannot be written as JSON: {error}")).into()
            }
        }
    }

    /// 200 with an event stream, which `run` writes in the connection's thread. The server sends `keep_alive`
    /// while `run` sends nothing: a whole event or comment with its final empty line.
    pub fn events(
        keep_alive: &'static str,
        run: impl FnOnce(&mut EventStream) + Send + 'static,
    ) -> Response {
        let mut response = Response::empty(200)
            .header("Content-Type", "text/event-stream")
            .header("Cache-Control", "no-cache");
        response.handler = Some(Handler::Events(Events {
            keep_alive,
            run: Box::new(run),
        }));
        response
    }

    /// 101: the connection changes to `protocol`, which `run` speaks in the connection's thread; the connection ends
    /// with it (RFC 9110 §7.8). What the client has sent already is in the buffer of the socket.
    pub fn upgrade(protocol: &str, run: impl FnOnce(&mut Socket<'_>) + Send + 'static) -> Response {
        let mut response = Response::empty(101).header("Upgrade", protocol);
        response.handler = Some(Handler::Upgrade(Box::new(run)));
        response
    }

    /// 200 with a body that `run` writes in the connection's thread, without its length in advance. A failure
    /// of `run` closes the connection, so that the client notices that the body is incomplete.
    pub fn stream(
        content_type: &str,
        run: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) -> Response {
        let mut response = Response::empty(200).header("Content-Type", content_type);
        response.handler = Some(Handler::Events(Events {
            keep_alive: "",
            run: Box::new(move |stream| {
                if let Err(error) = run(stream) {
                    stream.break_off(&error);
                }
            }),
        }));
        response
    }

    /// The same response with another status.
    pub fn with_status(mut self, status: u16) -> Response {
        self.status = StatusCode(status);
        self
    }

    /// Adds a header field. Characters that are not allowed in a field value become `?`, so that text from
    /// outside cannot start another field (RFC 9110 §5.5).
    pub fn header(mut self, name: &str, value: &str) -> Response {
        self.headers.extend(header(name, value));
        self
    }

    /// Whether a response with this status has a body, even an empty one (RFC 9110 §6.4.1).
    pub(super) fn has_body(&self) -> bool {
        !matches!(self.status.0, 100..=199 | 204 | 304)
    }

    /// Writes the status line and the header fields, with the empty line after them. `connection` is the
    /// `Connection` field, `end` the framing of the body.
    pub(super) fn write_head(&self, out: &mut Vec<u8>, connection: Option<&str>, end: BodyEnd) {
        let StatusCode(status) = self.status;
        let reason = self.status.default_reason_phrase();
        line(out, &["HTTP/1.1 ", &status.to_string(), " ", reason]);
        line(out, &["Date: ", &date(SystemTime::now())]);
        for header in &self.headers {
            let name = header.field.as_str().as_str();
            let mut reserved = RESERVED_FIELDS.split(' ');
            if !reserved.any(|own| own.eq_ignore_ascii_case(name)) {
                line(out, &[name, ": ", header.value.as_str()]);
            }
        }
        line(out, &["Access-Control-Allow-Origin: *"]);
        match end {
            BodyEnd::Length if self.has_body() => {
                line(out, &["Content-Length: ", &self.body.len().to_string()]);
            }
            BodyEnd::Chunks => line(out, &["Transfer-Encoding: chunked"]),
            BodyEnd::Length | BodyEnd::Close => {}
        }
        if end != BodyEnd::Length {
            // Or nginx would keep a stream until it is long enough.
            line(out, &["X-Accel-Buffering: no"]);
        }
        if let Some(connection) = connection {
            line(out, &["Connection: ", connection]);
        }
        line(out, &[]);
    }
}

/// The date as HTTP has it: of the years that it can have.
fn date(now: SystemTime) -> String {
    let latest = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    httpdate::fmt_http_date(now.clamp(UNIX_EPOCH, latest))
}

/// A header field with disallowed characters replaced; `None` if the name is not a field name.
pub(super) fn header(name: &str, value: &str) -> Option<Header> {
    let value: String = value
        .chars()
        .map(|c| match c {
            '\t' | ' '..='~' => c,
            _ => '?',
        })
        .collect();
    let is_name = !name.is_empty() && name.bytes().all(is_token);
    Header::from_bytes(name, value).ok().filter(|_| is_name)
}

fn line(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
