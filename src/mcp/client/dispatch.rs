//! Dispatch of the server's messages: responses go to their slots, notifications to the handler, requests are
//! answered. Invalid messages are counted, and the first of each kind logged.

use super::server_requests::ServerRequest;
use super::{Counters, Inner, QUOTED};
use crate::jsonrpc::beginning::{Beginning, Kind};
use crate::jsonrpc::{self, ErrorObject, Id, Malformed, Message, Payload, RawJson};
use crate::pending_requests::Outcome;
use crate::transport::{MessageHandler, Stream, TransportError};
use crate::types::Progress;
use gosling_sys::caught;
use gosling_text::{Cut, printable, redact, redact_excerpt};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::atomic::{AtomicU64, Ordering};

/// The id of `initialize`, the first request of a connection.
const INITIALIZE: i64 = 1;
/// How many messages of each invalid kind are logged.
const MAX_LOGGED: u64 = 5;
/// The part of an invalid message that is searched for secrets before it is quoted, in bytes.
const MAX_SEARCHED: usize = 16 << 10;

impl Inner {
    fn dispatch(&self, message: Message, stream: Stream) {
        match message {
            Message::Response { id, outcome } => {
                let outcome = outcome.map_or_else(Outcome::Refused, Outcome::Answer);
                let initialize = self.initialize_id();
                let number = match (&id, &outcome) {
                    (None, Outcome::Refused(_)) => initialize,
                    (id, _) => id.as_ref().and_then(Id::own_number),
                };
                // Whatever its id: no other answer has this member.
                let is_of_initialize = initialize.is_some()
                    && matches!(&outcome, Outcome::Answer(it) if it.get().contains("\"protocolVersion\""));
                let known = number.is_some_and(|number| self.pending.complete(number, outcome));
                if known && matches!(id, Some(Id::String(_))) {
                    self.overlook("a response", &["its id is a text".to_owned()]);
                }
                if !known {
                    let id_text = id.as_ref().map_or("none".to_owned(), Id::to_string);
                    let id_text = printable(&id_text, 64);
                    if is_of_initialize {
                        let wrong =
                            format!("the answer has the id {id_text} instead of {INITIALIZE}");
                        self.pending.complete(INITIALIZE, Outcome::Broken(wrong));
                    }
                    self.count_and_log(&self.counters.unexpected, || {
                        format!("skipped a response to an unknown request id={id_text}")
                    });
                }
            }
            Message::Notification { method, params } => {
                self.counters.notifications.fetch_add(1, Ordering::Relaxed);
                // A callback that panics loses its message only.
                let notified = || self.notified(&method, params.as_deref(), stream);
                let _ = caught("callback for a notification", notified);
            }
            Message::Request { id, method, params } => {
                self.answer(&id, &method, params.as_deref(), stream);
            }
        }
    }

    fn notified(&self, method: &str, params: Option<&RawValue>, stream: Stream) {
        // The request that the notification certainly belongs to, and the call whose observer gets it.
        let (request, observed) = match method {
            "notifications/progress" => {
                let request = self.progress(params);
                (request, request)
            }
            "notifications/message" => match stream {
                Stream::Request(request) => (Some(request), Some(request)),
                Stream::Shared => (None, self.pending.oldest_call()),
                Stream::Standalone => (None, None),
            },
            "notifications/cancelled" => {
                if let Some(id) = cancelled_id(params) {
                    self.requests.withdraw(&id, false);
                }
                (None, None)
            }
            "notifications/elicitation/complete" => {
                if let (Some(handler), Some(id)) =
                    (&self.options.request_handler, elicitation_id(params))
                {
                    handler.elicitation_complete(&id);
                }
                (None, None)
            }
            _ => (None, None),
        };
        if !observed.is_some_and(|call| self.pending.observe(call, method, params)) {
            self.notification_handler
                .notification(method, params, request);
        }
    }

    /// Extends the deadline of the request whose id is the progress token.
    fn progress(&self, params: Option<&RawValue>) -> Option<i64> {
        let progress: Progress = gosling_text::json::from_str(params?.get()).ok()?;
        let request = progress.progress_token.own_number();
        request.filter(|request| self.pending.extend(*request))
    }

    /// The id of `initialize` until it is answered.
    fn initialize_id(&self) -> Option<i64> {
        self.server.get().is_none().then_some(INITIALIZE)
    }

    /// Ends the request that a malformed response was meant for: it will not get another one.
    fn fail_request(&self, malformed: &Malformed, bytes: &[u8]) {
        let beginning = match malformed {
            Malformed::NotJson(_) => Beginning::of(bytes),
            Malformed::NotMessage { id, is_answer, .. } => Beginning {
                id: id.clone(),
                kind: is_answer.then_some(Kind::Response),
            },
            _ => Beginning::default(),
        };
        let answered = match (beginning.kind, beginning.id) {
            (Some(Kind::Response), Some(id)) => id.own_number(),
            (Some(Kind::Response), None) => self.initialize_id(),
            _ => None,
        };
        let Some(id) = answered else { return };
        let reason = redact(&malformed.to_string(), &self.options.secrets);
        let reason = printable(&reason, QUOTED);
        let reason = format!("the answer is {reason}");
        self.pending.complete(id, Outcome::Broken(reason));
    }

    /// Answers a request of the server: `ping`, `roots/list`, and what the request handler supports.
    fn answer(&self, id: &Id, method: &str, params: Option<&RawValue>, stream: Stream) {
        if method == "ping" {
            let empty = RawValue::from_string("{}".to_owned()).unwrap_or_default();
            return self.respond(id, Ok(&empty));
        }
        if method == "roots/list"
            && let Some(roots) = &self.options.roots
            && let Ok(roots) = to_raw_value(&json!({ "roots": roots }))
        {
            return self.respond(id, Ok(&roots));
        }
        let certain = match stream {
            Stream::Request(request) => Some(request),
            Stream::Shared | Stream::Standalone => None,
        };
        let server_request = self.options.request_handler.clone().and_then(|handler| {
            let server_request =
                ServerRequest::read(&*handler, method, params, &self.options.secrets)?;
            Some((handler, server_request))
        });
        let error = match (server_request, self.this.upgrade()) {
            (Some((handler, Ok(server_request))), Some(this)) => {
                match this.begin_answer(id, server_request, handler, certain) {
                    Ok(()) => return,
                    Err(error) => error,
                }
            }
            (Some((_, Err(error))), _) => error,
            (_, _) => {
                let method = printable(method, 64);
                let reason = format!("this client does not support {method:?}");
                ErrorObject::new(jsonrpc::METHOD_NOT_FOUND, reason)
            }
        };
        self.count_and_log(&self.counters.refused, || {
            let method = printable(method, 64);
            let reason = &error.message;
            format!("refused a request of the server method={method:?} reason={reason:?}")
        });
        self.respond(id, Err(&error));
    }

    pub(super) fn respond(&self, id: &Id, outcome: Result<&RawJson, &ErrorObject>) {
        if let Ok(bytes) = jsonrpc::response(Some(id), outcome) {
            let _ = self.transport.send(bytes, None);
        }
    }

    /// Logs the numbers of skipped messages when the connection closes.
    pub(super) fn log_skipped(&self) {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        let Counters {
            malformed,
            unexpected,
            notifications,
            refused,
        } = &self.counters;
        let malformed = take(malformed);
        let unexpected = take(unexpected);
        let refused = take(refused);
        if malformed + unexpected + refused > 0 {
            log::info!(
                "skipped messages in total extension={:?} malformed={malformed} unexpected={unexpected} \
                 refused={refused} notifications={}",
                self.options.name,
                take(notifications)
            );
        }
    }

    fn malformed(&self, reason: &Malformed, bytes: &[u8]) {
        let secrets = &self.options.secrets;
        self.count_and_log(&self.counters.malformed, || {
            let head = &bytes[..bytes.len().min(MAX_SEARCHED)];
            let cut = Cut {
                before: false,
                behind: head.len() < bytes.len(),
            };
            let reason = printable(&redact(&reason.to_string(), secrets), QUOTED);
            let text = printable(&redact_excerpt(head, cut, secrets), QUOTED);
            format!("skipped an invalid message reason={reason:?} text={text:?}")
        });
    }

    /// Counts an invalid message, and logs the first few.
    fn count_and_log(&self, counter: &AtomicU64, what: impl FnOnce() -> String) {
        if counter.fetch_add(1, Ordering::Relaxed) < MAX_LOGGED {
            log::warn!("{} extension={:?}", what(), self.options.name);
        }
    }

    /// Whether the negotiated version has batches; false before `initialize`.
    fn batches_allowed(&self) -> bool {
        self.server
            .get()
            .is_some_and(|server| server.protocol_version == jsonrpc::BATCHES)
    }
}

/// Whether an unexpected array is a batch that may contain responses, rather than, for example, a log line
/// that begins with `[INFO]`. Allocates nothing, however many parts it has.
fn is_batch(reason: &Malformed, bytes: &[u8]) -> bool {
    let first = bytes.trim_ascii_start().strip_prefix(b"[");
    let first = first.map(<[u8]>::trim_ascii_start);
    *reason == Malformed::Batch
        && first.is_some_and(|part| part.starts_with(b"{"))
        && gosling_text::json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// The id in `notifications/cancelled`.
fn cancelled_id(params: Option<&RawValue>) -> Option<Id> {
    #[derive(Deserialize)]
    struct Cancelled {
        #[serde(rename = "requestId")]
        request: Id,
    }
    let cancelled: Cancelled = gosling_text::json::from_str(params?.get()).ok()?;
    Some(cancelled.request)
}

/// The id in `notifications/elicitation/complete`.
fn elicitation_id(params: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Complete {
        elicitation_id: String,
    }
    let complete: Complete = gosling_text::json::from_str(params?.get()).ok()?;
    Some(complete.elicitation_id)
}

impl MessageHandler for Inner {
    fn message(&self, bytes: &[u8], stream: Stream) {
        let text = gosling_text::json::sanitize_bytes(bytes);
        let bytes = text.as_bytes();
        match jsonrpc::parse_sanitized(&text, self.batches_allowed()) {
            Ok(Payload::One(message)) => self.dispatch(message, stream),
            Ok(Payload::Batch(parts)) => {
                for part in parts {
                    match part {
                        Ok(message) => self.dispatch(message, stream),
                        Err(reason) => self.malformed(&reason, b"(in a batch)"),
                    }
                }
            }
            // The batch may contain responses, and their requests would wait in vain.
            Err(batch) if batch == Malformed::LongBatch || is_batch(&batch, bytes) => {
                self.pending
                    .fail_protocol(format!("the server sent {batch}"));
                self.requests.cancel_all();
            }
            Err(reason) => {
                self.malformed(&reason, bytes);
                self.fail_request(&reason, bytes);
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    fn failed(&self, request: i64, error: TransportError) {
        self.pending.complete(request, Outcome::Failed(error));
    }

    fn closed(&self, error: TransportError) {
        let name = &self.options.name;
        match &error {
            TransportError::Closed => log::debug!("connection closed extension={name:?}"),
            error => log::warn!(
                "connection lost extension={name:?} reason={:?}",
                error.to_string()
            ),
        }
        self.pending.fail(error);
        self.requests.cancel_all();
    }
}
