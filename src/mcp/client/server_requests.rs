//! Answers requests of the server: the request handler runs in a new thread for each. MCP 2025-11-25,
//! client/sampling, client/elicitation.

use super::{Inner, QUOTED};
use crate::incoming_requests::{Limits, Refusal, RequestGuard};
use crate::jsonrpc::{self, ErrorObject, Id, RawJson};
use crate::types::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult};
use gosling_sys::cancel::Cancel;
use gosling_text::{printable, redact};
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;
use std::time::Duration;

/// The most requests of one server that are answered at the same time.
const MAX_CONCURRENT: usize = 8;
/// How long `close` waits for handlers after it has cancelled them.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Answers requests of one MCP server: sampling and elicitation. The client declares the capabilities that its
/// handler has.
///
/// The client calls it in a new thread for each request. An answer may take minutes; the deadlines of the
/// client's own requests to that server are paused. `cancel` fires when the server cancels its request, the
/// call during which it came is cancelled, or the connection ends; the handler must return soon then, and its
/// result is dropped.
pub trait RequestHandler: Send + Sync {
    /// Whether it answers [`sample`](Self::sample). If not, the client refuses the server's requests.
    fn samples(&self) -> bool {
        true
    }

    /// Whether it answers [`elicit`](Self::elicit). If not, the client refuses the server's requests.
    fn elicits(&self) -> bool {
        true
    }

    /// Answers `sampling/createMessage`. `caller` is the label of the call during which it came, see
    /// [`CallOptions`](super::CallOptions).
    ///
    /// # Errors
    /// The JSON-RPC error for the server.
    fn sample(
        &self,
        caller: Option<&str>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject>;

    /// Answers `elicitation/create`.
    ///
    /// # Errors
    /// The JSON-RPC error for the server.
    fn elicit(
        &self,
        caller: Option<&str>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject>;

    /// Handles `notifications/elicitation/complete`: the user has finished at the address. Called in the
    /// thread that reads the connection, so it must not block.
    fn elicitation_complete(&self, _elicitation_id: &str) {}
}

/// The limits of the requests of one server.
pub(super) const LIMITS: Limits = Limits {
    answered: MAX_CONCURRENT,
    alive: MAX_CONCURRENT,
};

/// The call during which a request came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DuringCall {
    None,
    /// Any of the running calls.
    Some,
    Certain(i64),
}

/// A request of the server.
pub(super) enum ServerRequest {
    Sample(CreateMessageParams),
    Elicit(ElicitParams),
}

impl ServerRequest {
    /// Reads a request; `None` if the handler does not answer the method.
    pub(super) fn read(
        handler: &dyn RequestHandler,
        method: &str,
        params: Option<&RawValue>,
        secrets: &[String],
    ) -> Option<Result<ServerRequest, ErrorObject>> {
        match method {
            "sampling/createMessage" if handler.samples() => {
                Some(parameters(params).and_then(without_tools))
            }
            "elicitation/create" if handler.elicits() => {
                Some(parameters(params).and_then(|params: ElicitParams| {
                    params.check().map_err(invalid)?;
                    Ok(ServerRequest::Elicit(ElicitParams {
                        message: redact(&params.message, secrets),
                        ..params
                    }))
                }))
            }
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            ServerRequest::Sample(_) => "sampling",
            ServerRequest::Elicit(_) => "elicitation",
        }
    }

    fn run(
        self,
        handler: &dyn RequestHandler,
        caller: Option<&str>,
        cancel: &Cancel,
    ) -> Result<RawJson, ErrorObject> {
        let answer = match self {
            ServerRequest::Sample(params) => to_raw_value(&handler.sample(caller, params, cancel)?),
            ServerRequest::Elicit(params) => to_raw_value(&handler.elicit(caller, params, cancel)?),
        };
        answer.map_err(|e| ErrorObject::new(jsonrpc::INTERNAL_ERROR, e.to_string()))
    }
}

/// A client that does not declare `sampling.tools` must refuse tools.
fn without_tools(params: CreateMessageParams) -> Result<ServerRequest, ErrorObject> {
    if params.tools.is_some() || params.tool_choice.is_some() {
        return Err(invalid("this client did not declare `sampling.tools`"));
    }
    Ok(ServerRequest::Sample(params))
}

fn parameters<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, ErrorObject> {
    let params = params.map_or("null", RawValue::get);
    if !jsonrpc::begins_with(params, '{') {
        return Err(invalid("`params` is not an object"));
    }
    gosling_text::json::from_str_of_php(params)
        .map_err(|e| invalid(printable(&e.to_string(), QUOTED)))
}

fn invalid(reason: impl Into<String>) -> ErrorObject {
    ErrorObject::new(jsonrpc::INVALID_PARAMS, reason)
}

/// One request that is being answered in its thread. Dropping it sends an answer, unless the request was
/// cancelled.
struct Job {
    inner: Arc<Inner>,
    id: Id,
    /// Until the request ends.
    guard: Option<RequestGuard<DuringCall>>,
    outcome: Option<Result<RawJson, ErrorObject>>,
}

impl Job {
    fn end(mut self, outcome: Result<RawJson, ErrorObject>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // The guard is dropped before the answer, which the server's next request may follow at once.
        let wanted = self.guard.take().is_some_and(|guard| guard.finish());
        self.inner.pending.resume_deadlines();
        if wanted {
            let broken = || ErrorObject::new(jsonrpc::INTERNAL_ERROR, "the request handler failed");
            let outcome = self.outcome.take().unwrap_or_else(|| Err(broken()));
            self.inner.respond(&self.id, outcome.as_ref());
        }
    }
}

impl Inner {
    /// Starts a thread that answers a request of the server. `certain` is the call to which it certainly belongs.
    ///
    /// # Errors
    /// The error to answer at once.
    pub(super) fn begin_answer(
        self: Arc<Self>,
        id: &Id,
        request: ServerRequest,
        handler: Arc<dyn RequestHandler>,
        certain: Option<i64>,
    ) -> Result<(), ErrorObject> {
        let call = certain.or_else(|| self.pending.oldest_call());
        let caller = call.and_then(|call| self.pending.label(call));
        let during = match (certain, call) {
            (Some(call), _) => DuringCall::Certain(call),
            (None, Some(_)) => DuringCall::Some,
            (None, None) => DuringCall::None,
        };
        let Some(guard) = self.requests.begin(id, during).map_err(refused)? else {
            return Ok(());
        };
        self.pending.pause_deadlines();
        let name = format!("mcp {} {}", self.options.name, request.name());
        let requests = self.requests.clone();
        let cancel = guard.cancel.clone();
        let job = Job {
            inner: self,
            id: id.clone(),
            guard: Some(guard),
            outcome: None,
        };
        // If the thread cannot be started, the dropped job answers with an error.
        let _ = requests.spawn(name, move || {
            let outcome = request.run(&*handler, caller.as_deref(), &cancel);
            job.end(outcome);
        });
        Ok(())
    }

    /// Cancels the requests that came during a call that has ended early. `last`: no other call is running.
    pub(super) fn cancel_requests_of(&self, call: i64, last: bool) {
        self.requests.cancel_where(|during| match during {
            DuringCall::Certain(certain) => *certain == call,
            DuringCall::Some => last,
            DuringCall::None => false,
        });
    }

    /// Cancels all requests and waits for the handlers. A handler that ignores its token is left running, and
    /// logged.
    pub(super) fn close_requests(&self) {
        let name = &self.options.name;
        for _ in 0..self.requests.close(CLOSE_TIMEOUT) {
            log::warn!("a request of the server is still being answered extension={name:?}");
        }
    }
}

/// The error for a server.
fn refused(refusal: Refusal) -> ErrorObject {
    let (code, reason) = match refusal {
        Refusal::IdInUse(_) => (
            jsonrpc::INVALID_REQUEST,
            "another request with this id is being answered",
        ),
        Refusal::TooMany(_) => (
            jsonrpc::REFUSED,
            "too many requests at once; wait for the answers to earlier ones",
        ),
        Refusal::Ending => (jsonrpc::REFUSED, "the connection is ending"),
    };
    ErrorObject::new(code, reason)
}
