//! Reconnects: one thread at a time replaces the lost connection of a supervisor.

use super::{Failure, Link, POLL_INTERVAL, Supervisor};
use crate::activity::Entry;
use crate::extension::connect::{ConnectError, Connection};
use crate::extension::restart_policy::{FailureKind, RESTARTS, WINDOW};
use crate::extension::{Error, Phase};
use crate::sys::{cancel::Cancel, lock};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

impl Supervisor {
    /// Replaces a lost connection by a new one, made by this thread or by another.
    pub(super) fn reconnect(
        &self,
        lost: &Arc<Connection>,
        cancel: &Cancel,
        end: Instant,
    ) -> Result<Arc<Connection>, Error> {
        let Some(attempt) = self.begin_reconnecting(lost, cancel, end)? else {
            return Ok(self.connection());
        };
        let open = lost.client.is_open() && !attempt.was_suspended;
        if !open {
            // The old process ends before a new one starts.
            lost.client.close();
        }
        let failure = lock(&self.state).failure.clone();
        let reason = failure.map(|failure| failure.reason);
        let reason = reason.as_deref().unwrap_or("the connection was lost");
        let stop = cancel.child_until(end);
        let closed_token = stop.clone();
        let _ended = self.closed_token.on_cancel(move || closed_token.cancel());
        let (context, config) = (&self.context, &self.config);
        let made = context.connect_until(end, true, config, &stop);
        let made = made.map_err(|failed| self.note_failed_attempt(&attempt, failed))?;
        let made = Arc::new(made);
        if !self.adopt(&made, open.then_some(lost), &attempt, reason) {
            made.client.close();
            return Err(self.removed_error());
        }
        let name = self.config.name();
        if attempt.was_suspended {
            log::info!("extension resumed name={name:?}");
        } else {
            log::warn!("extension restarted name={name:?} reason={reason:?}");
            context.activity.note(Entry {
                extension: name,
                outcome: "restarted",
                detail: reason,
                ..Entry::new("extension", &context.session_id)
            });
        }
        Ok(made)
    }

    fn note_failed_attempt(&self, attempt: &Reconnecting<'_>, failed: ConnectError) -> Error {
        let ConnectError { error, kind } = failed;
        let name = self.config.name();
        log::warn!("extension restart failed name={name:?} reason={error}");
        let mut state = lock(&self.state);
        // Nothing was started, or the start was cancelled.
        let is_unstarted = matches!(kind, FailureKind::Refused | FailureKind::Busy(_));
        if error.phase == Phase::Cancelled || is_unstarted {
            if attempt.was_suspended {
                attempt.suspends_again.set(true);
            } else {
                state.restarts.forget_last();
            }
        }
        if error.phase != Phase::Cancelled {
            state.failure = Some(Failure {
                reason: error.message.clone(),
                class: error.class,
            });
        }
        error
    }

    /// Makes a new connection the current one; false if the supervisor is closed. `retired` is the earlier
    /// connection, if requests are still running on it.
    fn adopt(
        &self,
        made: &Arc<Connection>,
        retired: Option<&Arc<Connection>>,
        attempt: &Reconnecting<'_>,
        reason: &str,
    ) -> bool {
        let mut state = lock(&self.state);
        if state.is_closed() {
            return false;
        }
        state.tools = made.tools.clone();
        state.connection = made.clone();
        state.failure = None;
        if !attempt.was_suspended {
            state.restarted += 1;
            state.unreported_restart = Some(reason.to_owned());
        }
        state.retired.retain(|earlier| earlier.strong_count() > 0);
        state.retired.extend(retired.map(Arc::downgrade));
        true
    }

    /// Acquires the right to reconnect, which one thread has at a time; `None` if another thread has reconnected.
    fn begin_reconnecting(
        &self,
        lost: &Arc<Connection>,
        cancel: &Cancel,
        end: Instant,
    ) -> Result<Option<Reconnecting<'_>>, Error> {
        let mut state = lock(&self.state);
        loop {
            if state.is_closed() {
                return Err(self.removed_error());
            }
            if !Arc::ptr_eq(&state.connection, lost) {
                return Ok(None);
            }
            if state.link != Link::Reconnecting {
                break;
            }
            self.require_wanted(&state, cancel)?;
            if Instant::now() > end {
                let reason = "its server was not restarted in time";
                return Err(Error::new(self.config.name(), Phase::Timeout, reason));
            }
            state = self.wait(state, POLL_INTERVAL, cancel);
        }
        let was_suspended = state.link == Link::Suspended;
        if state.failure.is_none() && !was_suspended {
            let failure = lost.client.failure();
            state.failure = failure.map(|error| Failure::of_connection(error.to_string()));
        }
        if !was_suspended && !state.restarts.allow(Instant::now()) {
            let failure = state.failure.as_ref();
            let why = failure.map_or("its reason is unknown", |failure| &failure.reason);
            let problem = if lost.client.is_open() {
                "it keeps forgetting its session"
            } else {
                "its server keeps dying"
            };
            let reason = format!(
                "{problem}: {RESTARTS} attempts to connect it again within {} s did not help; the last failure: {why}",
                WINDOW.as_secs()
            );
            return Err(Error::new(self.config.name(), Phase::Transport, reason));
        }
        state.link = Link::Reconnecting;
        Ok(Some(Reconnecting {
            server: self,
            was_suspended,
            suspends_again: Cell::new(false),
        }))
    }
}

/// The right to reconnect, released when dropped.
struct Reconnecting<'s> {
    server: &'s Supervisor,
    /// The connection was suspended, not lost.
    was_suspended: bool,
    /// It is as if there had been no attempt.
    suspends_again: Cell<bool>,
}

impl Drop for Reconnecting<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.server.state);
        state.link = match state.link {
            Link::Closed { .. } => Link::Closed {
                reconnecting: false,
            },
            _ if self.suspends_again.get() => Link::Suspended,
            _ => Link::Used,
        };
        drop(state);
        self.server.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
