//! One connection at a time to a server, and what can be known of it from outside ureq: whether
//! it is a fresh one, whether the request has been written whole, whether anything came back.
//!
//! ureq tells none of this with its errors, but a retry and the order of messages hang on it. So
//! its connector is wrapped. ureq calls that interface unversioned; it is used nowhere else.

use super::target::HEAD;
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
pub(crate) struct Line {
    pub(crate) agent: Agent,
    pub(crate) wire: Arc<Wire>,
}

impl Line {
    pub(crate) fn new(config: Config, addresses: Addresses) -> Self {
        let wire = Arc::new(Wire::default());
        let connector = DefaultConnector::new().chain(Watch {
            wire: wire.clone(),
            proxied: config.proxy().is_some(),
        });
        let agent = Agent::with_parts(config, connector, addresses);
        Line { agent, wire }
    }
}

/// What has happened on a [`Line`] since [`begin`](Wire::begin).
#[derive(Debug, Default)]
pub(crate) struct Wire {
    facts: Mutex<Facts>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    fresh: bool,
    written: bool,
    answered: bool,
    over: bool,
    read_until: Option<Instant>,
    /// How many bytes may still come.
    allowance: Option<usize>,
}

impl Wire {
    /// A new request is about to be sent.
    pub(crate) fn begin(&self) {
        *lock(&self.facts) = Facts::default();
    }

    /// Nothing more will be sent: those who wait for the request may go on.
    pub(crate) fn end(&self) {
        lock(&self.facts).over = true;
        self.changed.notify_all();
    }

    /// Whether the whole request was handed to the operating system.
    pub(crate) fn written(&self) -> bool {
        lock(&self.facts).written
    }

    /// Whether the request went out on a connection of an earlier exchange and nothing came back:
    /// then the server may just have closed that connection for its age.
    pub(crate) fn stale(&self) -> bool {
        let facts = lock(&self.facts);
        !facts.fresh && !facts.answered
    }

    /// From now on no read lasts beyond this moment.
    pub(crate) fn read_until(&self, moment: Instant) {
        lock(&self.facts).read_until = Some(moment);
    }

    /// From now on at most this many bytes are read, whatever they are. ureq counts those of a body,
    /// but not interim responses and trailers, of which there may be any number.
    pub(crate) fn allow(&self, bytes: usize) {
        lock(&self.facts).allowance = Some(bytes);
    }

    /// From now on any number of bytes is read.
    pub(crate) fn allow_all(&self) {
        lock(&self.facts).allowance = None;
    }

    /// Waits until the request is written or will never be, at most until `deadline`.
    pub(crate) fn wait_written(&self, deadline: Instant) {
        let mut facts = lock(&self.facts);
        while !(facts.written || facts.over) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            facts = self
                .changed
                .wait_timeout(facts, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn connected(&self) {
        let mut facts = lock(&self.facts);
        facts.fresh = true;
    }

    /// ureq reads only after it has written everything.
    fn reads(&self) -> Option<Duration> {
        let mut facts = lock(&self.facts);
        if !facts.written {
            facts.written = true;
            self.changed.notify_all();
        }
        let until = facts.read_until?;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// Whether these bytes, which came, may.
    fn answered(&self, bytes: usize) -> bool {
        let mut facts = lock(&self.facts);
        facts.answered = true;
        let Some(allowance) = facts.allowance else {
            return true;
        };
        facts.allowance = Some(allowance.saturating_sub(bytes));
        bytes <= allowance
    }
}

#[derive(Debug)]
struct Watch {
    wire: Arc<Wire>,
    /// There is a proxy on the way.
    proxied: bool,
}

impl<In: Transport> Connector<In> for Watch {
    type Out = Watched<In>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        self.wire.connected();
        // What is said to a proxy, to be let through, is no part of the exchange: ureq connects to it
        // by way of this as well, as to a server of its own that needs no proxy.
        let wire = match self.proxied && details.config.proxy().is_none() {
            true => Arc::default(),
            false => self.wire.clone(),
        };
        Ok(chained.map(|inner| Watched { inner, wire }))
    }
}

#[derive(Debug)]
struct Watched<T> {
    inner: T,
    wire: Arc<Wire>,
}

impl<T: Transport> Transport for Watched<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, mut timeout: NextTimeout) -> Result<bool, ureq::Error> {
        if let Some(left) = self.wire.reads() {
            timeout.per_read = Some(left.into());
        }
        let before = self.inner.buffers().input().len();
        if before >= HEAD {
            // There is no room for more, which would look as if nothing more came.
            return Err(ureq::Error::LargeResponseHeader(before, HEAD));
        }
        let progress = self.inner.await_input(timeout)?;
        let came = self.inner.buffers().input().len().saturating_sub(before);
        if progress && !self.wire.answered(came) {
            return Err(ureq::Error::Io(io::Error::other("it sends without end")));
        }
        Ok(progress)
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
pub(crate) struct Addresses {
    known: Arc<Mutex<HashMap<String, (Instant, ResolvedSocketAddrs)>>>,
}

impl Resolver for Addresses {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        // Besides the server there can only be a proxy, so the map stays small.
        let place = format!("{:?} {:?}", uri.scheme(), uri.authority());
        if let Some((since, addresses)) = lock(&self.known).get(&place)
            && since.elapsed() < ADDRESS_AGE
        {
            return Ok(addresses.clone());
        }
        let timeout = match super::target::literal(uri) {
            Some(_) => NextTimeout::default(),
            None => timeout,
        };
        let addresses = DefaultResolver::default().resolve(uri, config, timeout)?;
        lock(&self.known).insert(place, (Instant::now(), addresses.clone()));
        Ok(addresses)
    }
}
