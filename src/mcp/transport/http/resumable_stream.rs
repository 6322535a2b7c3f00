//! Event streams that may span several connections: the standalone stream (a GET that stays open) and the
//! stream that answers a request. Both are resumed with a GET that names the last event. MCP 2025-11-25,
//! basic/transports, resumability and redelivery.

use super::exchange::{Exchange, LAST_EVENT_ID, read_short_body};
use super::status::{is_conflict, is_failure, is_temporary};
use super::{Shared, StandaloneStream, State, lock};
use crate::transport::TransportError;
use gosling_outbound::error_text::one_line;
use gosling_outbound::sse::Decoder;
use gosling_outbound::{is_compressed, media_type, retry_after};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use ureq::Body;
use ureq::http::header::{self, HeaderValue};
use ureq::http::{Method, Response, StatusCode};

/// The stream is given up after so many consecutive failures, or after so many consecutive connections of the
/// standalone stream that brought nothing and ended soon.
const MAX_FAILURES: u32 = 5;
/// The stream of an answer is given up after so many consecutive connections that brought nothing and ended
/// soon. There are more, because some servers close idle streams while they work and expect the client to
/// come back.
const MAX_EMPTY: u32 = 20;
/// A stream that stayed open for so long counts as useful: proxies end idle streams.
const USEFUL_DURATION: Duration = Duration::from_secs(5);
/// How long an answer may take on the standalone stream after its own stream has ended. It is shorter than
/// the call's time limit, because most servers whose stream ends so have failed.
const STANDALONE_ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// The first delay, if the server sets none; it doubles with each consecutive failure.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The longest doubled delay.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// Limits of the delay that a server sets.
const MIN_REQUESTED_DELAY: Duration = Duration::from_millis(100);
const MAX_REQUESTED_DELAY: Duration = Duration::from_secs(3600);

impl Shared {
    /// Reads the standalone stream until the server does not offer it any more or the transport closes. A
    /// server need not offer the stream, so that failures are not reported; denied access is logged.
    ///
    /// `broken` is the result of an earlier call: the position of a stream that could not be reopened.
    /// Returns the position if the stream cannot be reopened now.
    pub(super) fn follow_standalone_stream(
        &self,
        exchange: &Exchange,
        broken: Option<Decoder>,
    ) -> Option<Decoder> {
        let mut offered = broken.is_some();
        let mut decoder = broken.unwrap_or_else(|| Decoder::new(self.limit));
        let mut empty = 0;
        let mut failed = 0;
        while empty.max(failed) < MAX_FAILURES && !exchange.is_aborted() {
            let mut requested_delay = None;
            let answer = self.connect_stream(exchange, &decoder);
            self.stream_answered();
            match answer {
                Ok(response) if is_stream(&response) => {
                    offered = true;
                    failed = 0;
                    self.set_stream(StandaloneStream::Open);
                    let before = StreamPosition::of(&decoder);
                    let body = response.into_body();
                    if let Err(TransportError::TooLarge { .. }) =
                        self.read_events(exchange, body, None, &mut decoder)
                    {
                        return None;
                    }
                    decoder.reconnected();
                    empty = if before.advanced(&decoder) {
                        0
                    } else {
                        empty + 1
                    };
                }
                Ok(response) => {
                    let status = response.status();
                    requested_delay = retry_after(response.headers(), SystemTime::now());
                    self.log_refusal(exchange, "the standalone event stream", response);
                    // Servers without such a stream answer with various statuses at first, and some send 400
                    // in place of 409.
                    let refused_anew = is_failure(status) || status == StatusCode::BAD_REQUEST;
                    if !(is_temporary(status) || is_conflict(status) || offered && refused_anew) {
                        return None;
                    }
                    failed += 1;
                }
                Err(_) => failed += 1,
            }
            if failed >= MAX_FAILURES {
                break;
            }
            // Lost messages come after the stream is resumed, if it can be resumed.
            let brings_answers = failed == 0 && last_id(&decoder).is_some();
            // A server that ends the stream again and again does not expect it to be reopened before every
            // request.
            let was_useful = empty == 0;
            let loses = match failed {
                0 => was_useful && last_id(&decoder).is_none(),
                _ => offered,
            };
            let awaited = loses && requested_delay.is_none() && decoder.retry().is_none();
            self.pause_before_reopening(
                exchange,
                reconnect_delay(decoder.retry(), failed, requested_delay),
                awaited,
                brings_answers,
            );
        }
        (offered && failed >= MAX_FAILURES).then_some(decoder)
    }

    /// Lets requests go on after the server has answered the GET for its standalone stream.
    fn stream_answered(&self) {
        let mut state = lock(&self.state);
        if let StandaloneStream::Connecting { awaited_until, .. } = &mut state.stream
            && awaited_until.take().is_some()
        {
            self.changed.notify_all();
        }
    }

    /// Waits a while for an answer that will not come on its own stream any more, if it may come on the
    /// standalone stream. The exchange is aborted when it comes.
    pub(super) fn wait_standalone_answer(&self, exchange: &Exchange) {
        let _ = self.changed.wait_timeout_while(
            lock(&self.state),
            STANDALONE_ANSWER_TIMEOUT,
            |state| state.stream.brings_answers() && !exchange.is_aborted(),
        );
    }

    /// Delivers the messages of a request's stream, including the answer, over as many connections as needed.
    /// The caller decides how long to wait.
    pub(super) fn follow_answer_stream(
        &self,
        exchange: &Exchange,
        id: i64,
        body: Body,
    ) -> Result<(), TransportError> {
        let mut decoder = Decoder::new(self.limit);
        let mut connection = Ok(body);
        let mut requested_delay = None;
        let mut empty = 0;
        let mut failed = 0;
        loop {
            let ended = match connection {
                Ok(body) => {
                    let before = StreamPosition::of(&decoder);
                    let ended = match self.read_events(exchange, body, Some(id), &mut decoder) {
                        Ok(true) => return Ok(()),
                        Ok(false) => self.no_answer(""),
                        Err(error @ TransportError::TooLarge { .. }) => return Err(error),
                        Err(error) => error,
                    };
                    decoder.reconnected();
                    failed = 0;
                    empty = if before.advanced(&decoder) {
                        0
                    } else {
                        empty + 1
                    };
                    ended
                }
                Err(error) => {
                    failed += 1;
                    error
                }
            };
            if exchange.is_aborted() {
                return Err(TransportError::Closed);
            }
            if last_id(&decoder).is_none() {
                self.wait_standalone_answer(exchange);
                return Err(ended);
            }
            if failed >= MAX_FAILURES || empty >= MAX_EMPTY {
                return Err(ended);
            }
            self.pause(
                exchange,
                reconnect_delay(decoder.retry(), failed, requested_delay.take()),
            );
            connection = match self.connect_stream(exchange, &decoder) {
                Ok(response) if is_stream(&response) => Ok(response.into_body()),
                Ok(response) => {
                    let status = response.status();
                    requested_delay = retry_after(response.headers(), SystemTime::now());
                    let error = self.not_resumed(exchange, response);
                    if !(is_temporary(status) || is_conflict(status) || is_failure(status)) {
                        return Err(error);
                    }
                    Err(error)
                }
                Err(error) => Err(self.no_answer(&format!(", and {error}"))),
            };
        }
    }

    /// The error for a stream without an answer: never a status or `Unreachable`, because the request reached
    /// the server.
    fn no_answer(&self, more: &str) -> TransportError {
        let origin = &self.target.origin;
        TransportError::ResponseLost(format!(
            "{origin} ended its event stream without an answer{more}"
        ))
    }

    fn not_resumed(&self, exchange: &Exchange, response: Response<Body>) -> TransportError {
        let status = response.status();
        let kind = media_type(response.headers());
        let answer = if status.is_success() && !kind.is_empty() {
            one_line(&kind)
        } else {
            format!("HTTP {}", status.as_u16())
        };
        let body = read_short_body(exchange, response.into_body());
        let mut reason = format!(", and the stream cannot be resumed ({answer})");
        let words = self.excerpt(&body);
        if !words.is_empty() {
            reason = format!("{reason}: {}", one_line(&words));
        }
        self.no_answer(&reason)
    }

    fn connect_stream(
        &self,
        exchange: &Exchange,
        decoder: &Decoder,
    ) -> Result<Response<Body>, TransportError> {
        let mut headers = vec![(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream"),
        )];
        headers.extend(last_id(decoder).map(|id| (LAST_EVENT_ID, id)));
        self.run(exchange, Method::GET, &headers, (), None, || true)
    }

    /// Waits, unless the exchange is aborted.
    fn pause(&self, exchange: &Exchange, wait: Duration) {
        drop(self.pause_while(exchange, wait, |_| true));
    }

    /// Waits before the standalone stream is reopened. With `awaited`, because messages may be lost without
    /// the stream, a new request ends the wait, and requests wait for the stream.
    fn pause_before_reopening(
        &self,
        exchange: &Exchange,
        wait: Duration,
        awaited: bool,
        brings_answers: bool,
    ) {
        let pausing = StandaloneStream::Pausing {
            awaited,
            brings_answers,
        };
        self.set_stream(pausing);
        let is_pausing = |state: &State| matches!(state.stream, StandaloneStream::Pausing { .. });
        let mut state = self.pause_while(exchange, wait, is_pausing);
        if !is_pausing(&state) {
            return;
        }
        state.stream = if awaited {
            StandaloneStream::awaited(brings_answers)
        } else {
            StandaloneStream::Connecting {
                awaited_until: None,
                brings_answers,
            }
        };
    }

    /// Waits while `waits` is true and the exchange is not aborted.
    fn pause_while(
        &self,
        exchange: &Exchange,
        wait: Duration,
        waits: impl Fn(&State) -> bool,
    ) -> MutexGuard<'_, State> {
        let waits = |state: &mut State| waits(state) && !exchange.is_aborted();
        self.changed
            .wait_timeout_while(lock(&self.state), wait, waits)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

/// The position of a stream when a connection began.
struct StreamPosition {
    begin: Instant,
    delivered: u64,
    last_id: Option<String>,
}

impl StreamPosition {
    fn of(decoder: &Decoder) -> Self {
        StreamPosition {
            begin: Instant::now(),
            delivered: decoder.delivered(),
            last_id: decoder.last_id().map(str::to_owned),
        }
    }

    /// Whether the connection was useful. A priming event without data advances the stream, too.
    fn advanced(&self, decoder: &Decoder) -> bool {
        self.begin.elapsed() >= USEFUL_DURATION
            || self.delivered != decoder.delivered()
            || self.last_id.as_deref() != decoder.last_id()
    }
}

/// The id of the last event; `None` if it cannot be sent in a header.
fn last_id(decoder: &Decoder) -> Option<HeaderValue> {
    HeaderValue::from_bytes(decoder.last_id()?.as_bytes()).ok()
}

/// The delay before the next connection: the one that the stream sets, longer with consecutive failures, and
/// not shorter than the `Retry-After` of the last answer.
fn reconnect_delay(
    retry: Option<Duration>,
    failed: u32,
    requested_delay: Option<Duration>,
) -> Duration {
    let first = retry
        .unwrap_or(FIRST_DELAY)
        .clamp(MIN_REQUESTED_DELAY, MAX_REQUESTED_DELAY);
    let wait = first.max((first * 2u32.pow(failed.min(MAX_FAILURES))).min(MAX_DELAY));
    wait.max(requested_delay.unwrap_or_default().min(MAX_REQUESTED_DELAY))
}

fn is_stream(response: &Response<Body>) -> bool {
    response.status() == StatusCode::OK
        && media_type(response.headers()) == "text/event-stream"
        && !is_compressed(response.headers())
}

#[cfg(test)]
mod tests;
