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
pub struct Known(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<String, (Stamp, Arc<Session>)>,
    bytes: u64,
}

impl Known {
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
