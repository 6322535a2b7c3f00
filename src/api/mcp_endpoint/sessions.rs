//! The sessions of an MCP server over HTTP: each client's own server, until it says that it is over or
//! is not heard of for long.

use super::response_stream::ResponseStream;
use crate::http::Error;
use crate::mcp::server::{Connection, GRACE, Server};
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How many clients may have a session at the same time.
const MAX: usize = 64;
/// How long a session is kept of which nothing is heard.
const IDLE: Duration = Duration::from_secs(1800);
/// Of what was said in full, how many streams and how many bytes are kept for a client that did not
/// hear it all.
const TOLD: (usize, usize) = (16, 4 << 20);

/// The sessions of one MCP server.
pub struct Sessions {
    make: Box<dyn Fn() -> Server + Send + Sync>,
    table: Mutex<HashMap<String, Arc<Session>>>,
    over: Cancel,
}

/// One client's. Its server, and what that has started, ends when it is dropped, so requests that wait hold
/// none.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) connection: Connection,
    /// Cancelled when the session has ended.
    pub(super) over: Cancel,
    streams: Mutex<Streams>,
    heard: Mutex<Instant>,
}

#[derive(Default)]
struct Streams {
    last: u64,
    kept: BTreeMap<u64, Arc<ResponseStream>>,
}

impl Sessions {
    /// No session yet. `make` makes the server of each.
    pub fn new(make: impl Fn() -> Server + Send + Sync + 'static) -> Self {
        Sessions {
            make: Box::new(make),
            table: Mutex::default(),
            over: Cancel::new(),
        }
    }

    /// Cancelled when they are closed; whoever cancels it cancels all their calls.
    pub fn cancel(&self) -> &Cancel {
        &self.over
    }

    /// Ends the sessions of which nothing was heard for half an hour and for which nothing runs. To be
    /// called now and then.
    pub fn end_idle(&self) {
        self.end_if(|session| session.idle() > IDLE);
    }

    /// Ends all sessions. No new ones begin.
    pub fn close(&self) {
        self.over.cancel();
        self.end_if(|_| true);
    }

    fn end_if(&self, ends: impl Fn(&Session) -> bool) {
        let ended: Vec<_> = lock(&self.table)
            .extract_if(|_, session| ends(session))
            .collect();
        // Each may take its time, with what it has started, so they end side by side. Where there is no
        // thread for one it is let go here, cancelled, and its calls are not waited for.
        let endings: Vec<_> = ended
            .into_iter()
            .map(|(_, session)| {
                session.over.cancel();
                let ending = move || {
                    session.end();
                    drop(session);
                };
                sys::spawn("session ends".to_owned(), None, ending)
            })
            .collect();
        for ending in endings.into_iter().flatten() {
            // A panic in it has been reported where it happened.
            let _ = ending.join();
        }
    }

    /// A session that is not in the table before [`add`](Self::add): its client has yet to initialize.
    pub(super) fn begin(&self) -> Result<Arc<Session>, Error> {
        let id = sys::random_hex(16)
            .map_err(|error| Error::internal(format!("No session id can be drawn: {error}")))?;
        let over = self.over.child();
        Ok(Arc::new(Session {
            id,
            connection: Connection::new((self.make)(), &over).overtaking(),
            over,
            streams: Mutex::default(),
            heard: Mutex::new(Instant::now()),
        }))
    }

    /// Errs with 503 if there are too many and all of them are in use.
    pub(super) fn add(&self, session: &Arc<Session>) -> Result<(), Error> {
        let mut table = lock(&self.table);
        let longest = if table.len() >= MAX {
            let idle = table.values().filter(|other| !other.is_busy());
            let longest = idle.max_by_key(|other| other.idle()).cloned();
            Some(longest.ok_or_else(|| {
                let text = format!("{MAX} clients are at work here already: try again later");
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
        if self.over.is_cancelled() {
            self.end_if(|_| true);
        }
        Ok(())
    }

    /// The session of this id. Errs with 404 if there is none.
    pub(super) fn find(&self, id: &str) -> Result<Arc<Session>, Error> {
        let table = lock(&self.table);
        let session = table.get(id).ok_or_else(|| {
            Error::not_found("This session has ended, or never was: send `initialize` again")
        })?;
        // Before the table is let go, or it could be taken for idle meanwhile.
        session.listen();
        Ok(session.clone())
    }

    /// Ends the session; nothing of it is left when this returns, unless a call does not heed its
    /// cancellation. Errs with 404 if there is none of this id.
    pub(super) fn end(&self, id: &str) -> Result<(), Error> {
        let session = self.find(id)?;
        lock(&self.table).remove(id);
        session.end();
        Ok(())
    }
}

impl Session {
    fn listen(&self) {
        *lock(&self.heard) = Instant::now();
    }

    fn is_busy(&self) -> bool {
        self.connection.is_busy()
    }

    /// How long nothing was heard; no time while something runs.
    fn idle(&self) -> Duration {
        if self.is_busy() {
            self.listen();
        }
        lock(&self.heard).elapsed()
    }

    fn end(&self) {
        self.over.cancel();
        self.connection.close(GRACE);
    }

    /// Keeps a stream, so that its client may come back for the rest, and gives its number.
    pub(super) fn keep(&self, stream: &Arc<ResponseStream>) -> u64 {
        let mut streams = lock(&self.streams);
        streams.last += 1;
        let number = streams.last;
        streams.kept.insert(number, stream.clone());
        streams.tidy();
        number
    }

    pub(super) fn stream(&self, number: u64) -> Option<Arc<ResponseStream>> {
        lock(&self.streams).kept.get(&number).cloned()
    }
}

impl Streams {
    /// Lets go of the oldest of those that have ended, until little enough is left of them.
    fn tidy(&mut self) {
        let ended = self.kept.iter().filter(|(_, stream)| stream.has_ended());
        let ended: Vec<_> = ended.map(|(n, stream)| (*n, stream.bytes())).collect();
        let mut bytes: usize = ended.iter().map(|(_, bytes)| bytes).sum();
        for (left, (number, own)) in (1..=ended.len()).rev().zip(ended) {
            if left <= TOLD.0 && bytes <= TOLD.1 {
                break;
            }
            bytes -= own;
            self.kept.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: usize) -> Arc<ResponseStream> {
        let stream = Arc::new(ResponseStream::default());
        stream.sink()(vec![b' '; bytes]);
        stream
    }

    #[test]
    fn of_what_was_told_little_is_kept_and_of_the_rest_everything() {
        let mut streams = Streams::default();
        let (open, _sink) = {
            let stream = Arc::new(ResponseStream::default());
            let sink = stream.sink();
            (stream, sink)
        };
        streams.kept.insert(0, open);
        for number in 1..=40 {
            streams.kept.insert(number, told(10));
            streams.tidy();
        }
        let kept: Vec<u64> = streams.kept.keys().copied().collect();
        assert_eq!(kept, [&[0][..], &(25..=40).collect::<Vec<_>>()].concat());
        streams.kept.insert(41, told(TOLD.1 - 20));
        streams.tidy();
        let kept: Vec<u64> = streams.kept.keys().copied().collect();
        assert_eq!(kept, [0, 39, 40, 41]);
        streams.kept.insert(42, told(TOLD.1 + 1));
        streams.tidy();
        assert_eq!(streams.kept.keys().copied().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn the_client_that_is_idle_longest_makes_room() {
        let sessions = Sessions::new(|| Server::new("empty", "1"));
        let mut ids = Vec::new();
        for _ in 0..=MAX {
            let session = sessions.begin().unwrap();
            sessions.add(&session).unwrap();
            ids.push(session.id.clone());
        }
        assert!(sessions.find(&ids[0]).is_err());
        assert!(ids[1..].iter().all(|id| sessions.find(id).is_ok()));
        sessions.close();
        assert!(sessions.find(&ids[1]).is_err());
        let late = sessions.begin().unwrap();
        sessions.add(&late).unwrap();
        assert!(sessions.find(&late.id).is_err());
    }
}
