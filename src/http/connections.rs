//! The connections that are being served: how many, which of them may be closed so that others are served,
//! and the threads that serve them.
//!
//! A client that has shown the key cannot be kept out by those that have not: while one of these is left, it
//! makes room, whatever it is doing, and the one that came first goes first, since what it has sent since
//! then is in its own hands.

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Reading a request, or writing a error_message.
const READING: u64 = 0;
/// A handler runs, or its response is being written.
const HANDLING: u64 = 1;
/// Closed from outside; the thread is about to find out.
const CLOSED: u64 = 2;
/// Waiting for a request; larger by the milliseconds from the start of the server to the start of the wait.
const IDLE: u64 = 3;
/// Added to the state of a connection that has shown the key.
const AUTHENTICATED: u64 = 1 << 63;

/// Threads that may still have to notice that their connection was closed for another's sake.
const MAX_EVICTED: usize = 16;
/// How long to wait for them before going on all the same.
const EVICTION_TIMEOUT: Duration = Duration::from_millis(100);
/// The poll interval of a wait for a connection that may be closed.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A connection as the thread that serves it and those who may close it share it.
#[derive(Debug)]
pub(super) struct SharedConnection {
    pub(super) stream: Arc<TcpStream>,
    pub(super) peer: SocketAddr,
    accepted_at: Instant,
    state: AtomicU64,
}

impl SharedConnection {
    /// A connection that waits for its first request since `now`, an age of the server.
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, now: Duration) -> SharedConnection {
        SharedConnection {
            stream: Arc::new(stream),
            peer,
            accepted_at: Instant::now(),
            state: AtomicU64::new(idle_at(now)),
        }
    }

    /// From `now` on, an age of the server, the connection waits for a request and may be closed for
    /// another's sake. False if it has been closed.
    pub(super) fn set_idle(&self, now: Duration) -> bool {
        self.enter(idle_at(now))
    }

    /// A request has begun to arrive. False if the connection has been closed.
    pub(super) fn set_reading(&self) -> bool {
        self.enter(READING)
    }

    /// A handler is about to run. False if the connection has been closed.
    pub(super) fn set_handling(&self) -> bool {
        self.enter(HANDLING)
    }

    /// The client has shown the key.
    pub(super) fn set_authenticated(&self) {
        // Most requests are not the first of their connection.
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

    /// Closes the connection if `which` says so of its state.
    fn close_if(&self, which: impl Fn(u64) -> bool) -> bool {
        let closed = self.change(|state| (state != CLOSED && which(state)).then_some(CLOSED));
        if closed {
            // It may be gone already. Its thread, if it waits for bytes, is woken by this.
            let _ = self.stream.shutdown(Shutdown::Both);
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

/// Whether a connection in this state has not shown the key.
fn is_unauthenticated(state: u64) -> bool {
    state & AUTHENTICATED == 0
}

/// Whether a connection in this state may be closed for another's sake.
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
    /// Closed for another's sake, with a thread that has not noticed yet.
    evicted: HashMap<u64, Entry>,
    /// The thread that ended last. The next to end joins it, so that ended threads never pile up.
    ended: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Entry {
    connection: Arc<SharedConnection>,
    thread: JoinHandle<()>,
}

impl Table {
    /// The connection that has been without a key for longest or, if all have shown it, idle for longest.
    fn evictable(&self) -> Option<(u64, &Entry)> {
        self.open
            .iter()
            .map(|(&id, entry)| (id, entry, entry.connection.state()))
            .filter(|&(.., state)| is_evictable(state))
            // Numbers are in the order in which the connections accepted_at.
            .min_by_key(|&(id, _, state)| {
                if is_unauthenticated(state) {
                    (0, id)
                } else {
                    (state, id)
                }
            })
            .map(|(id, entry, _)| (id, entry))
    }

    /// Closes the connection that is [`Table::evictable`]; false if there is none.
    fn evict(&mut self) -> bool {
        loop {
            let Some((id, _)) = self.evictable() else {
                return false;
            };
            // It may have shown the key or begun a request meanwhile; then another one is looked for.
            if self.open[&id].connection.close_if(is_evictable) {
                if let Some(entry) = self.open.remove(&id) {
                    self.evicted.insert(id, entry);
                }
                return true;
            }
        }
    }
}

impl Connections {
    /// Whether there is room for one more among `cap` within `limit`, if need be after closing another
    /// connection. One that came less than `limit` ago has until then to show the key.
    pub(super) fn make_room(&self, cap: usize, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut table = self.table();
        if table.open.len() < cap {
            return true;
        }
        // Their threads end at once, but a flood must not outrun them.
        let crowded = |table: &mut Table| table.evicted.len() >= MAX_EVICTED;
        let waited = self
            .left
            .wait_timeout_while(table, EVICTION_TIMEOUT, crowded);
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
            // One that leaves is told of, one that comes to rest is not.
            let waited = self.left.wait_timeout(table, left.min(POLL_INTERVAL));
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes a connection for another's sake; false if there is none that may be.
    pub(super) fn evict(&self) -> bool {
        self.table().evict()
    }

    /// Enters `connection` with the thread that `spawn` starts for it, which must call [`Connections::leave`] with
    /// the number that it is given. Errs as `spawn` does.
    pub(super) fn enter(
        &self,
        connection: &Arc<SharedConnection>,
        spawn: impl FnOnce(u64) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<()> {
        // Held while the thread starts, so that it cannot leave before it has entered.
        let mut table = self.table();
        table.last += 1;
        let id = table.last;
        let thread = spawn(id)?;
        let connection = Arc::clone(connection);
        table.open.insert(id, Entry { connection, thread });
        Ok(())
    }

    /// Removes a connection. To be called by its thread as the last thing that it does.
    pub(super) fn leave(&self, id: u64) {
        let mut table = self.table();
        let entry = table.open.remove(&id);
        let entry = entry.or_else(|| table.evicted.remove(&id));
        let Some(Entry { connection, thread }) = entry else {
            return;
        };
        let previous = table.ended.replace(thread);
        drop(table);
        // Closes the socket, if no handler kept it.
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

    /// Waits until all connections have left and their threads ended, or for `limit`; gives the number of
    /// those that are left.
    pub(super) fn wait_empty(&self, limit: Duration) -> usize {
        let deadline = Instant::now() + limit;
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
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn join(thread: Option<JoinHandle<()>>) {
    if let Some(thread) = thread {
        // A panic has been reported where it was caught.
        let _ = thread.join();
    }
}
