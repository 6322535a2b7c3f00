//! Answers requests of the server: the request handler runs in a new thread for each. MCP 2025-11-25,
//! client/sampling, client/elicitation.

use super::{Inner, QUOTED};
use crate::jsonrpc::{self, ErrorObject, Id, RawJson};
use crate::types::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult};
use gosling_sys as sys;
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use gosling_sys::threads::Threads;
use gosling_text::{printable, redact};
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The most requests of one server that are answered at the same time.
pub const MAX_CONCURRENT: usize = 8;
/// How long `close` waits for handlers after it has cancelled them.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Answers requests of one MCP server: sampling and elicitation, whose capabilities the client declares if it
/// has a handler.
///
/// The client calls it in a new thread for each request. An answer may take minutes; the deadlines of the
/// client's own requests to that server are paused. `cancel` fires when the server cancels its request, the
/// call during which it came is cancelled, or the connection ends; the handler must return soon then, and its
/// result is dropped.
pub trait RequestHandler: Send + Sync {
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

/// The server's requests that are being answered.
#[derive(Default)]
pub(super) struct ServerRequests {
    table: Mutex<Table>,
    ended: Condvar,
}

#[derive(Default)]
struct Table {
    closed: bool,
    last: u64,
    /// The number of running handlers, including those whose request was cancelled.
    active: usize,
    running: HashMap<Id, Running>,
    threads: Threads,
}

struct Running {
    /// Distinguishes the request from an earlier one with the same id.
    number: u64,
    cancel: Cancel,
    during: DuringCall,
}

/// The call during which a request came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DuringCall {
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
    /// Reads a request; `None` if no handler answers the method.
    pub(super) fn read(
        method: &str,
        params: Option<&RawValue>,
        secrets: &[String],
    ) -> Option<Result<ServerRequest, ErrorObject>> {
        match method {
            "sampling/createMessage" => Some(parameters(params).and_then(without_tools)),
            "elicitation/create" => Some(parameters(params).and_then(|params: ElicitParams| {
                params.check().map_err(invalid)?;
                Ok(ServerRequest::Elicit(ElicitParams {
                    message: redact(&params.message, secrets),
                    ..params
                }))
            })),
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
    number: u64,
    outcome: Option<Result<RawJson, ErrorObject>>,
}

impl Job {
    fn end(mut self, outcome: Result<RawJson, ErrorObject>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let requests = &self.inner.requests;
        let wanted = {
            let mut table = lock(&requests.table);
            table.active -= 1;
            let running = table.running.get(&self.id);
            let wanted = running.is_some_and(|running| running.number == self.number);
            if wanted {
                table.running.remove(&self.id);
            }
            wanted
        };
        requests.ended.notify_all();
        self.inner.pending.resume_deadlines();
        if wanted {
            let broken = || ErrorObject::new(jsonrpc::INTERNAL_ERROR, "the request handler failed");
            let outcome = self.outcome.take().unwrap_or_else(|| Err(broken()));
            self.inner.respond(&self.id, outcome.as_ref());
        }
    }
}

impl ServerRequests {
    /// Starts a thread that answers a request.
    ///
    /// # Errors
    /// The error to answer at once.
    pub(super) fn begin(
        &self,
        inner: Arc<Inner>,
        id: &Id,
        request: ServerRequest,
        handler: Arc<dyn RequestHandler>,
        certain: Option<i64>,
    ) -> Result<(), ErrorObject> {
        let refused = |reason: &str| Err(ErrorObject::new(jsonrpc::REFUSED, reason));
        let call = certain.or_else(|| inner.pending.oldest_call());
        let caller = call.and_then(|call| inner.pending.label(call));
        let during = match (certain, call) {
            (Some(call), _) => DuringCall::Certain(call),
            (None, Some(_)) => DuringCall::Some,
            (None, None) => DuringCall::None,
        };
        let cancel = Cancel::new();
        let mut table = lock(&self.table);
        if table.closed {
            return refused("the connection is ending");
        }
        if table.running.contains_key(id) {
            let reason = "another request with this id is being answered";
            return Err(ErrorObject::new(jsonrpc::INVALID_REQUEST, reason));
        }
        if table.active >= MAX_CONCURRENT {
            return refused("too many requests at once; wait for the answers to earlier ones");
        }
        table.last += 1;
        table.active += 1;
        let running = Running {
            number: table.last,
            cancel: cancel.clone(),
            during,
        };
        table.running.insert(id.clone(), running);
        let job = Job {
            inner,
            id: id.clone(),
            number: table.last,
            outcome: None,
        };
        drop(table);
        job.inner.pending.pause_deadlines();
        let name = format!("mcp {} {}", job.inner.options.name, request.name());
        let spawned = sys::spawn(name, None, move || {
            let outcome = request.run(&*handler, caller.as_deref(), &cancel);
            job.end(outcome);
        });
        // If the thread cannot be started, the dropped job answers with an error.
        if let Ok(thread) = spawned {
            lock(&self.table).threads.add(thread);
        }
        Ok(())
    }

    /// Cancels a request on behalf of the server, which expects no answer.
    pub(super) fn withdraw(&self, id: &Id) {
        let running = lock(&self.table).running.remove(id);
        if let Some(running) = running {
            running.cancel.cancel();
        }
    }

    /// Cancels the requests that came during a call that has ended early. `last`: no other call is running.
    pub(super) fn cancel_from(&self, request: i64, last: bool) {
        self.cancel(|running| match running.during {
            DuringCall::Certain(call) => call == request,
            DuringCall::Some => last,
            DuringCall::None => false,
        });
    }

    /// Refuses and cancels all requests; does not wait for the handlers.
    pub(super) fn end(&self) {
        lock(&self.table).closed = true;
        self.cancel(|_| true);
    }

    /// Calls [`end`](Self::end) and waits for the handlers. A handler that ignores its token is left running,
    /// and logged.
    pub(super) fn close(&self, name: &str) {
        self.end();
        let threads = std::mem::take(&mut lock(&self.table).threads);
        let ours = usize::from(threads.has_this());
        let is_running = |table: &mut Table| table.active > ours;
        let waited = self
            .ended
            .wait_timeout_while(lock(&self.table), CLOSE_TIMEOUT, is_running);
        let all_ended = !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out();
        for _ in 0..threads.join(all_ended) {
            log::warn!("a request of the server is still being answered extension={name:?}");
        }
    }

    fn cancel(&self, which: impl Fn(&Running) -> bool) {
        let tokens: Vec<_> = {
            let table = lock(&self.table);
            let all = table.running.values().filter(|running| which(running));
            all.map(|running| running.cancel.clone()).collect()
        };
        for token in tokens {
            token.cancel();
        }
    }
}
