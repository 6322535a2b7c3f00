//! Which attempts to reconnect there are, and what becomes of the connections.

use super::super::tests::{connect, is_suspended, later, outside, supervisor};
use super::*;
use std::thread;

#[test]
fn an_attempt_that_started_nothing_leaves_the_server_as_it_was() {
    for (phase, kind, is_undone) in [
        (Phase::Cancelled, FailureKind::Final, true),
        (Phase::Transport, FailureKind::Refused, true),
        (Phase::Cancelled, FailureKind::Refused, true),
        (Phase::Transport, FailureKind::Final, false),
    ] {
        let server = outside();
        server.suspend();
        let lost = server.connection();
        let attempt = server.begin_reconnecting(&lost, &Cancel::new(), later());
        let attempt = attempt.unwrap().expect("no other thread reconnects");
        assert!(!is_suspended(&server));
        let error = Error::new("todo", phase, "no");
        server.note_failed_attempt(&attempt, ConnectError { error, kind });
        drop(attempt);
        assert_eq!(is_suspended(&server), is_undone);
        assert_eq!(
            lock(&server.state).failure.is_none(),
            phase == Phase::Cancelled
        );
    }
}

#[test]
fn one_thread_reconnects_at_a_time_and_the_others_wait_until_their_deadline() {
    let server = supervisor();
    let lost = server.connection();
    let attempt = server
        .begin_reconnecting(&lost, &Cancel::new(), later())
        .unwrap();
    assert!(attempt.is_some());
    let past = Instant::now();
    while Instant::now() == past {}
    let second = server.begin_reconnecting(&lost, &Cancel::new(), past);
    assert_eq!(second.err().map(|error| error.phase), Some(Phase::Timeout));
    drop(attempt);
    assert!(
        server
            .begin_reconnecting(&lost, &Cancel::new(), past)
            .is_ok()
    );
}

#[test]
fn an_earlier_connection_is_known_as_long_as_requests_run_on_it() {
    let server = supervisor();
    let attempt = |retired: Option<&Arc<Connection>>| {
        let current = server.connection();
        let attempt = server.begin_reconnecting(&current, &Cancel::new(), later());
        let attempt = attempt.unwrap().expect("no other thread reconnects");
        let made = Arc::new(connect(&server.config));
        assert!(server.adopt(&made, retired, &attempt, "it was lost"));
        lock(&server.state).retired.len()
    };
    let first = server.connection();
    assert_eq!(attempt(Some(&first)), 1);
    assert_eq!(attempt(None), 1);
    first.client.close();
    drop(first);
    assert_eq!(attempt(None), 0);
}

#[test]
fn a_connection_that_is_ready_after_the_end_is_not_adopted() {
    let server = supervisor();
    let first = server.connection();
    let attempt = server.begin_reconnecting(&first, &Cancel::new(), later());
    let attempt = attempt.unwrap().expect("no other thread reconnects");
    let made = Arc::new(connect(&server.config));
    thread::scope(|scope| {
        scope.spawn(|| server.close());
        while !lock(&server.state).is_closed() {
            thread::yield_now();
        }
        assert!(!server.adopt(&made, None, &attempt, "it was lost"));
        // Ends the wait of `close` for this attempt.
        drop(attempt);
    });
    assert!(Arc::ptr_eq(&server.connection(), &first));
}

#[test]
fn only_a_connection_that_is_open_is_kept_beside_its_successor() {
    for (is_open, kept) in [(true, 1), (false, 0)] {
        let server = supervisor();
        let lost = server.connection();
        if !is_open {
            lost.client.close();
        }
        let made = server.reconnect(&lost, &Cancel::new(), later()).unwrap();
        assert!(!Arc::ptr_eq(&made, &lost) && made.client.is_open());
        assert_eq!(lost.client.is_open(), is_open);
        assert_eq!(lock(&server.state).retired.len(), kept);
    }
}
