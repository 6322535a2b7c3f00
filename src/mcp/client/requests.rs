//! What a server asks of its client while a call runs: each request is answered by the handler in a
//! thread of its own. MCP 2025-11-25, client/sampling, client/elicitation.

use super::Inner;
use crate::mcp::jsonrpc::{self, ErrorObject, Id, RawJson};
use crate::mcp::pending::Hold;
use crate::mcp::text::printable;
use crate::mcp::types::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult};
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How many requests of one server are answered at the same time.
pub const SIDE_BY_SIDE: usize = 8;
/// How long the end of a connection waits for handlers to give up.
const GIVE_UP: Duration = Duration::from_secs(2);

/// Answers what a server asks. The matching capabilities are declared when there is one.
///
/// Each call has a thread of its own and may take minutes; meanwhile the deadlines of our requests to
/// that server stand still. When `cancel` fires, because the server withdrew its request, the call that
/// it came in was given up, or the connection ended, it must return soon; what it returns then is
/// of no importance.
pub trait Handler: Send + Sync {
    /// `sampling/createMessage`.
    ///
    /// # Errors
    /// What the server gets instead of an answer.
    fn sample(
        &self,
        caller: Option<&str>,
        params: CreateMessageParams,
        cancel: &Cancel,
    ) -> Result<CreateMessageResult, ErrorObject>;

    /// `elicitation/create`.
    ///
    /// # Errors
    /// What the server gets instead of an answer.
    fn elicit(
        &self,
        caller: Option<&str>,
        params: ElicitParams,
        cancel: &Cancel,
    ) -> Result<ElicitResult, ErrorObject>;

    /// `notifications/elicitation/complete`: the user is done at the address. Called in the thread
    /// that reads the connection, so it must not block.
    fn elicitation_complete(&self, _elicitation_id: &str) {}
}

/// The requests of the server that are being answered.
#[derive(Default)]
pub(super) struct Requests {
    table: Mutex<Table>,
    ended: Condvar,
}

#[derive(Default)]
struct Table {
    closed: bool,
    running: HashMap<Id, Running>,
    threads: Vec<JoinHandle<()>>,
}

struct Running {
    cancel: Cancel,
    /// The id of our own request that it came in, as far as that is known.
    during: Option<i64>,
}

impl Requests {
    /// The server withdrew a request: it wants no answer any more.
    pub(super) fn withdraw(&self, id: &Id) {
        let running = lock(&self.table).running.remove(id);
        if let Some(running) = running {
            running.cancel.cancel();
        }
    }

    /// Nobody waits for this request of ours any more, so nobody needs what it asked for.
    pub(super) fn given_up(&self, request: i64) {
        self.cancel(|running| running.during == Some(request));
    }

    /// The connection is over; does not wait.
    pub(super) fn end(&self) {
        lock(&self.table).closed = true;
        self.cancel(|_| true);
    }

    /// As [`end`](Self::end), and waits for the threads. A handler that does not heed its token is
    /// left behind with a word in the log.
    pub(super) fn close(&self, name: &str) {
        self.end();
        let this = thread::current().id();
        let mut threads = std::mem::take(&mut lock(&self.table).threads);
        threads.retain(|thread| thread.thread().id() != this);
        let still = |_: &mut Table| threads.iter().any(|thread| !thread.is_finished());
        let table = lock(&self.table);
        let _ = self.ended.wait_timeout_while(table, GIVE_UP, still);
        for thread in threads {
            match thread.is_finished() {
                // A panic in it has been reported where it happened.
                true => drop(thread.join()),
                false => {
                    log::warn!("a server's request is still being answered extension={name:?}")
                }
            }
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
