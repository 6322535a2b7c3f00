//! What was last read of each session, so that listing them costs two `stat`s each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::conversation::Session;
use crate::sys::fs::Stamp;
use crate::sys::lock;

/// How much is remembered, measured in bytes of files. Beyond it everything is forgotten, because
/// whoever lists sessions needs them all.
const ROOM: u64 = 16 << 20;

/// A session whose file is larger is read each time.
const LARGEST: u64 = 256 << 10;

/// Sessions by their ids, each with the state that its file had.
#[derive(Debug, Default)]
pub struct SessionCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<String, (Stamp, Arc<Session>)>,
    bytes: u64,
}

impl SessionCache {
    /// The session `id`, if its file still is in the state `stamp`.
    pub fn get(&self, id: &str, stamp: Stamp) -> Option<Arc<Session>> {
        let entries = lock(&self.0);
        let (known, session) = entries.by_id.get(id)?;
        (*known == stamp).then(|| Arc::clone(session))
    }

    /// Remembers the session `id`, whose file is in the state `stamp`.
    pub fn put(&self, id: &str, stamp: Stamp, session: Arc<Session>) {
        self.forget(id);
        if stamp.len > LARGEST {
            return;
        }
        let mut entries = lock(&self.0);
        if entries.bytes + stamp.len > ROOM {
            *entries = Entries::default();
        }
        entries.bytes += stamp.len;
        let before = entries.by_id.insert(id.to_owned(), (stamp, session));
        entries.bytes -= before.map_or(0, |(stamp, _)| stamp.len);
    }

    /// Forgets the session `id`.
    pub fn forget(&self, id: &str) {
        let mut entries = lock(&self.0);
        if let Some((stamp, _)) = entries.by_id.remove(id) {
            entries.bytes -= stamp.len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(len: u64) -> Stamp {
        let here = std::fs::metadata(".").unwrap();
        let mut stamp = Stamp::of(&here).unwrap();
        stamp.len = len;
        stamp
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let known = SessionCache::default();
        known.put("large", stamp(LARGEST + 1), Arc::default());
        assert!(known.get("large", stamp(LARGEST + 1)).is_none());
        let many = 2 * ROOM / LARGEST;
        for n in 0..many {
            known.put(&n.to_string(), stamp(LARGEST), Arc::default());
            assert!(known.get(&n.to_string(), stamp(LARGEST)).is_some());
            let entries = lock(&known.0);
            assert_eq!(entries.bytes, entries.by_id.len() as u64 * LARGEST);
            assert!(entries.bytes <= ROOM);
        }
        for n in 0..many {
            known.forget(&n.to_string());
        }
        assert_eq!(lock(&known.0).bytes, 0);
    }

    #[test]
    fn only_the_same_state_counts() {
        let known = SessionCache::default();
        known.put("a", stamp(1), Arc::default());
        assert!(known.get("a", stamp(2)).is_none() && known.get("b", stamp(1)).is_none());
        known.put("a", stamp(2), Arc::default());
        assert!(known.get("a", stamp(1)).is_none() && known.get("a", stamp(2)).is_some());
        known.forget("a");
        assert!(known.get("a", stamp(2)).is_none());
    }
}
