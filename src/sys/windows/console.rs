//! The events that end a server: Ctrl-C, Ctrl-Break, and the end of the console, of the user's session, or of the
//! system. They have the numbers of the signals to which they correspond.

use super::ffi::{self, Bool};
use crate::lock;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The number of SIGHUP, which does not occur.
pub const HANG_UP: i32 = 1;
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;
const BREAK: i32 = 21;

static EVENTS: Mutex<VecDeque<i32>> = Mutex::new(VecDeque::new());
static ARRIVED: Condvar = Condvar::new();

/// Nothing is inherited here that must not be.
pub fn reset_inherited_signals() {}

/// From now on only a wait receives the events; before, they end the process.
pub fn block_signals() {
    // SAFETY: the handler is a function of this program; the system calls it in a thread of its own.
    unsafe { ffi::SetConsoleCtrlHandler(Some(handle), 1) };
}

/// Whether an event was dealt with.
unsafe extern "system" fn handle(event: u32) -> Bool {
    match event {
        0 => tell(INTERRUPT),
        1 => tell(BREAK),
        _ => {
            tell(TERMINATE);
            loop {
                // The system ends the process when this returns, or after some seconds.
                thread::sleep(Duration::from_secs(60));
            }
        }
    }
    1
}

/// Lets a wait receive this number.
pub(super) fn tell(number: i32) {
    lock(&EVENTS).push_back(number);
    ARRIVED.notify_all();
}

/// SIGTERM, as if the system were about to end.
#[cfg(feature = "parts")]
pub(crate) fn terminate_self() {
    tell(TERMINATE);
}

/// Waits for the next event and returns its number.
pub fn wait_signal() -> i32 {
    loop {
        if let Some(number) = wait_signal_timeout(Duration::from_secs(3600)) {
            return number;
        }
    }
}

/// Waits for the next event, for at most `limit`.
pub fn wait_signal_timeout(limit: Duration) -> Option<i32> {
    let end = Instant::now() + limit;
    let mut events = lock(&EVENTS);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let event = events.pop_front();
        if event.is_some() || left.is_zero() {
            return event;
        }
        let waited = ARRIVED.wait_timeout(events, left);
        events = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
