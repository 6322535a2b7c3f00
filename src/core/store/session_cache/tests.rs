use super::*;

fn put(known: &SessionCache, id: &str, stamp: Stamp) {
    let entry = Entry {
        file: stamp,
        messages: Some(stamp),
        session: StoredSession::new(Session::default()),
    };
    known.put(id, entry);
}

fn stamp(len: u64) -> Stamp {
    let here = std::fs::metadata(".").unwrap();
    let mut stamp = Stamp::of(&here).unwrap();
    stamp.len = len;
    stamp
}

#[test]
fn what_is_remembered_is_bounded() {
    let known = SessionCache::default();
    put(&known, "large", stamp(LARGEST + 1));
    assert!(known.get("large", stamp(LARGEST + 1)).is_none());
    let many = 2 * CAPACITY / LARGEST;
    for n in 0..many {
        put(&known, &n.to_string(), stamp(LARGEST));
        assert!(known.get(&n.to_string(), stamp(LARGEST)).is_some());
        let entries = lock(&known.0);
        let each = 2 * LARGEST + (8 << 10);
        assert_eq!(entries.bytes, entries.by_id.len() as u64 * each);
        assert!(entries.bytes <= CAPACITY);
    }
    for n in 0..many {
        known.forget(&n.to_string());
    }
    assert_eq!(lock(&known.0).bytes, 0);
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
