use super::*;
use std::thread;

const LONG: RequestTimeouts = RequestTimeouts {
    idle: Duration::from_secs(60),
    total: Duration::from_secs(60),
};

fn answer(text: &str) -> Outcome {
    Outcome::Answer(serde_json::value::RawValue::from_string(text.into()).unwrap())
}

#[test]
fn answers_reach_their_own_callers_in_any_order() {
    let pending = Arc::new(PendingRequests::default());
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (id, slot) = pending.register(LONG).unwrap();
            let pending = pending.clone();
            (
                id,
                thread::spawn(move || pending.wait(id, &slot, &Cancel::new())),
            )
        })
        .collect();
    for (id, _) in calls.iter().rev() {
        assert!(pending.complete(*id, answer(&id.to_string())));
    }
    for (id, call) in calls {
        match call.join().unwrap() {
            Outcome::Answer(text) => assert_eq!(text.get(), id.to_string()),
            other => panic!("{other:?}"),
        }
    }
    assert!(pending.is_empty());
}

#[test]
fn calls_are_told_from_requests_and_have_their_label_and_observer() {
    let pending = PendingRequests::default();
    assert_eq!(pending.oldest_call(), None);
    let (request, _) = pending.register(LONG).unwrap();
    assert_eq!(
        (pending.oldest_call(), pending.label(request)),
        (None, None)
    );
    assert!(!pending.observe(request, "x", None));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = seen.clone();
    let options = CallOptions {
        observer: Some(Arc::new(move |method: &str, _: Option<&RawValue>| {
            lock(&observed).push(method.to_owned());
        })),
        label: Some("call 7"),
        ..CallOptions::default()
    };
    let (call, slot) = pending.register_call(LONG, options).unwrap();
    let (later, _) = pending.register_call(LONG, CallOptions::default()).unwrap();
    assert!(request < call && call < later);
    assert_eq!(pending.oldest_call(), Some(call));
    assert_eq!(pending.label(call).as_deref(), Some("call 7"));
    assert_eq!(pending.label(later), None);
    assert!(pending.observe(call, "notifications/progress", None));
    assert!(!pending.observe(later, "notifications/progress", None));
    assert_eq!(*lock(&seen), ["notifications/progress"]);
    assert!(!pending.is_empty() && !slot.is_finished());
    assert!(pending.complete(call, answer("1")));
    assert!(slot.is_finished());
    assert_eq!(pending.oldest_call(), Some(later));
}

#[test]
fn the_first_end_of_a_connection_is_the_outcome_of_all_its_requests() {
    let pending = PendingRequests::default();
    let (id, slot) = pending.register(LONG).unwrap();
    assert!(!pending.is_over() && pending.failure().is_none());
    pending.fail(TransportError::Closed);
    pending.fail_protocol("later".to_owned());
    assert!(pending.is_over() && pending.is_empty());
    assert!(matches!(pending.failure(), Some(TransportError::Closed)));
    for outcome in [
        pending.wait(id, &slot, &Cancel::new()),
        pending.register(LONG).err().unwrap(),
    ] {
        assert!(matches!(outcome, Outcome::Failed(TransportError::Closed)));
    }
    let broken = PendingRequests::default();
    broken.fail_protocol("no JSON".to_owned());
    assert!(broken.is_over() && broken.failure().is_none());
    let outcome = broken.register(LONG).err().unwrap();
    assert!(matches!(outcome, Outcome::Broken(reason) if reason == "no JSON"));
}

#[test]
fn an_answer_that_nobody_waits_for_is_told_apart() {
    let pending = PendingRequests::default();
    assert!(!pending.complete(1, answer("1")));
    let (id, slot) = pending.register(LONG).unwrap();
    assert!(pending.complete(id, answer("1")));
    assert!(!pending.complete(id, answer("2")));
    assert!(matches!(
        pending.wait(id, &slot, &Cancel::new()),
        Outcome::Answer(a) if a.get() == "1"
    ));
}

#[test]
fn an_answer_that_comes_while_the_caller_leaves_is_one_that_nobody_waits_for() {
    let slot_of = |timeouts| PendingRequests::default().register(timeouts).unwrap().1;
    let at_once = RequestTimeouts {
        idle: Duration::ZERO,
        total: Duration::ZERO,
    };
    let slot = slot_of(at_once);
    assert!(matches!(slot.wait(&Cancel::new()), Outcome::TimedOut));
    assert!(!slot.finish(answer("1")));
    let slot = slot_of(LONG);
    assert!(slot.finish(Outcome::Cancelled));
    assert!(matches!(slot.wait(&Cancel::new()), Outcome::Cancelled));
    assert!(!slot.finish(answer("1")));
}

#[test]
fn a_deadline_frees_the_slot_and_progress_moves_it_but_not_past_the_total() {
    let pending = PendingRequests::default();
    let timeouts = RequestTimeouts {
        // Longer than a busy machine lets a thread wait for its turn.
        idle: Duration::from_millis(400),
        total: Duration::from_millis(800),
    };
    let begin = Instant::now();
    let (id, slot) = pending.register(timeouts).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while pending.extend(id) {
                thread::sleep(Duration::from_millis(2));
            }
        });
        let outcome = pending.wait(id, &slot, &Cancel::new());
        assert!(matches!(outcome, Outcome::TimedOut));
    });
    assert!(begin.elapsed() >= Duration::from_millis(800));
    assert!(pending.is_empty());
}

#[test]
fn a_clock_that_stands_still_adds_nothing_to_the_wait() {
    let pending = PendingRequests::default();
    let timeouts = RequestTimeouts {
        idle: Duration::from_millis(60),
        total: Duration::from_millis(500),
    };
    let before = pending.register(timeouts).unwrap();
    pending.pause_deadlines();
    pending.pause_deadlines();
    let during = pending.register(timeouts).unwrap();
    let begin = Instant::now();
    thread::scope(|scope| {
        for (id, slot) in [&before, &during] {
            let wait = || pending.wait(*id, slot, &Cancel::new());
            scope.spawn(move || assert!(matches!(wait(), Outcome::TimedOut)));
        }
        thread::sleep(Duration::from_millis(100));
        pending.resume_deadlines();
        assert_eq!(pending.len(), 2);
        thread::sleep(Duration::from_millis(100));
        assert_eq!(pending.len(), 2);
        pending.resume_deadlines();
    });
    assert!(begin.elapsed() >= Duration::from_millis(250));
    assert!(begin.elapsed() < Duration::from_millis(900));
}

#[test]
fn a_clock_that_never_goes_on_holds_nobody_for_ever() {
    let pending = PendingRequests::default();
    let timeouts = RequestTimeouts {
        idle: Duration::from_millis(20),
        total: Duration::from_millis(40),
    };
    pending.pause_deadlines();
    let begin = Instant::now();
    let (id, slot) = pending.register(timeouts).unwrap();
    let outcome = pending.wait(id, &slot, &Cancel::new());
    assert!(matches!(outcome, Outcome::TimedOut));
    assert!(begin.elapsed() >= Duration::from_millis(80));
}

#[test]
fn progress_moves_the_deadline_as_far_as_the_total_and_a_pause_moves_both() {
    let pending = PendingRequests::default();
    let timeouts = RequestTimeouts {
        idle: Duration::from_secs(60),
        total: Duration::from_secs(90),
    };
    let (id, slot) = pending.register(timeouts).unwrap();
    let limits = || {
        let state = lock(&slot.state);
        (state.deadline, state.last_deadline, state.end)
    };
    let (first, last, end) = limits();
    assert_eq!(last - first, Duration::from_secs(30));
    thread::sleep(Duration::from_millis(2));
    assert!(pending.extend(id));
    let (extended, ..) = limits();
    assert!(first < extended && extended < last);
    // As if the call had run for so long already that its total ends before.
    lock(&slot.state).last_deadline = first;
    assert!(pending.extend(id));
    assert_eq!(limits().0, limits().1, "not past the total");
    let (before, last, _) = limits();
    pending.pause_deadlines();
    assert!(pending.extend(id));
    thread::sleep(Duration::from_millis(2));
    pending.resume_deadlines();
    let moved = limits().0 - before;
    assert!(moved >= Duration::from_millis(2));
    assert_eq!(limits(), (before + moved, last + moved, end));
}

#[test]
fn patience_without_end_is_no_overflow() {
    let endless = RequestTimeouts {
        idle: Duration::MAX,
        total: Duration::MAX,
    };
    let pending = PendingRequests::default();
    let (id, _) = pending.register(endless).unwrap();
    assert!(pending.extend(id));
}

#[test]
fn cancelling_one_request_leaves_its_neighbour_alone() {
    let pending = PendingRequests::default();
    let one = pending.register(LONG).unwrap();
    let two = pending.register(LONG).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(matches!(
        pending.wait(one.0, &one.1, &cancel),
        Outcome::Cancelled
    ));
    assert!(pending.complete(two.0, answer("2")));
}

#[test]
fn what_watches_the_client_ends_a_wait_that_nobody_wants_any_more() {
    let pending = PendingRequests::default();
    let (id, slot) = pending.register(LONG).unwrap();
    let cancel = Cancel::new().child_watched(|token| token.cancel());
    assert!(matches!(
        pending.wait(id, &slot, &cancel),
        Outcome::Cancelled
    ));
}

#[test]
fn the_end_of_the_connection_reaches_those_who_wait_and_those_who_come_late() {
    let pending = PendingRequests::default();
    let (id, slot) = pending.register(LONG).unwrap();
    pending.fail_protocol("a batch".into());
    pending.fail(TransportError::Closed);
    assert!(
        matches!(pending.wait(id, &slot, &Cancel::new()), Outcome::Broken(r) if r == "a batch")
    );
    assert!(matches!(
        pending.register(LONG),
        Err(Outcome::Broken(r)) if r == "a batch"
    ));
}
