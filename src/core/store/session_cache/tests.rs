use super::*;

fn summary(id: &str, stamp: Stamp) -> Arc<Summary> {
    let session = Session {
        id: id.to_owned(),
        ..Session::default()
    };
    Summary::new(&session, stamp, Some(stamp))
}

fn put(known: &SessionCache, id: &str, stamp: Stamp) {
    let session = StoredSession::new(Session::default());
    known.put(summary(id, stamp), &session);
}

fn has_session(known: &SessionCache, id: &str, stamp: Stamp) -> bool {
    let of_state = known.get(id, stamp);
    let read = of_state.as_ref().and_then(|it| known.session(&it.0));
    let has = of_state.is_some_and(|it| it.1.is_some());
    assert_eq!(read.is_some(), has);
    has
}

fn stamp(len: u64) -> Stamp {
    let here = std::fs::metadata(".").unwrap();
    let mut stamp = Stamp::of(&here).unwrap();
    stamp.len = len;
    stamp
}

#[test]
fn what_is_remembered_is_bounded_but_for_summaries() {
    let known = SessionCache::default();
    put(&known, "large", stamp(LARGEST + 1));
    assert!(known.get("large", stamp(LARGEST + 1)).is_some());
    assert!(!has_session(&known, "large", stamp(LARGEST + 1)));
    let many = 2 * CAPACITY / LARGEST;
    for n in 0..many {
        put(&known, &n.to_string(), stamp(LARGEST));
        assert!(has_session(&known, &n.to_string(), stamp(LARGEST)));
        let entries = lock(&known.0);
        let each = 2 * LARGEST + (10 << 10);
        let sessions = entries.by_id.values().filter(|it| it.1.is_some());
        assert_eq!(entries.bytes, sessions.count() as u64 * each);
        assert!(entries.bytes <= CAPACITY);
        assert_eq!(entries.by_id.len() as u64, n + 2);
    }
    assert!(!has_session(&known, "0", stamp(LARGEST)));
    for n in 0..many {
        known.forget(&n.to_string());
    }
    assert_eq!(lock(&known.0).bytes, 0);
}

#[test]
fn what_another_process_has_deleted_is_not_kept_for_ever() {
    let known = SessionCache::default();
    let ids: Vec<Box<str>> = (0..=MAX_GONE).map(|n| n.to_string().into()).collect();
    for id in &ids {
        put(&known, id, stamp(1));
    }
    assert!(known.summaries(&ids[..1])[0].is_some());
    assert_eq!(lock(&known.0).by_id.len(), ids.len());
    assert!(known.summaries(&[])[..].is_empty());
    let entries = lock(&known.0);
    assert!(entries.by_id.is_empty() && entries.bytes == 0);
}

#[test]
fn a_session_is_read_again_that_is_not_in_the_state_of_its_summary() {
    let known = SessionCache::default();
    put(&known, "a", stamp(1));
    let before = known.get("a", stamp(1)).unwrap().0;
    assert!(known.session(&before).is_some());
    put(&known, "a", stamp(2));
    assert!(known.session(&before).is_none());
}

#[test]
fn the_session_that_changed_last_is_first_and_of_those_the_newest() {
    let at = |updated_at: &str, id: &str| {
        let session = Session {
            id: id.to_owned(),
            updated_at: updated_at.to_owned(),
            ..Session::default()
        };
        Summary::new(&session, stamp(1), None)
    };
    let order = [
        at("2026-01-02T00:00:00Z", "20260101_1"),
        at("2026-01-01T00:00:00Z", "20260101_10"),
        at("2026-01-01T00:00:00Z", "20260101_9"),
        at("2026-01-01T00:00:00Z", "20251231_11"),
    ];
    for (place, one) in order.iter().enumerate() {
        for (other_place, other) in order.iter().enumerate() {
            let compared = one.place(&other.updated_at, &other.id);
            assert_eq!(compared, place.cmp(&other_place));
        }
    }
}

#[test]
fn only_the_same_state_counts() {
    let known = SessionCache::default();
    put(&known, "a", stamp(1));
    assert!(known.get("a", stamp(2)).is_none() && known.get("b", stamp(1)).is_none());
    put(&known, "a", stamp(2));
    assert!(known.get("a", stamp(1)).is_none() && known.get("a", stamp(2)).is_some());
    known.forget("a");
    assert!(known.get("a", stamp(2)).is_none());
}

#[test]
fn a_session_is_written_as_it_is() {
    let session = Session {
        name: "a \"name\"".to_owned(),
        ..Session::default()
    };
    let plain = serde_json::to_string(&session).unwrap();
    let stored = &*StoredSession::new(session);
    for _ in 0..2 {
        assert_eq!(serde_json::to_string(stored).unwrap(), plain);
    }
}
