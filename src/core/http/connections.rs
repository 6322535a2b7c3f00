//! The table of open connections: it enforces the limit on their number, chooses the one to close for a new
//! one, and joins their threads.
//!
//! Clients without the key cannot keep out those that have it: while the table is full, the oldest connection
//! that has not sent the key is closed for a new one, whatever it is doing.

use super::Stream;
use crate::sys::{TimeLimit, lock};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread reads a request or writes an error.
const READING: u64 = 0;
/// A handler runs, or its response is being written.
const HANDLING: u64 = 1;
/// Another thread has closed the connection; its own thread is about to notice.
const CLOSED: u64 = 2;
/// The connection waits for a request. The state is this plus the milliseconds from the server's start to the
/// start of the wait.
const IDLE: u64 = 3;
/// A flag of connections that have sent the key.
const AUTHENTICATED: u64 = 1 << 63;

/// Maximum number of threads whose connections were evicted and that have not ended yet.
const MAX_EVICTED: usize = 16;
/// How long the acceptor waits for those threads before it continues anyway.
const EVICTION_TIMEOUT: Duration = Duration::from_millis(100);
/// The poll interval of a wait for a connection that can be evicted.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What the thread of a connection and the threads that may close the connection share.
#[derive(Debug)]
pub(super) struct SharedConnection {
    pub(super) stream: Arc<Stream>,
    /// The address of the client, if its socket has one.
    pub(super) peer: Option<SocketAddr>,
    accepted_at: Instant,
    state: AtomicU64,
}

impl SharedConnection {
    /// A connection that waits for its first request since `now`, an age of the server.
    pub(super) fn new(stream: Stream, peer: Option<SocketAddr>, now: Duration) -> SharedConnection {
        SharedConnection {
            stream: Arc::new(stream),
            peer,
            accepted_at: Instant::now(),
            state: AtomicU64::new(idle_at(now)),
        }
    }

    /// Marks the connection as idle from `now` on, an age of the server. False if it was closed.
    pub(super) fn set_idle(&self, now: Duration) -> bool {
        self.enter(idle_at(now))
    }

    /// Marks that a request has begun to arrive. False if the connection was closed.
    pub(super) fn set_reading(&self) -> bool {
        self.enter(READING)
    }

    /// Marks that a handler is about to run. False if the connection was closed.
    pub(super) fn set_handling(&self) -> bool {
        self.enter(HANDLING)
    }

    /// Marks that the client has sent the key.
    pub(super) fn set_authenticated(&self) {
        // Avoids the write for all but the first request of a connection.
        if is_unauthenticated(self.state()) {
            self.change(|state| (state != CLOSED).then_some(state | AUTHENTICATED));
        }
    }

    fn enter(&self, next: u64) -> bool {
        self.change(|state| (state != CLOSED).then_some(next | (state & AUTHENTICATED)))
    }

    fn state(&self) -> u64 {
        self.state.load(Ordering::SeqCst)
    }

    /// Closes the connection if its state satisfies `which`.
    fn close_if(&self, which: impl Fn(u64) -> bool) -> bool {
        let closed = self.change(|state| (state != CLOSED && which(state)).then_some(CLOSED));
        if closed {
            // Wakes the connection's thread if it waits for input.
            self.stream.abort();
        }
        closed
    }

    fn change(&self, to: impl FnMut(u64) -> Option<u64>) -> bool {
        let order = Ordering::SeqCst;
        self.state.fetch_update(order, order, to).is_ok()
    }
}

fn idle_at(now: Duration) -> u64 {
    let most = AUTHENTICATED - 1 - IDLE;
    IDLE + u64::try_from(now.as_millis()).map_or(most, |millis| millis.min(most))
}

/// Whether a connection in this state has not sent the key.
fn is_unauthenticated(state: u64) -> bool {
    state & AUTHENTICATED == 0
}

/// Whether a connection in this state may be closed for a new one.
fn is_evictable(state: u64) -> bool {
    is_unauthenticated(state) || state & !AUTHENTICATED >= IDLE
}

/// All connections of a server.
#[derive(Debug, Default)]
pub(super) struct Connections {
    table: Mutex<Table>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    open: HashMap<u64, Entry>,
    /// Evicted connections whose threads have not ended yet.
    evicted: HashMap<u64, Entry>,
    /// The thread that ended last. The next thread to end joins it, so that ended threads do not accumulate.
    ended: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Entry {
    connection: Arc<SharedConnection>,
    thread: JoinHandle<()>,
}

impl Table {
    /// The oldest connection without the key or, if all have sent it, the one idle longest.
    fn evictable(&self) -> Option<(u64, &Entry)> {
        self.open
            .iter()
            .map(|(&id, entry)| (id, entry, entry.connection.state()))
            .filter(|&(.., state)| is_evictable(state))
            // Ids grow in the order in which connections were accepted.
            .min_by_key(|&(id, _, state)| {
                if is_unauthenticated(state) {
                    (0, id)
                } else {
                    (state, id)
                }
            })
            .map(|(id, entry, _)| (id, entry))
    }

    /// Closes the connection that [`Table::evictable`] chooses; false if there is none.
    fn evict(&mut self) -> bool {
        while let Some((id, entry)) = self.evictable() {
            // If it has sent the key or begun a request in the meantime, choose again.
            if entry.connection.close_if(is_evictable) {
                let entry = self.open.remove(&id);
                self.evicted.extend(entry.map(|entry| (id, entry)));
                return true;
            }
        }
        false
    }
}

impl Connections {
    /// Waits up to `limit` until there is room for one more connection among `cap`, evicting one if needed;
    /// false if there is none. A connection younger than `limit` gets the rest of that time to send the key.
    pub(super) fn make_room(&self, cap: usize, limit: Duration) -> bool {
        let deadline = TimeLimit::new(limit).end();
        let mut table = self.table();
        if table.open.len() < cap {
            return true;
        }
        // Their threads end soon, but a flood of connections must not outrun them.
        let crowded = |table: &mut Table| table.evicted.len() >= MAX_EVICTED;
        let waited = (self.left).wait_timeout_while(table, EVICTION_TIMEOUT, crowded);
        table = waited.unwrap_or_else(PoisonError::into_inner).0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let is_new = |entry: &Entry| {
                is_unauthenticated(entry.connection.state())
                    && entry.connection.accepted_at.elapsed() < limit
            };
            let waits = !left.is_zero() && table.evictable().is_some_and(|(_, it)| is_new(it));
            if table.open.len() < cap || (!waits && table.evict()) {
                return true;
            }
            if left.is_zero() {
                return false;
            }
            // A connection that leaves notifies; one that becomes idle does not, hence the poll interval.
            let waited = self.left.wait_timeout(table, left.min(POLL_INTERVAL));
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes one connection to free resources; false if there is none that may be closed.
    pub(super) fn evict(&self) -> bool {
        self.table().evict()
    }

    /// Adds `connection` with the thread that `spawn` starts for it. The thread must call
    /// [`Connections::leave`] with the id that it gets. Fails as `spawn` does.
    pub(super) fn enter(
        &self,
        connection: &Arc<SharedConnection>,
        spawn: impl FnOnce(u64) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<()> {
        // The lock is held while the thread starts, so that the thread cannot leave before it is added.
        let mut table = self.table();
        table.last += 1;
        let id = table.last;
        let thread = spawn(id)?;
        let connection = Arc::clone(connection);
        table.open.insert(id, Entry { connection, thread });
        Ok(())
    }

    /// Removes a connection. Its thread calls this last.
    pub(super) fn leave(&self, id: u64) {
        let mut table = self.table();
        let entry = table.open.remove(&id);
        let entry = entry.or_else(|| table.evicted.remove(&id));
        let Some(Entry { connection, thread }) = entry else {
            return;
        };
        let previous = table.ended.replace(thread);
        drop(table);
        // Closes the socket, unless a handler kept it.
        drop(connection);
        self.left.notify_all();
        join(previous);
    }

    /// Closes every connection on which no handler runs.
    pub(super) fn close_waiting(&self) {
        self.close(|state| state & !AUTHENTICATED != HANDLING);
    }

    /// Closes every connection.
    pub(super) fn close_all(&self) {
        self.close(|_| true);
    }

    /// Waits up to `limit` until all connections have left and their threads have ended; returns the number of
    /// connections left.
    pub(super) fn wait_empty(&self, limit: Duration) -> usize {
        let deadline = TimeLimit::new(limit).end();
        let mut table = self.table();
        loop {
            let count = table.open.len() + table.evicted.len();
            let left = deadline.saturating_duration_since(Instant::now());
            if count > 0 && !left.is_zero() {
                let woken = self.left.wait_timeout(table, left);
                table = woken.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let ended = table.ended.take();
            drop(table);
            join(ended);
            return count;
        }
    }

    fn close(&self, which: impl Fn(u64) -> bool) {
        for entry in self.table().open.values() {
            entry.connection.close_if(&which);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }
}

fn join(thread: Option<JoinHandle<()>>) {
    if let Some(thread) = thread {
        // A panic was logged where it was caught.
        let _ = thread.join();
    }
}
