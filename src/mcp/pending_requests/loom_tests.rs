//! Checks the table in every order of its threads: a waiting caller, the reader of the connection, and
//! threads that cancel, end the connection or pause the deadlines.

use super::*;
use gosling_sys::sync::{advance, check};
use loom::thread;
use std::sync::atomic::{AtomicBool, Ordering};

const IDLE: Duration = Duration::from_secs(60);
const TIMEOUTS: RequestTimeouts = RequestTimeouts {
    idle: IDLE,
    total: Duration::from_secs(600),
};

fn answer() -> Outcome {
    Outcome::Answer(RawValue::from_string("{}".into()).unwrap())
}

/// Starts a thread with the table.
fn with<T: 'static>(
    pending: &Arc<PendingRequests>,
    work: impl FnOnce(&PendingRequests) -> T + 'static,
) -> thread::JoinHandle<T> {
    let pending = pending.clone();
    thread::spawn(move || work(&pending))
}

/// Advances the clock for a waiting caller.
fn pass(slot: &Slot, by: Duration) {
    let state = lock(&slot.state);
    advance(by);
    drop(state);
    slot.changed.expire();
}

#[test]
fn an_answer_always_wakes_the_one_who_waits() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let reader = with(&pending, move |pending| pending.complete(id, answer()));
        let outcome = pending.wait(id, &slot, &Cancel::new());
        assert!(reader.join().unwrap());
        assert!(matches!(outcome, Outcome::Answer(_)));
        assert!(pending.is_empty());
    });
}

#[test]
fn an_answer_counts_exactly_if_the_caller_was_not_cancelled() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let token = Cancel::new();
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let reader = with(&pending, move |pending| pending.complete(id, answer()));
        let canceller = {
            let token = token.clone();
            thread::spawn(move || token.cancel())
        };
        let outcome = pending.wait(id, &slot, &token);
        let counted = reader.join().unwrap();
        canceller.join().unwrap();
        match outcome {
            Outcome::Answer(_) => assert!(counted),
            Outcome::Cancelled => assert!(!counted, "an answer after the end was taken for one"),
            other => panic!("{other:?}"),
        }
        assert!(pending.is_empty());
    });
}

#[test]
fn an_answer_counts_exactly_if_the_deadline_had_not_passed() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let reader = with(&pending, move |pending| pending.complete(id, answer()));
        let clock = {
            let slot = slot.clone();
            thread::spawn(move || pass(&slot, IDLE))
        };
        let outcome = pending.wait(id, &slot, &Cancel::new());
        let counted = reader.join().unwrap();
        clock.join().unwrap();
        match outcome {
            Outcome::Answer(_) => assert!(counted),
            Outcome::TimedOut => assert!(!counted, "an answer after the end was taken for one"),
            other => panic!("{other:?}"),
        }
        assert!(pending.is_empty());
    });
}

#[test]
fn of_two_answers_to_one_request_the_first_counts() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let readers = [
            with(&pending, move |pending| pending.complete(id, answer())),
            with(&pending, move |pending| pending.complete(id, answer())),
        ];
        let outcome = pending.wait(id, &slot, &Cancel::new());
        let counted = readers.map(|reader| reader.join().unwrap());
        assert_ne!(counted[0], counted[1]);
        assert!(matches!(outcome, Outcome::Answer(_)));
    });
}

#[test]
fn cancelling_one_leaves_its_neighbour_alone() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let token = Cancel::new();
        let (one, slot_one) = pending.register(TIMEOUTS).unwrap();
        let (two, slot_two) = pending.register(TIMEOUTS).unwrap();
        let cancelled = {
            let token = token.clone();
            with(&pending, move |pending| {
                pending.wait(one, &slot_one, &token)
            })
        };
        let reader = with(&pending, move |pending| pending.complete(two, answer()));
        token.cancel();
        let outcome = pending.wait(two, &slot_two, &Cancel::new());
        assert!(matches!(outcome, Outcome::Answer(_)));
        assert!(matches!(cancelled.join().unwrap(), Outcome::Cancelled));
        assert!(reader.join().unwrap());
        assert!(pending.is_empty());
    });
}

#[test]
fn the_end_of_the_connection_reaches_whoever_waits_and_whoever_comes() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let end = with(&pending, |pending| pending.fail(TransportError::Closed));
        let late = with(&pending, |pending| match pending.register(TIMEOUTS) {
            Err(over) => over,
            Ok((id, slot)) => pending.wait(id, &slot, &Cancel::new()),
        });
        let outcome = pending.wait(id, &slot, &Cancel::new());
        assert!(matches!(outcome, Outcome::Failed(TransportError::Closed)));
        assert!(matches!(
            late.join().unwrap(),
            Outcome::Failed(TransportError::Closed)
        ));
        end.join().unwrap();
        assert!(pending.is_empty());
    });
}

#[test]
fn an_answer_and_the_end_of_the_connection_are_one_outcome() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let reader = with(&pending, move |pending| pending.complete(id, answer()));
        let end = with(&pending, |pending| pending.fail_protocol("why".into()));
        let outcome = pending.wait(id, &slot, &Cancel::new());
        let counted = reader.join().unwrap();
        end.join().unwrap();
        assert_eq!(counted, matches!(outcome, Outcome::Answer(_)));
        assert!(counted || matches!(outcome, Outcome::Broken(why) if why == "why"));
    });
}

#[test]
fn time_that_passes_while_the_clock_stands_still_ends_no_wait() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let holder = {
            let slot = slot.clone();
            with(&pending, move |pending| {
                pending.pause_deadlines();
                pass(&slot, IDLE * 2);
                pending.resume_deadlines();
                pending.complete(id, answer())
            })
        };
        let other = with(&pending, |pending| {
            pending.pause_deadlines();
            pending.resume_deadlines();
        });
        let outcome = pending.wait(id, &slot, &Cancel::new());
        assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
        assert!(holder.join().unwrap());
        other.join().unwrap();
        assert!(lock(&pending.table).paused_since.is_none());
    });
}

#[test]
fn a_deadline_ends_a_wait_once_the_clock_goes_on() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let holder = {
            let slot = slot.clone();
            with(&pending, move |pending| {
                pending.pause_deadlines();
                pending.resume_deadlines();
                pass(&slot, IDLE);
            })
        };
        let outcome = pending.wait(id, &slot, &Cancel::new());
        assert!(matches!(outcome, Outcome::TimedOut));
        holder.join().unwrap();
        assert!(pending.is_empty());
    });
}

#[test]
fn progress_at_the_deadline_either_comes_in_time_or_is_of_no_account() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let reader = with(&pending, move |pending| {
            let extended = pending.extend(id);
            (extended, pending.complete(id, answer()))
        });
        let clock = {
            let slot = slot.clone();
            thread::spawn(move || pass(&slot, IDLE))
        };
        let outcome = pending.wait(id, &slot, &Cancel::new());
        let (extended, counted) = reader.join().unwrap();
        clock.join().unwrap();
        assert!(extended || !counted);
        assert_eq!(counted, matches!(outcome, Outcome::Answer(_)));
    });
}

#[test]
fn progress_while_the_clock_is_stopped_and_goes_on_holds_nobody_up() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let (id, slot) = pending.register(TIMEOUTS).unwrap();
        let holder = with(&pending, |pending| {
            pending.pause_deadlines();
            pending.resume_deadlines();
        });
        let reader = with(&pending, move |pending| {
            assert!(pending.extend(id));
            pending.complete(id, answer())
        });
        let outcome = pending.wait(id, &slot, &Cancel::new());
        assert!(matches!(outcome, Outcome::Answer(_)));
        assert!(reader.join().unwrap());
        holder.join().unwrap();
    });
}

#[test]
fn an_observer_hears_nothing_once_its_call_has_returned() {
    check(|| {
        let pending = Arc::new(PendingRequests::default());
        let returned = Arc::new(AtomicBool::new(false));
        let token = Cancel::new();
        let call = CallOptions {
            observer: Some({
                let returned = returned.clone();
                Arc::new(move |_: &str, _: Option<&RawValue>| {
                    assert!(!returned.load(Ordering::SeqCst), "called after the end");
                    thread::yield_now();
                    assert!(!returned.load(Ordering::SeqCst), "called after the end");
                })
            }),
            label: Some("call"),
            ..CallOptions::default()
        };
        let (id, slot) = pending.register_call(TIMEOUTS, call).unwrap();
        let reader = with(&pending, move |pending| {
            assert!(matches!(pending.label(id).as_deref(), None | Some("call")));
            pending.observe(id, "notifications/progress", None);
        });
        let canceller = {
            let token = token.clone();
            thread::spawn(move || token.cancel())
        };
        let outcome = pending.wait(id, &slot, &token);
        returned.store(true, Ordering::SeqCst);
        assert!(matches!(outcome, Outcome::Cancelled));
        reader.join().unwrap();
        canceller.join().unwrap();
        assert!(pending.oldest_call().is_none());
    });
}
