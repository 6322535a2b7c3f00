//! One connection to a server, and the progress of its current request: whether the connection is new,
//! whether the request is written, whether any byte of the response came.
//!
//! ureq's errors do not tell this, but retries and the order of messages depend on it. So this module
//! wraps ureq's connector, whose interface ureq does not version. Nothing else uses that interface, except
//! the resolver in `address_cache` and the connections of `interruptible_tcp`.

use super::address_cache::AddressCache;
use super::interruptible_tcp;
use gosling_sys::{STD_SHUTDOWN_ENDS_READS, lock};
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport,
};
use ureq::{Agent, config::Config};

/// The largest response head, in bytes. ureq reads it into a buffer of this size.
pub(super) const MAX_RESPONSE_HEAD: usize = 32 * 1024;

/// An agent with at most one connection: shutting the agent down ends one exchange only.
#[derive(Clone)]
pub struct Connection {
    /// Sends the requests.
    pub agent: Agent,
    /// What happens on the connection.
    pub progress: Arc<ExchangeProgress>,
}

impl Connection {
    /// Connects with the first request.
    pub fn new(config: Config, addresses: AddressCache) -> Self {
        let progress = Arc::new(ExchangeProgress::default());
        let tracking = TrackingConnector {
            progress: progress.clone(),
            has_proxy: config.proxy().is_some(),
        };
        let agent = if STD_SHUTDOWN_ENDS_READS {
            let connector = DefaultConnector::new().chain(tracking);
            Agent::with_parts(config, connector, addresses)
        } else {
            let connector = interruptible_tcp::connector().chain(tracking);
            Agent::with_parts(config, connector, addresses)
        };
        Connection { agent, progress }
    }
}

/// What happened on a [`Connection`] since [`begin_request`](ExchangeProgress::begin_request), and the
/// limits on what it may still read.
#[derive(Debug, Default)]
pub struct ExchangeProgress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    is_new_connection: bool,
    is_written: bool,
    has_response_bytes: bool,
    is_finished: bool,
    read_deadline: Option<Instant>,
    /// How many more bytes may be read; any number if absent.
    bytes_left: Option<usize>,
}

impl ExchangeProgress {
    /// Resets everything, the limits included. The caller calls this before it sends a request.
    pub fn begin_request(&self) {
        *lock(&self.state) = State::default();
    }

    /// Ends the request, written or not, and wakes [`wait_until_written`](Self::wait_until_written).
    pub fn finish_request(&self) {
        lock(&self.state).is_finished = true;
        self.changed.notify_all();
    }

    /// Whether the operating system has taken the whole request.
    pub fn is_written(&self) -> bool {
        lock(&self.state).is_written
    }

    /// Whether the request went out on a reused connection and no byte came back. The server may have
    /// closed that connection because it was idle for too long.
    pub fn is_stale(&self) -> bool {
        let state = lock(&self.state);
        !state.is_new_connection && !state.has_response_bytes
    }

    /// Lets no further read last beyond `deadline`.
    pub fn set_read_deadline(&self, deadline: Instant) {
        lock(&self.state).read_deadline = Some(deadline);
    }

    /// Lets at most this many further bytes be read, of whatever kind. ureq counts the bytes of a body, but
    /// not those of interim responses and trailers, which a server may repeat without end.
    pub fn limit_bytes(&self, bytes: usize) {
        lock(&self.state).bytes_left = Some(bytes);
    }

    /// Lets any number of bytes be read.
    pub fn clear_byte_limit(&self) {
        lock(&self.state).bytes_left = None;
    }

    /// Waits until the request is written or finished, at most until `deadline`.
    pub fn wait_until_written(&self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        let unwritten = |state: &mut State| !(state.is_written || state.is_finished);
        let state = lock(&self.state);
        let _ = self.changed.wait_timeout_while(state, left, unwritten);
    }

    fn on_connect(&self) {
        lock(&self.state).is_new_connection = true;
    }

    /// Notes that the request is written, because ureq reads only after that. Returns how long the read may
    /// take, if there is a deadline.
    fn on_read_start(&self) -> Option<Duration> {
        let mut state = lock(&self.state);
        if !state.is_written {
            state.is_written = true;
            self.changed.notify_all();
        }
        let deadline = state.read_deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// Counts bytes that were read; false if they exceed the limit.
    fn on_bytes_read(&self, bytes: usize) -> bool {
        let mut state = lock(&self.state);
        state.has_response_bytes = true;
        let Some(left) = state.bytes_left else {
            return true;
        };
        state.bytes_left = Some(left.saturating_sub(bytes));
        bytes <= left
    }
}

#[derive(Debug)]
struct TrackingConnector {
    progress: Arc<ExchangeProgress>,
    has_proxy: bool,
}

impl<In: Transport> Connector<In> for TrackingConnector {
    type Out = TrackedTransport<In>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        self.progress.on_connect();
        // ureq connects to a proxy through this connector too, as to a server that needs no proxy. The
        // exchange with the proxy does not count.
        let is_proxy_itself = self.has_proxy && details.config.proxy().is_none();
        let progress = if is_proxy_itself {
            Arc::default()
        } else {
            self.progress.clone()
        };
        Ok(chained.map(|inner| TrackedTransport { inner, progress }))
    }
}

#[derive(Debug)]
struct TrackedTransport<T> {
    inner: T,
    progress: Arc<ExchangeProgress>,
}

impl<T: Transport> Transport for TrackedTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, mut timeout: NextTimeout) -> Result<bool, ureq::Error> {
        if let Some(left) = self.progress.on_read_start() {
            timeout.per_read = Some(left.into());
        }
        let before = self.inner.buffers().input().len();
        if before >= MAX_RESPONSE_HEAD {
            // The buffer is full: ureq would take the read of zero bytes for the end of the connection.
            return Err(ureq::Error::LargeResponseHeader(before, MAX_RESPONSE_HEAD));
        }
        let has_input = self.inner.await_input(timeout)?;
        let bytes = self.inner.buffers().input().len().saturating_sub(before);
        if has_input && !self.progress.on_bytes_read(bytes) {
            return Err(ureq::Error::Io(io::Error::other("it sends without end")));
        }
        Ok(has_input)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
