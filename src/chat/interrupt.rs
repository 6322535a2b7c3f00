//! Handles Ctrl-C and the other terminating signals in a chat.

use crate::agent::Registry;
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::{lock, signal};
use crossbeam_channel::bounded;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{io, process};

/// A second Ctrl-C within this time ends the chat.
const SECOND_PRESS: Duration = Duration::from_secs(2);
/// When the process ends at the latest; the guardian ends what is left.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(4_700);
/// The number of SIGINT on every system.
const INTERRUPT: i32 = 2;

/// What the signal thread ends.
#[derive(Default)]
pub(crate) struct Interrupts {
    /// The turn that Ctrl-C cancels.
    turn: Mutex<Option<Cancel>>,
    /// The exit code of the process that is being ended by a signal; otherwise 0.
    code: AtomicU8,
    /// The session, until it has been ended.
    session: Mutex<Option<OpenSession>>,
}

struct OpenSession {
    id: String,
    /// Whether it is new and has no message; it is deleted then.
    is_unused: bool,
}

/// A turn that Ctrl-C cancels. Dropping it ends that.
pub(crate) struct Turn<'a> {
    interrupts: &'a Interrupts,
    cancel: Cancel,
}

impl Interrupts {
    /// Starts the thread that handles signals until the end of the process.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn watch(registry: Arc<Registry>) -> io::Result<Arc<Self>> {
        let interrupts = Arc::new(Interrupts::default());
        let watched = interrupts.clone();
        sys::spawn("signals".to_owned(), None, move || {
            let mut presses = Presses::default();
            loop {
                let signal = signal::wait();
                if signal != INTERRUPT || presses.is_second(Instant::now()) {
                    leave(&watched, registry, signal);
                }
                let turn = lock(&watched.turn).clone();
                match turn {
                    Some(turn) => turn.cancel(),
                    None => crate::note::print_note("\npress Ctrl-C once more to leave"),
                }
            }
        })?;
        Ok(interrupts)
    }

    /// Begins a turn, whose token is a child of `all`.
    pub(crate) fn turn(&self, all: &Cancel) -> Turn<'_> {
        let cancel = all.child();
        *lock(&self.turn) = Some(cancel.clone());
        Turn {
            interrupts: self,
            cancel,
        }
    }

    /// The exit code, if a signal is ending the process.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        let code = self.code.load(Ordering::SeqCst);
        (code != 0).then_some(code)
    }

    /// Sets the session that [`end_session`](Self::end_session) ends. One that is new and unused is deleted then.
    pub(crate) fn remember(&self, session: &str, is_unused: bool) {
        *lock(&self.session) = Some(OpenSession {
            id: session.to_owned(),
            is_unused,
        });
    }

    /// Prints how to resume the session, or deletes it if it is unused; at most once.
    pub(crate) fn end_session(&self, registry: &Registry) {
        // Held until the end, so that the process does not end while another thread deletes the session.
        let mut session = lock(&self.session);
        let Some(OpenSession { id, is_unused }) = session.take() else {
            return;
        };
        if !is_unused {
            crate::note::print_note(&format!(
                "session {id}: `gosling chat --session {id}` resumes it"
            ));
        } else if let Err(error) = registry.delete(&id) {
            log::warn!("unused session not deleted session={id} reason={error}");
        }
    }
}

impl Turn<'_> {
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.interrupts.turn) = None;
    }
}

/// Ends the extensions and then the process. A further signal ends the process at once.
fn leave(interrupts: &Arc<Interrupts>, registry: Arc<Registry>, signal: i32) -> ! {
    let code = 128 + signal;
    let told = u8::try_from(code).unwrap_or(u8::MAX);
    interrupts.code.store(told, Ordering::SeqCst);
    registry.cancel().cancel();
    let (done, finished) = bounded::<()>(0);
    // If the threads cannot be started, the guardian ends what is left.
    let _ = sys::spawn("one more signal".into(), None, || {
        process::exit(128 + signal::wait())
    });
    let ended = interrupts.clone();
    let _ = sys::spawn("stop extensions".into(), None, move || {
        ended.end_session(&registry);
        registry.close();
        drop(done);
    });
    let _ = finished.recv_timeout(SHUTDOWN_TIMEOUT);
    process::exit(code)
}

/// When Ctrl-C was pressed last.
#[derive(Default)]
struct Presses(Option<Instant>);

impl Presses {
    fn is_second(&mut self, now: Instant) -> bool {
        let last = self.0.replace(now);
        last.is_some_and(|last| now.saturating_duration_since(last) <= SECOND_PRESS)
    }
}

#[cfg(test)]
mod tests;
