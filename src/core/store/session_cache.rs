//! A cache of the sessions that were read last, so that listing them costs two `stat`s each.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::trigrams::Trigrams;
use crate::conversation::Session;
use crate::sys::fs::{Folder, Stamp};
use crate::sys::lock;

/// Maximum size of the cache, in bytes of memory, approximately. Beyond it the cache is emptied, because a list
/// needs all sessions.
const CAPACITY: u64 = 32 << 20;

/// Sessions with a larger file are not cached.
const LARGEST: u64 = 256 << 10;

/// A session without its messages, in the state of its files when it was read. It serializes as its
/// [`Session`], whose JSON is kept.
#[derive(Debug)]
pub struct StoredSession {
    session: Session,
    json: OnceLock<Option<Box<RawValue>>>,
    /// An index of the messages that the user sees.
    pub(super) trigrams: OnceLock<Trigrams>,
}

impl StoredSession {
    pub(super) fn new(session: Session) -> Arc<Self> {
        Arc::new(StoredSession {
            session,
            json: OnceLock::new(),
            trigrams: OnceLock::new(),
        })
    }
}

impl Deref for StoredSession {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Serialize for StoredSession {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.json.get_or_init(|| to_raw_value(&self.session).ok()) {
            Some(json) => json.serialize(serializer),
            None => self.session.serialize(serializer),
        }
    }
}

/// Sessions by id, each with the states of its files.
#[derive(Debug, Default)]
pub struct SessionCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<String, Arc<Entry>>,
    bytes: u64,
}

/// A session and the states of its two files.
#[derive(Debug)]
pub struct Entry {
    /// The state of `session.json`.
    pub file: Stamp,
    /// The state of `messages.jsonl`, if there is one.
    pub messages: Option<Stamp>,
    /// The cached session.
    pub session: Arc<StoredSession>,
}

impl Entry {
    /// The memory of the entry in bytes, approximately, once it has the session, its JSON and the index.
    fn memory(&self) -> u64 {
        let index = self.messages.map_or(0, |file| Trigrams::memory(file.len));
        2 * self.file.len + index as u64
    }

    /// Whether both files of the session `id` in `folder` are unchanged.
    pub fn is_current(&self, folder: &Folder, id: &str) -> bool {
        let is = |name, stamp: Option<Stamp>| {
            folder.stamp(&[id, "/", name]).is_ok_and(|now| now == stamp)
        };
        is(super::session_file_names::SESSION, Some(self.file))
            && is(super::session_file_names::MESSAGES, self.messages)
    }
}

impl SessionCache {
    /// The session `id`, if its file is in the state `file`.
    pub fn get(&self, id: &str, file: Stamp) -> Option<Arc<Entry>> {
        let entry = Arc::clone(lock(&self.0).by_id.get(id)?);
        (entry.file == file).then_some(entry)
    }

    /// The cached sessions `ids`, one result for each id.
    pub fn all(&self, ids: &[String]) -> Vec<Option<Arc<Entry>>> {
        let entries = lock(&self.0);
        ids.iter()
            .map(|id| entries.by_id.get(id).cloned())
            .collect()
    }

    /// Adds the session `id`.
    pub fn put(&self, id: &str, entry: Entry) {
        self.forget(id);
        if entry.file.len > LARGEST {
            return;
        }
        let bytes = entry.memory();
        let mut entries = lock(&self.0);
        if entries.bytes + bytes > CAPACITY {
            *entries = Entries::default();
        }
        entries.bytes += bytes;
        let before = entries.by_id.insert(id.to_owned(), Arc::new(entry));
        entries.bytes -= before.map_or(0, |entry| entry.memory());
    }

    /// Removes the session `id`.
    pub fn forget(&self, id: &str) {
        let mut entries = lock(&self.0);
        if let Some(entry) = entries.by_id.remove(id) {
            entries.bytes -= entry.memory();
        }
    }
}

#[cfg(test)]
mod tests;
