//! The stream of what the server says on its own account: a GET that stays open.

use super::exchange::{Exchange, LAST_EVENT_ID, explanation};
use super::{Shared, lock};
use crate::mcp::transport::TransportError;
use crate::outbound::media_type;
use crate::outbound::sse::Decoder;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use ureq::Body;
use ureq::http::header::{self, HeaderValue};
use ureq::http::{Method, Response, StatusCode};

/// After so many connections in a row that brought nothing the stream is given up.
const ATTEMPTS: u32 = 5;
/// The first wait, if the server names none; it doubles with each attempt in vain.
const WAIT: Duration = Duration::from_secs(1);
/// A server may ask for less or more than this, but does not get it.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);

impl Shared {
    /// Listens until the server does not offer the stream (any more) or the transport closes.
    /// Nothing is reported: a server need not offer it, and what the client waits for comes
    /// elsewhere.
    pub(super) fn listen(&self, exchange: &Exchange) {
        let mut decoder = Decoder::new(self.limit);
        let mut offered = false;
        let mut in_vain = 0;
        while in_vain < ATTEMPTS && !exchange.is_aborted() {
            match self.open(exchange, &decoder) {
                Ok(response) if is_stream(&response) => {
                    offered = true;
                    let before = decoder.delivered();
                    let body = response.into_body();
                    if let Err(TransportError::TooLarge { .. }) =
                        self.read_events(exchange, body, None, &mut decoder)
                    {
                        return;
                    }
                    decoder.reconnected();
                    in_vain = match decoder.delivered() > before {
                        true => 0,
                        false => in_vain + 1,
                    };
                }
                Ok(response) => {
                    let passing = is_passing(response.status());
                    explanation(exchange, response.into_body());
                    if !(offered && passing) {
                        return;
                    }
                    in_vain += 1;
                }
                Err(_) => in_vain += 1,
            }
            let wait = match decoder.retry() {
                Some(wait) => wait,
                None => WAIT * 2u32.pow(in_vain),
            };
            self.pause(exchange, wait.clamp(SHORTEST, LONGEST));
        }
    }

    fn open(
        &self,
        exchange: &Exchange,
        decoder: &Decoder,
    ) -> Result<Response<Body>, TransportError> {
        let mut headers = vec![(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream"),
        )];
        let last_id = decoder.last_id().map(HeaderValue::from_str);
        headers.extend(last_id.and_then(Result::ok).map(|id| (LAST_EVENT_ID, id)));
        self.run(exchange, Method::GET, &headers, (), None, || true)
    }

    /// Waits, or until the transport closes.
    fn pause(&self, exchange: &Exchange, wait: Duration) {
        let until = Instant::now() + wait;
        let mut work = lock(&self.work);
        while !exchange.is_aborted() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            work = (self.changed.wait_timeout(work, left))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

fn is_stream(response: &Response<Body>) -> bool {
    response.status() == StatusCode::OK && media_type(response.headers()) == "text/event-stream"
}

/// Whether the server may think differently of it in a moment.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}
