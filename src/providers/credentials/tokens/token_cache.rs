//! One token that expires, shared by all requests of a provider: one thread fetches it, the others wait for that.

use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crate::{Error, ErrorClass};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long a request waits while another one fetches the token. A fetch takes a few HTTP requests at most.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// How often a waiting request looks whether it was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A token is used for no longer than this, whatever its issuer says.
const MAX_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// A token that was fetched.
pub(crate) struct Fetched<T> {
    pub(crate) token: T,
    /// How long it is valid from now on.
    pub(crate) lifetime: Duration,
}

/// The cache of one token. It is not written to disk.
pub(crate) struct TokenCache<T> {
    /// A token is fetched anew this long before it expires.
    margin: Duration,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// The token, and when it has to be fetched anew.
    cached: Option<(T, Instant)>,
    is_fetching: bool,
}

impl<T: Clone> TokenCache<T> {
    pub(crate) fn new(margin: Duration) -> Self {
        TokenCache {
            margin,
            state: Mutex::new(State {
                cached: None,
                is_fetching: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// The cached token, or the one that `fetch` gets. A token that expires within the margin is used once.
    ///
    /// # Errors
    /// Those of `fetch`; [`ErrorClass::Cancelled`] or [`ErrorClass::Timeout`] while another request fetches it.
    pub(crate) fn get(
        &self,
        cancel: &Cancel,
        fetch: impl FnOnce() -> Result<Fetched<T>, Error>,
    ) -> Result<T, Error> {
        if let Some(token) = self.cached_or_turn(cancel)? {
            return Ok(token);
        }
        // The lock is not held meanwhile.
        let turn = FetchTurn(self);
        let Fetched { token, lifetime } = fetch()?;
        let lifetime = lifetime.min(MAX_LIFETIME).saturating_sub(self.margin);
        lock(&self.state).cached = Some((token.clone(), Instant::now() + lifetime));
        drop(turn);
        Ok(token)
    }

    /// Forgets the token; false if there is none.
    pub(crate) fn forget(&self) -> bool {
        lock(&self.state).cached.take().is_some()
    }

    /// The cached token, or `None` if the caller has to fetch it.
    fn cached_or_turn(&self, cancel: &Cancel) -> Result<Option<T>, Error> {
        let deadline = Instant::now() + MAX_WAIT;
        let mut state = lock(&self.state);
        loop {
            let now = Instant::now();
            if let Some((token, until)) = &state.cached
                && now < *until
            {
                return Ok(Some(token.clone()));
            }
            if !state.is_fetching {
                state.is_fetching = true;
                return Ok(None);
            }
            if cancel.is_cancelled() {
                let message = "the request was cancelled";
                return Err(Error::new(ErrorClass::Cancelled, message));
            }
            if now >= deadline {
                let message = "a token did not come in time";
                return Err(Error::new(ErrorClass::Timeout, message));
            }
            state = match self.changed.wait_timeout(state, POLL_INTERVAL) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}

/// Lets another request fetch the token when it is dropped, however the fetch ended.
struct FetchTurn<'a, T>(&'a TokenCache<T>);

impl<T> Drop for FetchTurn<'_, T> {
    fn drop(&mut self) {
        lock(&self.0.state).is_fetching = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
