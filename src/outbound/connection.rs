//! One connection at a time to a server, and what can be known of it from outside ureq: whether
//! it is a fresh one, whether the request has been written whole, whether anything came back.
//!
//! ureq tells none of this with its errors, but a retry and the order of messages hang on it. So
//! its connector is wrapped. ureq calls that interface unversioned; it is used nowhere else.

use super::target::MAX_RESPONSE_HEAD;
use crate::sys::lock;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport,
};
use ureq::{Agent, config::Config};

/// How long a looked-up address is believed.
const ADDRESS_AGE: Duration = Duration::from_secs(30);

/// An agent that has at most one connection, so that shutting it down ends one exchange only.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) agent: Agent,
    pub(crate) progress: Arc<ExchangeProgress>,
}

impl Connection {
    pub(crate) fn new(config: Config, addresses: AddressCache) -> Self {
        let progress = Arc::new(ExchangeProgress::default());
        let connector = DefaultConnector::new().chain(TrackingConnector {
            progress: progress.clone(),
            proxied: config.proxy().is_some(),
        });
        let agent = Agent::with_parts(config, connector, addresses);
        Connection { agent, progress }
    }
}

/// What has happened on a [`Connection`] since [`begin_request`](ExchangeProgress::begin_request).
#[derive(Debug, Default)]
pub(crate) struct ExchangeProgress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    fresh: bool,
    written: bool,
    answered: bool,
    over: bool,
    read_until: Option<Instant>,
    /// How many bytes may still come.
    allowance: Option<usize>,
}

impl ExchangeProgress {
    /// A new request is about to be sent.
    pub(crate) fn begin_request(&self) {
        *lock(&self.state) = State::default();
    }

    /// Nothing more will be sent: those who wait for the request may go on.
    pub(crate) fn finish_request(&self) {
        lock(&self.state).over = true;
        self.changed.notify_all();
    }

    /// Whether the whole request was handed to the operating system.
    pub(crate) fn is_written(&self) -> bool {
        lock(&self.state).written
    }

    /// Whether the request went out on a connection of an earlier exchange and nothing came back:
    /// then the server may just have closed that connection for its age.
    pub(crate) fn is_stale(&self) -> bool {
        let state = lock(&self.state);
        !state.fresh && !state.answered
    }

    /// From now on no read lasts beyond this moment.
    pub(crate) fn set_read_deadline(&self, moment: Instant) {
        lock(&self.state).read_until = Some(moment);
    }

    /// From now on at most this many bytes are read, whatever they are. ureq counts those of a body,
    /// but not interim responses and trailers, of which there may be any number.
    pub(crate) fn limit_bytes(&self, bytes: usize) {
        lock(&self.state).allowance = Some(bytes);
    }

    /// From now on any number of bytes is read.
    pub(crate) fn clear_byte_limit(&self) {
        lock(&self.state).allowance = None;
    }

    /// Waits until the request is written or will never be, at most until `deadline`.
    pub(crate) fn wait_until_written(&self, deadline: Instant) {
        let mut state = lock(&self.state);
        while !(state.written || state.over) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn on_connect(&self) {
        let mut state = lock(&self.state);
        state.fresh = true;
    }

    /// ureq reads only after it has written everything.
    fn on_read_start(&self) -> Option<Duration> {
        let mut state = lock(&self.state);
        if !state.written {
            state.written = true;
            self.changed.notify_all();
        }
        let until = state.read_until?;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// Whether these bytes, which came, may.
    fn on_bytes_read(&self, bytes: usize) -> bool {
        let mut state = lock(&self.state);
        state.answered = true;
        let Some(allowance) = state.allowance else {
            return true;
        };
        state.allowance = Some(allowance.saturating_sub(bytes));
        bytes <= allowance
    }
}

#[derive(Debug)]
struct TrackingConnector {
    progress: Arc<ExchangeProgress>,
    /// There is a proxy on the way.
    proxied: bool,
}

impl<In: Transport> Connector<In> for TrackingConnector {
    type Out = TrackedTransport<In>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        self.progress.on_connect();
        // What is said to a proxy, to be let through, is no part of the exchange: ureq connects to it
        // by way of this as well, as to a server of its own that needs no proxy.
        let progress = if self.proxied && details.config.proxy().is_none() {
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
            // There is no room for more, which would look as if nothing more came.
            return Err(ureq::Error::LargeResponseHeader(before, MAX_RESPONSE_HEAD));
        }
        let has_input = self.inner.await_input(timeout)?;
        let came = self.inner.buffers().input().len().saturating_sub(before);
        if has_input && !self.progress.on_bytes_read(came) {
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

/// Where the server is. ureq looks the name up for every request, one on an open connection
/// included, and with a thread of its own each time; a literal needs no look-up and a name none
/// for a while. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressCache {
    known: Arc<Mutex<HashMap<String, (Instant, ResolvedSocketAddrs)>>>,
}

impl Resolver for AddressCache {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        // Besides the server there can only be a proxy, so the map stays small.
        let key = format!("{:?} {:?}", uri.scheme(), uri.authority());
        if let Some((since, addresses)) = lock(&self.known).get(&key)
            && since.elapsed() < ADDRESS_AGE
        {
            return Ok(addresses.clone());
        }
        let timeout = match super::target::ip_literal(uri) {
            Some(_) => NextTimeout::default(),
            None => timeout,
        };
        let addresses = DefaultResolver::default().resolve(uri, config, timeout)?;
        lock(&self.known).insert(key, (Instant::now(), addresses.clone()));
        Ok(addresses)
    }
}
