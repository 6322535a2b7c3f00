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

/// Lets Ctrl-C arrive, which a process ignores whose parent has said so, and keeps the standard handles of this process
/// from the children that it starts: each gets pipes, and would hold those of this process open, too.
pub fn reset_inherited_signals() {
    // SAFETY: no handler: the call changes a flag of this process. The handles are its own, or none.
    unsafe {
        ffi::SetConsoleCtrlHandler(None, 0);
        for number in ffi::STANDARD_HANDLES {
            let handle = ffi::GetStdHandle(number);
            ffi::SetHandleInformation(handle, ffi::HANDLE_FLAG_INHERIT, 0);
        }
    }
}

/// From now on only a wait receives the events; before, they end the process.
pub fn block_signals() {
    // SAFETY: the handler is a function of this program; the system calls it in a thread of its own.
    unsafe { ffi::SetConsoleCtrlHandler(Some(handle), 1) };
}

/// Whether an event was dealt with.
unsafe extern "system" fn handle(event: u32) -> Bool {
    let Some(number) = number_of(event, is_service()) else {
        return 1;
    };
    tell(number);
    if number == TERMINATE {
        loop {
            // The system ends the process when this returns, or after some seconds.
            thread::sleep(Duration::from_secs(60));
        }
    }
    1
}

/// The number of an event. `None` for the end of a session of a user that a service is told of, whose user goes on.
pub(super) fn number_of(event: u32, is_service: bool) -> Option<i32> {
    const LOG_OFF: u32 = 5;
    match event {
        0 => Some(INTERRUPT),
        1 => Some(BREAK),
        LOG_OFF if is_service => None,
        _ => Some(TERMINATE),
    }
}

/// Whether this process runs in the session of services, where no user logs on.
fn is_service() -> bool {
    let mut session = u32::MAX;
    // SAFETY: a place for the number.
    let is_known = unsafe { ffi::ProcessIdToSessionId(std::process::id(), &raw mut session) };
    is_known != 0 && session == 0
}

/// Lets a wait receive this number.
pub(super) fn tell(number: i32) {
    lock(&EVENTS).push_back(number);
    ARRIVED.notify_all();
}

/// SIGTERM, as if the system were about to end.
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
