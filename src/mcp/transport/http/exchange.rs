//! One request to the server and its response, in the thread of the exchange.

use super::auth_challenge::{MAX_CHALLENGES, challenges};
use super::denied::{Challenge, Denied};
use super::status::{advice, clamp_retry_after, may_follow, reports_unknown_session};
use super::{ONE_WAY_LABEL, Shared, lock};
use crate::jsonrpc;
use crate::transport::{Stream, TransportError};
use gosling_outbound::error_text::{error_message, one_line};
use gosling_outbound::sse::Decoder;
use gosling_outbound::{
    Connection, error_cause, is_compressed, media_type, read_whole_body, retry_after,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{ErrorKind, Read};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant, SystemTime};
use ureq::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use ureq::http::{Method, Request, Response, StatusCode, response::Parts};
use ureq::{AsSendBody, Body, Error};

/// How long a server may take to end a response whose content is not needed. A connection that is read to its
/// end can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// The most that is read of a body that explains an error or is not needed, in bytes.
const MAX_SHORT_BODY: u64 = 64 * 1024;
const CHUNK: usize = 16 * 1024;
/// The most that may come before a body, in bytes: any number of interim responses, and a head.
const MAX_HEAD: usize = 256 * 1024;
const MAX_SESSION_ID: usize = 4096;
/// The most consecutive redirects.
const MAX_REDIRECTS: usize = 5;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The exchange of one thread, shared with threads that may abort it.
pub(super) struct Exchange {
    /// The request's id; `None` for one-way messages and the standalone stream.
    pub(super) request: Option<i64>,
    pub(super) connection: Connection,
    pub(super) thread: OnceLock<ThreadId>,
    aborted: AtomicBool,
}

impl Exchange {
    pub(super) fn new(request: Option<i64>, connection: Connection) -> Self {
        connection.progress.begin_request();
        Exchange {
            request,
            connection,
            thread: OnceLock::new(),
            aborted: AtomicBool::new(false),
        }
    }

    /// Ends the exchange. A name lookup or a TCP connect continues until its deadline.
    pub(super) fn abort(&self) {
        self.aborted.store(true, Ordering::SeqCst);
        self.connection.progress.finish_request();
        self.connection.agent.clone().shutdown();
    }

    /// Check this after every read: a body that lasts until the connection closes ends in the same way when
    /// the connection is shut down here.
    pub(super) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::SeqCst)
    }
}

enum Content {
    Json,
    Events,
    /// The server accepted the request without an answer.
    Nothing,
}

impl Shared {
    /// Posts a request and delivers all messages up to its answer.
    pub(super) fn post_request(
        &self,
        exchange: &Exchange,
        id: i64,
        message: &[u8],
    ) -> Result<(), TransportError> {
        let (head, body) = self.post(exchange, message, None)?.into_parts();
        if !head.status.is_success() {
            return self.refused(exchange, id, &head, body);
        }
        self.learn_session(&head.headers)?;
        match self.content(&head)? {
            Content::Json => self.read_answer(exchange, id, body),
            Content::Events => self.follow_answer_stream(exchange, id, body),
            Content::Nothing => {
                read_short_body(exchange, body);
                self.wait_standalone_answer(exchange);
                Err(TransportError::Io(format!(
                    "{} accepted the request (HTTP {}) and sent no answer",
                    self.target.origin,
                    head.status.as_u16()
                )))
            }
        }
    }

    /// Posts a message; `deadline` limits the time until the response is read.
    pub(super) fn post(
        &self,
        exchange: &Exchange,
        message: &[u8],
        deadline: Option<Duration>,
    ) -> Result<Response<Body>, TransportError> {
        let headers = [
            (
                header::ACCEPT,
                HeaderValue::from_static("application/json, text/event-stream"),
            ),
            (
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            ),
        ];
        let repeatable = || is_repeatable(message);
        self.run(
            exchange,
            Method::POST,
            &headers,
            message,
            deadline,
            repeatable,
        )
    }

    /// Sends one request and follows redirects within the server. The response is a redirect only if it may
    /// not be followed.
    pub(super) fn run<B: AsSendBody + Copy>(
        &self,
        exchange: &Exchange,
        method: Method,
        headers: &[(HeaderName, HeaderValue)],
        body: B,
        deadline: Option<Duration>,
        repeatable: impl Fn() -> bool,
    ) -> Result<Response<Body>, TransportError> {
        let end = deadline.map(|deadline| Instant::now() + deadline);
        let mut uri = self.target.uri().clone();
        for _ in 0..MAX_REDIRECTS {
            let request = || {
                let all = headers.iter().cloned().chain(self.session_headers());
                self.target.request(method.clone(), &uri, all, body)
            };
            let response = self.run_once(exchange, request, end, &repeatable)?;
            if !may_follow(response.status(), method == Method::GET) {
                return Ok(response);
            }
            let Some(next) = self.target.same_server_redirect(&uri, response.headers()) else {
                return Ok(response);
            };
            // Read to the end, so that the connection can be reused.
            read_short_body(exchange, response.into_body());
            uri = next;
        }
        Err(TransportError::Io(format!(
            "{} redirects from one path to another, {MAX_REDIRECTS} times in a row; set the uri to the \
             server's final address",
            self.target.origin
        )))
    }

    /// Sends one request.
    fn run_once<B: AsSendBody>(
        &self,
        exchange: &Exchange,
        request: impl Fn() -> Request<B>,
        end: Option<Instant>,
        repeatable: &impl Fn() -> bool,
    ) -> Result<Response<Body>, TransportError> {
        let Connection { agent, progress } = &exchange.connection;
        let prepare = || {
            if exchange.is_aborted() {
                return Err(TransportError::Closed);
            }
            let Some(end) = end else {
                return Ok(request());
            };
            let left = end.saturating_duration_since(Instant::now());
            let request = agent.configure_request(request());
            Ok(request.timeout_global(Some(left)).build())
        };
        let limit = || progress.limit_bytes(MAX_HEAD);
        let describe = |error: &Error| self.describe(error, progress.is_written());
        let response = (exchange.connection).send(prepare, limit, repeatable, describe)?;
        progress.clear_byte_limit();
        Ok(response)
    }

    fn session_headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let session = lock(&self.session);
        let id = session.id.clone().map(|id| (SESSION_ID, id));
        let version = session
            .version
            .clone()
            .map(|version| (PROTOCOL_VERSION, version));
        id.into_iter().chain(version)
    }

    /// Stores the session id in the response to `initialize`, that is before the version is negotiated.
    fn learn_session(&self, headers: &HeaderMap) -> Result<(), TransportError> {
        let Some(id) = headers.get(SESSION_ID) else {
            return Ok(());
        };
        let mut session = lock(&self.session);
        if session.version.is_some() {
            return Ok(());
        }
        let visible = id.as_bytes().iter().all(u8::is_ascii_graphic);
        if id.is_empty() || id.len() > MAX_SESSION_ID || !visible {
            return Err(TransportError::Io(format!(
                "{} sent a session id that is not visible ASCII",
                self.target.origin
            )));
        }
        let mut id = id.clone();
        id.set_sensitive(true);
        session.id = Some(id);
        Ok(())
    }

    fn content(&self, head: &Parts) -> Result<Content, TransportError> {
        let origin = &self.target.origin;
        let wrong = |what: String| Err(TransportError::Io(what));
        if is_compressed(&head.headers) {
            return wrong(format!(
                "{origin} compressed its answer without being asked; turn compression off at the \
                 server and at proxies in front of it"
            ));
        }
        match media_type(&head.headers).as_str() {
            "application/json" => Ok(Content::Json),
            "text/event-stream" => Ok(Content::Events),
            "" => Ok(Content::Nothing),
            other => wrong(format!(
                "{origin} answered with {}, neither JSON nor an event stream; check that the uri \
                 is that of an MCP server",
                one_line(other)
            )),
        }
    }

    fn read_answer(&self, exchange: &Exchange, id: i64, body: Body) -> Result<(), TransportError> {
        let bytes = read_whole_body(body, self.limit as u64)
            .map_err(|error| self.describe(&error, true))?;
        if exchange.is_aborted() {
            return Err(TransportError::Closed);
        }
        let bytes = bytes.ok_or(TransportError::TooLarge { limit: self.limit })?;
        let wrong = |what| {
            let origin = &self.target.origin;
            let words = self.excerpt(&bytes);
            TransportError::Io(format!("{origin} answered with {what}: {words}"))
        };
        match answered_ids(&bytes) {
            // A response without a length that breaks off ends like this.
            None if is_truncated_json(&bytes) => Err(TransportError::ResponseLost(format!(
                "{} ended its answer in the middle",
                self.target.origin
            ))),
            None => Err(wrong("something that is not JSON-RPC")),
            Some(answered) if self.deliver(&bytes, Some(id), &answered) => Ok(()),
            Some(_) => Err(wrong("a message that does not answer the request")),
        }
    }

    /// Delivers the events of a stream until it ends; true if the answer to `awaited` was among them. After
    /// the answer the rest is read for a short while only.
    pub(super) fn read_events(
        &self,
        exchange: &Exchange,
        body: Body,
        awaited: Option<i64>,
        decoder: &mut Decoder,
    ) -> Result<bool, TransportError> {
        let mut reader = body.into_reader();
        let mut chunk = vec![0; CHUNK];
        let mut answered = false;
        loop {
            let read = match reader.read(&mut chunk) {
                Ok(0) => return Ok(answered),
                Ok(read) => read,
                Err(_) if answered => return Ok(true),
                Err(error) => return Err(self.describe(&error.into(), true)),
            };
            let before = answered;
            let fits = decoder.push(&chunk[..read], |data| {
                if exchange.is_aborted() {
                    return;
                }
                // The handler also counts events that are not messages.
                answered |= self.deliver(data, awaited, &answered_ids(data).unwrap_or_default());
            });
            match fits {
                Err(_) if answered => return Ok(true),
                Err(_) => return Err(TransportError::TooLarge { limit: self.limit }),
                Ok(()) => {}
            }
            if answered && !before {
                exchange.connection.end_reads_within(DRAIN_TIMEOUT);
            }
        }
    }

    /// Turns an unexpected status into an error, unless the body is the answer to the request.
    fn refused(
        &self,
        exchange: &Exchange,
        id: i64,
        head: &Parts,
        body: Body,
    ) -> Result<(), TransportError> {
        let status = head.status;
        let body = if is_compressed(&head.headers) {
            Vec::new()
        } else {
            read_short_body(exchange, body)
        };
        let has_session = lock(&self.session).id.is_some();
        let expired = has_session
            && match status {
                StatusCode::NOT_FOUND | StatusCode::GONE => true,
                StatusCode::BAD_REQUEST => reports_unknown_session(&body),
                _ => false,
            };
        let refuses = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let challenges = self.challenges(&head.headers);
        // Challenges say more than the JSON-RPC error that comes with them.
        let busy = status == StatusCode::TOO_MANY_REQUESTS;
        let may_answer = !status.is_redirection() && !busy && (!refuses || challenges.is_empty());
        if may_answer
            && !expired
            && let Some(answered) = answered_ids(&body)
            && answered.contains(&id)
        {
            self.deliver(&body, Some(id), &answered);
            return Ok(());
        }
        if refuses {
            return Err(self.denied(status, challenges, &body));
        }
        if busy {
            return Err(TransportError::TooManyRequests {
                after: clamp_retry_after(retry_after(&head.headers, SystemTime::now())),
                detail: self.excerpt(&body),
            });
        }
        let hint = match status {
            _ if expired => "the server forgot the session".to_owned(),
            _ if status.is_redirection() => format!(
                "it {}; set the uri to the server's final address",
                self.target.describe_redirect(&head.headers)
            ),
            _ => advice(status).to_owned(),
        };
        let words = self.excerpt(&body);
        let detail = match (hint.as_str(), words.as_str()) {
            ("", _) => words,
            (_, "") => hint,
            _ => format!("{hint}: {words}"),
        };
        let code = status.as_u16();
        let detail = one_line(&detail);
        Err(if expired {
            TransportError::SessionExpired { code, detail }
        } else {
            TransportError::Status { code, detail }
        })
    }

    fn denied(
        &self,
        status: StatusCode,
        challenges: Vec<Challenge>,
        body: &[u8],
    ) -> TransportError {
        TransportError::Denied(Box::new(Denied {
            code: status.as_u16(),
            challenges,
            authorized: self.target.has_authorization(),
            detail: self.excerpt(body),
        }))
    }

    /// Ends an exchange that no caller waits for. Denied access is logged, for one-way messages only once.
    pub(super) fn log_refusal(&self, exchange: &Exchange, what: &str, response: Response<Body>) {
        let (head, body) = response.into_parts();
        let body = read_short_body(exchange, body);
        let name = &self.name;
        match head.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                if what == ONE_WAY_LABEL && self.refusal_logged.swap(true, Ordering::SeqCst) {
                    return;
                }
                let error = self.denied(head.status, self.challenges(&head.headers), &body);
                log::warn!("{what} was refused extension={name:?} reason={error}");
            }
            status if status.is_success() => {}
            status => log::debug!("{what} got an error status extension={name:?} status={status}"),
        }
    }

    /// The challenges of a response, with this client's secrets redacted.
    fn challenges(&self, headers: &HeaderMap) -> Vec<Challenge> {
        let mut all = Vec::new();
        for value in headers
            .get_all(header::WWW_AUTHENTICATE)
            .iter()
            .take(MAX_CHALLENGES)
        {
            all.extend(challenges(&String::from_utf8_lossy(value.as_bytes())));
        }
        all.truncate(MAX_CHALLENGES);
        for challenge in &mut all {
            challenge.scheme = self.target.redact(&challenge.scheme);
            for (name, value) in &mut challenge.parameters {
                (*name, *value) = (self.target.redact(name), self.target.redact(value));
            }
        }
        all
    }

    /// The error for a failure of ureq.
    fn describe(&self, error: &Error, written: bool) -> TransportError {
        let origin = &self.target.origin;
        let way = &self.target.via_proxy;
        let cause = one_line(&self.target.redact(&error_cause(error)));
        let refused = matches!(error, Error::Io(e) if e.kind() == ErrorKind::ConnectionRefused);
        let lost = matches!(error, Error::Io(_) | Error::Timeout(_) | Error::BodyStalled);
        if refused {
            TransportError::Refused(format!("cannot reach {origin}{way}: {cause}"))
        } else if !written {
            TransportError::Unreachable(format!("cannot reach {origin}{way}: {cause}"))
        } else if lost {
            TransportError::ResponseLost(format!("the answer of {origin}{way} was lost: {cause}"))
        } else {
            TransportError::Io(format!("the exchange with {origin}{way} failed: {cause}"))
        }
    }

    /// An excerpt of a body, with this client's secrets redacted.
    pub(super) fn excerpt(&self, body: &[u8]) -> String {
        error_message(
            self.target
                .redact(&String::from_utf8_lossy(body))
                .as_bytes(),
        )
    }

    /// Passes on a message of this request's stream, or of the standalone stream; true if it answers this
    /// request. An answer to another request, which may come on any stream, ends that request's exchange.
    fn deliver(&self, message: &[u8], request: Option<i64>, answered: &[i64]) -> bool {
        if let Some(handler) = self.handler() {
            handler.message(message, request.map_or(Stream::Standalone, Stream::Request));
        }
        for id in answered.iter().filter(|id| Some(**id) != request) {
            self.abandon(*id);
        }
        request.is_some_and(|id| answered.contains(&id))
    }
}

/// Reads a body that explains an error or is not needed, within limits of size and time.
pub(super) fn read_short_body(exchange: &Exchange, body: Body) -> Vec<u8> {
    (exchange.connection).read_short_body(body, MAX_SHORT_BODY, DRAIN_TIMEOUT)
}

/// Whether this is the incomplete beginning of JSON.
fn is_truncated_json(bytes: &[u8]) -> bool {
    gosling_text::json::from_slice::<IgnoredAny>(bytes).is_err_and(|error| error.is_eof())
}

/// A repeated tool call may have its effect twice; every other message of a client may be repeated.
fn is_repeatable(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(borrow, default)]
        method: Option<Cow<'a, str>>,
    }
    gosling_text::json::from_slice(message)
        .is_ok_and(|call: Call| call.method.is_none_or(|method| method != "tools/call"))
}

/// The requests that a message or batch answers; `None` if it is not JSON-RPC.
fn answered_ids(bytes: &[u8]) -> Option<Vec<i64>> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        #[serde(default)]
        method: Option<IgnoredAny>,
    }
    let answered = |head: &Head| match head.method {
        Some(_) => None,
        None => jsonrpc::parse_id(head.id?.get())?.own_number(),
    };
    let text = gosling_text::json::sanitize_bytes(bytes);
    let text = text.trim_start();
    match text.as_bytes().first()? {
        b'{' => {
            let head = gosling_text::json::from_str(text).ok()?;
            Some(answered(&head).into_iter().collect())
        }
        b'[' => {
            let heads: Vec<Head> = gosling_text::json::from_str(text).ok()?;
            Some(heads.iter().filter_map(answered).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
