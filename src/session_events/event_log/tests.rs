use super::*;
use std::thread;

const LONG: Duration = Duration::from_secs(60);

fn event(text: &str) -> EventJson {
    text.as_bytes().into()
}

fn log_of(events: u64) -> Arc<EventLog> {
    let log = Arc::new(EventLog::starting_at(1));
    (1..=events).for_each(|id| log.append(vec![event(&id.to_string())]));
    log
}

/// The ids that a listener gets at once; checks that each event is the one of its id.
fn ids(listener: &mut Listener) -> Vec<u64> {
    let mut ids = Vec::new();
    while let Received::Events(events) = listener.receive(Instant::now()) {
        for (id, json) in events {
            assert_eq!(json, event(&id.to_string()));
            ids.push(id);
        }
    }
    ids
}

fn ids_after(log: &Arc<EventLog>, after: impl Into<Option<u64>>) -> Vec<u64> {
    ids(&mut log.listen(after.into()).0)
}

#[test]
fn a_listener_gets_what_follows_the_id_that_it_names() {
    let log = log_of(3);
    assert_eq!(ids_after(&log, None), [1, 2, 3]);
    assert_eq!(ids_after(&log, 0), [1, 2, 3]);
    assert_eq!(ids_after(&log, 2), [3]);
    let (mut listener, _) = log.listen(Some(3));
    assert_eq!(listener.receive(Instant::now()), Received::Nothing);
    log.append(vec![event("4"), event("5")]);
    assert_eq!(ids(&mut listener), [4, 5]);
    assert!(ids(&mut listener).is_empty(), "each event once");
}

#[test]
fn an_id_of_another_process_is_too_far_behind() {
    let log = Arc::new(EventLog::starting_at(100));
    log.open_request("a", &Cancel::new()).unwrap();
    for events in 0..3 {
        for strange in [1, 98, 100 + events, u64::MAX] {
            let (mut listener, running) = log.listen(Some(strange));
            assert!(running.is_empty());
            assert_eq!(listener.receive(Instant::now()), Received::TooFarBehind);
        }
        assert_eq!(log.listen(Some(99 + events)).1, ["a"], "nothing is missed");
        log.append(vec![event("")]);
    }
    let (before, now) = (unix_micros(), EventLog::default());
    assert!(lock(&now.state).first >= before);
}

#[test]
fn old_events_are_evicted_by_number_and_told() {
    let log = log_of(MAX_EVENTS as u64 + 10);
    assert_eq!(ids_after(&log, None).len(), MAX_EVENTS);
    assert_eq!(ids_after(&log, 10)[0], 11);
    let (mut late, _) = log.listen(Some(9));
    assert_eq!(late.receive(Instant::now()), Received::TooFarBehind);
}

#[test]
fn a_listener_that_is_slow_finds_more_events_than_are_kept_for_late_ones() {
    let log = log_of(1);
    let (mut slow, _) = log.listen(None);
    let count = MAX_EVENTS as u64 * 3;
    (2..=count).for_each(|id| log.append(vec![event(&id.to_string())]));
    assert_eq!(ids(&mut slow).len() as u64, count);
    drop(slow);
    assert_eq!(ids_after(&log, None).len(), MAX_EVENTS);
}

#[test]
fn a_listener_that_does_not_read_does_not_make_the_log_grow() {
    let log = log_of(0);
    let (mut stuck, _) = log.listen(None);
    let large: EventJson = vec![b'x'; MAX_BYTES / 10].into();
    for _ in 0..100 {
        log.append(vec![large.clone()]);
        assert!(lock(&log.state).bytes <= MAX_UNREAD_BYTES);
    }
    assert_eq!(stuck.receive(Instant::now()), Received::TooFarBehind);
    drop(stuck);
    assert!(lock(&log.state).bytes <= MAX_BYTES);
}

#[test]
fn a_listener_that_reads_is_not_dropped_for_a_large_event() {
    let log = log_of(0);
    let (mut listener, _) = log.listen(None);
    let large: EventJson = vec![b'x'; MAX_BYTES * 5].into();
    // The turn goes on before the listener's thread runs.
    log.append(vec![event("1"), large.clone()]);
    log.append(vec![event("3")]);
    let mut received = Vec::new();
    while let Received::Events(events) = listener.receive(Instant::now()) {
        received.extend(events.into_iter().map(|(id, json)| (id, json.len())));
    }
    assert_eq!(received, [(1, 1), (2, large.len()), (3, 1)]);
    assert_eq!(ids_after(&log, None), [3], "what all have read is not kept");
}

#[test]
fn an_event_larger_than_the_log_is_kept_alone() {
    let log = log_of(5);
    let large: EventJson = vec![b'x'; MAX_BYTES * 2].into();
    let (mut listener, _) = log.listen(Some(5));
    log.append(vec![large.clone()]);
    let received = listener.receive(Instant::now());
    assert_eq!(received, Received::Events(vec![(6, large)]));
    log.append(vec![event("7")]);
    assert_eq!(ids_after(&log, None), [7]);
}

#[test]
fn a_batch_is_bounded_and_nothing_is_lost_between_batches() {
    let log = log_of(0);
    let part: EventJson = vec![b'x'; BATCH_BYTES / 2].into();
    log.append(vec![part; 9]);
    let (mut listener, _) = log.listen(None);
    let mut sizes = Vec::new();
    while let Received::Events(events) = listener.receive(Instant::now()) {
        assert_eq!(events[0].0, sizes.iter().sum::<usize>() as u64 + 1);
        sizes.push(events.len());
    }
    assert_eq!(sizes, [2, 2, 2, 2, 1]);
}

#[test]
fn one_request_runs_at_a_time_but_the_next_follows_a_cancelled_one_at_once() {
    let log = log_of(0);
    let cancel = Cancel::new();
    log.open_request("a", &cancel).unwrap();
    assert_eq!(log.listen(None).1, ["a"]);
    for other in ["a", "b"] {
        let refused = log.open_request(other, &Cancel::new());
        assert!(matches!(refused, Err(Error::Working { .. })));
    }
    log.cancel_request("b");
    assert!(!cancel.is_cancelled() && !log.is_cancelled("a"));
    log.cancel_request("a");
    assert!(cancel.is_cancelled() && log.is_cancelled("a"));
    log.open_request("b", &Cancel::new()).unwrap();
    assert_eq!(log.listen(None).1, ["b"]);
    log.close_request("a", Some(event("1")));
    log.close_request("b", None);
    assert!(!log.has_requests());
    assert_eq!(ids_after(&log, None), [1]);
}

#[test]
fn cancelled_requests_do_not_accumulate() {
    let log = log_of(0);
    for n in 0..MAX_REQUESTS {
        log.open_request(&n.to_string(), &Cancel::new()).unwrap();
        log.cancel_request(&n.to_string());
    }
    assert!(log.open_request("one more", &Cancel::new()).is_err());
}

#[test]
fn a_closed_log_ends_its_listeners_after_the_last_event() {
    let log = log_of(1);
    let (mut listener, _) = log.listen(None);
    log.close();
    log.append(vec![event("2")]);
    assert_eq!(ids(&mut listener), [1]);
    assert_eq!(listener.receive(Instant::now() + LONG), Received::Closed);
    let refused = log.open_request("a", &Cancel::new());
    assert!(matches!(refused, Err(Error::NoSession)));
}

#[test]
fn events_and_wakes_end_a_wait() {
    let log = log_of(0);
    let (mut listener, _) = log.listen(None);
    thread::scope(|scope| {
        scope.spawn(|| log.append(vec![event("1")]));
        let deadline = Instant::now() + LONG;
        let received = listener.receive(deadline);
        assert_eq!(received, Received::Events(vec![(1, event("1"))]));
        assert!(Instant::now() < deadline);
    });
    let ended = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(std::sync::atomic::Ordering::SeqCst) {
                log.wake();
                thread::yield_now();
            }
        });
        let received = listener.receive(Instant::now() + LONG);
        ended.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(received, Received::Nothing);
    });
}

/// Listeners that come at any moment get every event from there on, once and in order.
#[test]
fn late_listeners_get_each_event_once() {
    let log = log_of(0);
    let count = 400;
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut expected = 1;
                while expected <= count {
                    // Reconnects after each batch, with the id of the last event.
                    let (mut listener, _) = log.listen(Some(expected - 1));
                    let deadline = Instant::now() + LONG;
                    if let Received::Events(events) = listener.receive(deadline) {
                        for (id, _) in events {
                            assert_eq!(id, expected);
                            expected += 1;
                        }
                    }
                }
            });
        }
        for id in 1..=count {
            log.append(vec![event(&id.to_string())]);
            thread::yield_now();
        }
    });
}

#[test]
fn memory_is_freed_only_where_no_client_needs_it_and_ids_continue() {
    let log = log_of(3);
    let (listener, _) = log.listen(None);
    log.release_if_unused(Duration::ZERO);
    drop(listener);
    log.open_request("a", &Cancel::new()).unwrap();
    log.release_if_unused(Duration::ZERO);
    log.close_request("a", None);
    log.release_if_unused(LONG);
    assert_eq!(ids_after(&log, None), [1, 2, 3]);
    log.release_if_unused(Duration::ZERO);
    assert_eq!(lock(&log.state).bytes, 0);
    let (mut late, _) = log.listen(Some(1));
    assert_eq!(late.receive(Instant::now()), Received::TooFarBehind);
    log.append(vec![event("4")]);
    assert_eq!(ids_after(&log, 3), [4]);
}
