use super::*;

fn calls() -> Arc<IncomingRequests> {
    Arc::new(IncomingRequests::new(Limits::CALLS, &Cancel::new()))
}

#[test]
fn a_cancelled_id_may_come_again_before_its_first_call_has_ended() {
    let calls = calls();
    let id = Id::Number(1);
    let first = calls.begin(&id, ()).unwrap().unwrap();
    assert!(calls.begin(&id, ()).is_err());
    calls.withdraw(&id, false);
    assert!(first.cancel.is_cancelled());
    let second = calls.begin(&id, ()).unwrap().unwrap();
    assert!(!first.finish());
    drop(first);
    assert!(calls.is_running(&id) && !second.cancel.is_cancelled());
    assert!(second.finish() && !second.finish());
}

#[test]
fn a_cancellation_that_has_overtaken_its_call_counts_and_one_that_is_late_does_not() {
    let calls = calls();
    let [early, late] = [1, 2].map(Id::Number);
    let ordered = Id::Number(3);
    calls.withdraw(&ordered, false);
    assert!(calls.begin(&ordered, ()).unwrap().is_some());
    calls.withdraw(&early, true);
    assert!(calls.begin(&early, ()).unwrap().is_none());
    assert!(!calls.is_busy() && !calls.is_running(&early));
    // A cancellation counts once.
    assert!(calls.begin(&early, ()).unwrap().is_some());
    drop(calls.begin(&late, ()).unwrap());
    calls.withdraw(&late, true);
    assert!(calls.begin(&late, ()).unwrap().is_some());
    for id in 0..1000 {
        calls.withdraw(&Id::Number(10 + id), true);
        drop(calls.begin(&Id::Number(10_000 + id), ()).unwrap());
    }
    let state = lock(&calls.state);
    assert_eq!(
        (state.early.kept.len(), state.early.ended.len()),
        (MAX_EARLY_CANCELLATIONS, MAX_ENDED)
    );
}

#[test]
fn calls_that_are_cancelled_but_do_not_end_are_bounded_too() {
    let calls = calls();
    let mut stubborn = Vec::new();
    while let Ok(Some(guard)) = calls.begin(&Id::Number(stubborn.len() as i64), ()) {
        calls.withdraw(&guard.id, false);
        stubborn.push(guard);
    }
    assert_eq!(stubborn.len(), Limits::CALLS.alive);
    assert_eq!(calls.close(Duration::ZERO), Limits::CALLS.alive);
    stubborn.clear();
    assert_eq!(calls.close(Duration::ZERO), 0);
}
