//! Checks the hand-over of the line splitter in every order of the reader thread and the callers.

use super::*;
use crate::pending_requests::{Outcome, PendingRequests, RequestTimeouts};
use gosling_sys::cancel::Cancel;
use gosling_sys::sync::{advance, check};
use loom::thread;
use serde_json::value::RawValue;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// A pipe that contains whole lines. Clones share it.
#[derive(Clone, Default)]
struct Pipe(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Its bytes, and whether the input has ended.
    state: Mutex<(Vec<u8>, bool)>,
    changed: Condvar,
}

impl Pipe {
    fn write(&self, text: &str) {
        lock(&self.0.state).0.extend_from_slice(text.as_bytes());
        self.0.changed.notify_all();
    }
}

impl Source for Pipe {
    /// Returns at once if there is nothing to read, as if the time had passed.
    fn wait_readable(&self, _: Duration) -> bool {
        let state = lock(&self.0.state);
        !state.0.is_empty() || state.1
    }

    fn stop(&self) -> bool {
        lock(&self.0.state).1 = true;
        self.0.changed.notify_all();
        true
    }
}

impl Read for &Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let empty = |state: &mut (Vec<u8>, bool)| state.0.is_empty() && !state.1;
        let state = lock(&self.0.state);
        let waited = self
            .0
            .changed
            .wait_timeout_while(state, Duration::from_secs(1000), empty);
        let (bytes, _) = &mut *waited.unwrap_or_else(PoisonError::into_inner).0;
        let n = bytes.len().min(buffer.len());
        buffer[..n].copy_from_slice(&bytes[..n]);
        bytes.drain(..n);
        Ok(n)
    }
}

/// Completes the request whose id is the line. The second field is whether each was expected: a panic would be caught.
struct Callers(PendingRequests, AtomicBool);

impl MessageHandler for Callers {
    fn message(&self, line: &[u8], _: Stream) {
        let id = std::str::from_utf8(line).unwrap().parse().unwrap();
        let answer = RawValue::from_string("{}".into()).unwrap();
        if !self.0.complete(id, Outcome::Answer(answer)) {
            self.1.store(false, Ordering::SeqCst);
        }
    }

    fn is_idle(&self) -> bool {
        self.0.is_empty()
    }

    fn failed(&self, _: i64, _: TransportError) {}

    fn closed(&self, _: TransportError) {}
}

const TIMEOUTS: RequestTimeouts = RequestTimeouts {
    idle: Duration::from_secs(100),
    total: Duration::from_secs(100),
};

/// Runs `count` callers, each of which sends one request and reads for itself while there is input. The
/// server answers at once, or, if `slow`, in its own thread.
fn callers_get_their_answers(count: usize, slow: bool) {
    let pipe = Pipe::default();
    let callers = Arc::new(Callers(PendingRequests::default(), AtomicBool::new(true)));
    let stdout_reader = Arc::new(StdoutReader::new(pipe.clone(), callers.clone(), 100));
    let reader = {
        let stdout_reader = stdout_reader.clone();
        thread::spawn(move || stdout_reader.read_all())
    };
    let call = {
        let stdout_reader = stdout_reader.clone();
        let callers = callers.clone();
        move || {
            let (id, slot) = callers.0.register(TIMEOUTS).unwrap();
            let server = {
                let pipe = pipe.clone();
                move || pipe.write(&format!("{id}\n"))
            };
            let server = if slow {
                Some(thread::spawn(server))
            } else {
                server();
                None
            };
            stdout_reader.read_while_waiting(&|| slot.is_finished());
            let outcome = callers.0.wait(id, &slot, &Cancel::new());
            assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
            if let Some(server) = server {
                server.join().unwrap();
            }
        }
    };
    let others: Vec<_> = (1..count).map(|_| thread::spawn(call.clone())).collect();
    call();
    for other in others {
        other.join().unwrap();
    }
    stdout_reader.end();
    // Ends the time for which the reader thread may hold back.
    let held = lock(&stdout_reader.state);
    advance(HOLD_BACK);
    drop(held);
    stdout_reader.changed.expire();
    assert_eq!(reader.join().unwrap(), None);
    assert!(callers.0.is_empty());
    assert!(callers.1.load(Ordering::SeqCst), "an answer came twice");
}

#[test]
fn a_caller_gets_its_answer_whoever_reads_it() {
    check(|| callers_get_their_answers(1, false));
}

#[test]
fn a_caller_gets_an_answer_that_comes_after_it_has_left_off_reading() {
    check(|| callers_get_their_answers(1, true));
}

#[test]
fn two_callers_get_their_answers_whoever_reads_them() {
    check(|| callers_get_their_answers(2, false));
}
