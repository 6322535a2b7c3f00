//! The sessions of an MCP server over HTTP. Each client has its own server, until it ends the session or sends
//! nothing for a long time.

use super::response_stream::{EventId, ResponseStream};
use crate::http::Error;
use crate::mcp::server::{Connection, GRACE, Server};
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How many sessions exist at the same time.
const MAX_SESSIONS: usize = 64;
/// How long a session is kept without a request.
const IDLE: Duration = Duration::from_secs(1800);
/// How many complete streams a session keeps for a client that has to resume one.
const MAX_COMPLETE_STREAMS: usize = 16;

/// How many bytes the complete streams of a session have together.
const MAX_COMPLETE_BYTES: usize = 4 << 20;

/// The sessions of one MCP server.
pub struct Sessions {
    make: Box<dyn Fn() -> Arc<Server> + Send + Sync>,
    table: Mutex<HashMap<String, Arc<Session>>>,
    shutdown: Cancel,
}

/// The session of one client. Dropping it ends its server and the calls, so a waiting request holds no
/// reference to it.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) connection: Connection,
    /// Cancelled when the session has ended.
    pub(super) ended: Cancel,
    /// The number of the stream for messages outside of requests; 0 if there is none.
    standalone: u64,
    streams: Mutex<Streams>,
    /// When the last request came.
    last_request: Mutex<Instant>,
}

#[derive(Default)]
struct Streams {
    last: u64,
    kept: BTreeMap<u64, Arc<ResponseStream>>,
}

impl Sessions {
    /// No sessions. `make` makes the server of each session, or returns one that they share.
    pub fn new<S>(make: impl Fn() -> S + Send + Sync + 'static) -> Self
    where
        S: Into<Arc<Server>>,
    {
        Sessions {
            make: Box::new(move || make().into()),
            table: Mutex::default(),
            shutdown: Cancel::new(),
        }
    }

    /// Cancelled when the sessions are closed. Cancelling it cancels all their calls.
    pub fn cancel(&self) -> &Cancel {
        &self.shutdown
    }

    /// Ends the sessions that had no request for half an hour and run no call. Called regularly.
    pub fn end_idle(&self) {
        self.end_if(|session| session.idle() > IDLE);
    }

    /// Ends all sessions. No new ones begin.
    pub fn close(&self) {
        self.shutdown.cancel();
        self.end_if(|_| true);
    }

    fn end_if(&self, ends: impl Fn(&Session) -> bool) {
        let ended: Vec<_> = lock(&self.table)
            .extract_if(|_, session| ends(session))
            .collect();
        // The end of a session may take long, so they end in parallel. If a thread cannot start, its session
        // is cancelled and dropped, and its calls are not awaited.
        let endings: Vec<_> = ended
            .into_iter()
            .map(|(_, session)| {
                session.ended.cancel();
                let ending = move || {
                    session.end();
                    drop(session);
                };
                sys::spawn("session ends".to_owned(), None, ending)
            })
            .collect();
        for ending in endings.into_iter().flatten() {
            // The thread has reported its own panic.
            let _ = ending.join();
        }
    }

    /// A new session. Its client has not initialized it yet; [`add`](Self::add) puts it into the table.
    pub(super) fn begin(&self) -> Result<Arc<Session>, Error> {
        let id = sys::random_hex(16)
            .map_err(|error| Error::internal(format!("No session id can be drawn: {error}")))?;
        let ended = self.shutdown.child();
        let mut connection = Connection::new((self.make)(), &ended).overtaking();
        let mut streams = Streams::default();
        if connection.has_changes() {
            let standalone = Arc::<ResponseStream>::default();
            connection = connection.notifying(standalone.sink());
            streams.add(&standalone);
        }
        Ok(Arc::new(Session {
            id,
            connection,
            ended,
            standalone: streams.last,
            streams: Mutex::new(streams),
            last_request: Mutex::new(Instant::now()),
        }))
    }

    /// Adds the session; ends the one that was idle longest if there are too many. Errs with 503 if all of
    /// them run calls.
    pub(super) fn add(&self, session: &Arc<Session>) -> Result<(), Error> {
        let mut table = lock(&self.table);
        let longest = if table.len() >= MAX_SESSIONS {
            let idle = table.values().filter(|other| !other.is_busy());
            let longest = idle.min_by_key(|other| *lock(&other.last_request)).cloned();
            Some(longest.ok_or_else(|| {
                let text =
                    format!("{MAX_SESSIONS} clients are at work here already: try again later");
                Error::new(503, text).header("Retry-After", "10")
            })?)
        } else {
            None
        };
        if let Some(longest) = &longest {
            table.remove(&longest.id);
        }
        table.insert(session.id.clone(), session.clone());
        drop(table);
        if let Some(longest) = longest {
            longest.end();
        }
        if self.shutdown.is_cancelled() {
            self.end_if(|_| true);
        }
        Ok(())
    }

    /// The session with this id. Errs with 404 if there is none.
    pub(super) fn find(&self, id: &str) -> Result<Arc<Session>, Error> {
        let table = lock(&self.table);
        let session = table.get(id).ok_or_else(|| {
            Error::not_found("This session has ended, or never was: send `initialize` again")
        })?;
        // Under the lock of the table, so that the session is not ended as idle before.
        session.mark_used();
        Ok(session.clone())
    }

    /// Ends the session and returns when its calls have ended, unless a call ignores its cancellation. Errs with
    /// 404 if there is no such session.
    pub(super) fn end(&self, id: &str) -> Result<(), Error> {
        let session = self.find(id)?;
        lock(&self.table).remove(id);
        session.end();
        Ok(())
    }
}

impl Session {
    fn mark_used(&self) {
        *lock(&self.last_request) = Instant::now();
    }

    fn is_busy(&self) -> bool {
        self.connection.is_busy()
    }

    /// How long the session had no request; zero while a call runs.
    fn idle(&self) -> Duration {
        if self.is_busy() {
            self.mark_used();
        }
        lock(&self.last_request).elapsed()
    }

    fn end(&self) {
        self.ended.cancel();
        self.connection.close(GRACE);
    }

    /// Keeps a stream, so that the client can resume it, and returns its number.
    pub(super) fn keep(&self, stream: &Arc<ResponseStream>) -> u64 {
        lock(&self.streams).add(stream)
    }

    /// The stream for messages outside of requests, from its beginning; `None` if there are no such messages.
    pub(super) fn standalone(&self) -> Option<(Arc<ResponseStream>, EventId)> {
        let beginning = EventId {
            stream: self.standalone,
            message: 0,
        };
        Some((self.stream(self.standalone)?, beginning))
    }

    pub(super) fn stream(&self, number: u64) -> Option<Arc<ResponseStream>> {
        lock(&self.streams).kept.get(&number).cloned()
    }
}

impl Streams {
    /// Keeps a stream and returns its number.
    fn add(&mut self, stream: &Arc<ResponseStream>) -> u64 {
        self.last += 1;
        let number = self.last;
        self.kept.insert(number, stream.clone());
        self.tidy();
        number
    }

    /// Drops the oldest complete streams until the others are within the limits.
    fn tidy(&mut self) {
        let ended = self.kept.iter().filter(|(_, stream)| stream.has_ended());
        let ended: Vec<_> = ended.map(|(n, stream)| (*n, stream.bytes())).collect();
        let mut bytes: usize = ended.iter().map(|(_, bytes)| bytes).sum();
        for (left, (number, own)) in (1..=ended.len()).rev().zip(ended) {
            if left <= MAX_COMPLETE_STREAMS && bytes <= MAX_COMPLETE_BYTES {
                break;
            }
            bytes -= own;
            self.kept.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests;
