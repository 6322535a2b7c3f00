//! What lists need of every session, so that listing them costs two `stat`s each, and a cache of the sessions that
//! were read last.

use super::session_file_names::{MESSAGES, SESSION};
use super::sessions::parse_id;
use crate::conversation::Session;
use crate::sys::fs::{Folder, Stamp};
use crate::sys::lock;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use std::any::Any;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};

/// Maximum size of all cached sessions, in bytes of memory, approximately. Beyond it they are forgotten, but for their
/// summaries, of about 300 bytes.
const CAPACITY: u64 = 32 << 20;

/// Of sessions with a larger file only the summary is cached.
const LARGEST: u64 = 256 << 10;

/// How many summaries of sessions that another process has deleted may be kept.
const MAX_GONE: usize = 1_000;

/// A session without its messages, in the state of its files when it was read. It serializes as its
/// [`Session`], whose JSON is kept.
#[derive(Debug)]
pub struct StoredSession {
    session: Session,
    json: OnceLock<Option<Box<RawValue>>>,
    /// What a search keeps of the messages, at most 8 KiB.
    pub index: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl StoredSession {
    pub(super) fn new(session: Session) -> Arc<Self> {
        Arc::new(StoredSession {
            session,
            json: OnceLock::new(),
            index: OnceLock::new(),
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

/// What lists need of a session, in the state of its files when it was read.
#[derive(Debug)]
pub struct Summary {
    /// The session's id.
    pub id: Arc<str>,
    /// When it changed last, as in [`Session::updated_at`].
    pub updated_at: Box<str>,
    /// As [`Session::is_listed`] says.
    pub is_listed: bool,
    /// The tokens of all its requests; of an imported one, of the last request only if that is all that is known.
    pub tokens: i64,
    /// The schedule that has started it.
    pub schedule_id: Option<Box<str>>,
    pub(super) owner: Option<Box<str>>,
    /// The state of `session.json`.
    pub(super) file: Stamp,
    /// The state of `messages.jsonl`, if there is one.
    pub(super) messages: Option<Stamp>,
}

impl Summary {
    pub(super) fn new(session: &Session, file: Stamp, messages: Option<Stamp>) -> Arc<Self> {
        let tokens = session.accumulated_total_tokens.or(session.total_tokens);
        Arc::new(Self {
            id: session.id.as_str().into(),
            updated_at: session.updated_at.as_str().into(),
            is_listed: session.is_listed(),
            tokens: tokens.unwrap_or(0),
            schedule_id: session.schedule_id.as_deref().map(Into::into),
            owner: session.extension_data.owner().map(Into::into),
            file,
            messages,
        })
    }

    /// Compares its place in lists with that of a session `id` that changed last at `updated_at`. The one changed last
    /// is first; of sessions that changed at the same time, the newest.
    pub fn place(&self, updated_at: &str, id: &str) -> Ordering {
        let by_id = || parse_id(id).cmp(&parse_id(&self.id));
        updated_at.cmp(&self.updated_at).then_with(by_id)
    }

    /// The memory of the session in bytes, approximately, once it has its JSON and the index.
    fn memory(&self) -> u64 {
        const FIELDS: u64 = 2 << 10;
        let index = self.messages.map_or(0, |file| (file.len / 4).min(8 << 10));
        FIELDS + 2 * self.file.len + index
    }

    /// Whether both files of the session, which is in `folder`, are unchanged.
    pub(super) fn is_current(&self, folder: &Folder) -> bool {
        let is = |name, stamp: Option<Stamp>| {
            let now = folder.stamp(&[&self.id, "/", name]);
            now.is_ok_and(|now| now == stamp)
        };
        is(SESSION, Some(self.file)) && is(MESSAGES, self.messages)
    }
}

/// Summaries of sessions by id, and of some the sessions.
#[derive(Debug, Default)]
pub struct SessionCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<Arc<str>, Cached>,
    /// Of the sessions.
    bytes: u64,
}

/// A session that was read; the second is `None` if it was forgotten since.
pub type Cached = (Arc<Summary>, Option<Arc<StoredSession>>);

impl SessionCache {
    /// The session `id`, if its file is in the state `file`.
    pub fn get(&self, id: &str, file: Stamp) -> Option<Cached> {
        let cached = lock(&self.0).by_id.get(id)?.clone();
        (cached.0.file == file).then_some(cached)
    }

    /// The session in the state that `summary` is of.
    pub fn session(&self, summary: &Arc<Summary>) -> Option<Arc<StoredSession>> {
        let entries = lock(&self.0);
        let (of, session) = entries.by_id.get(&summary.id)?;
        session.clone().filter(|_| Arc::ptr_eq(of, summary))
    }

    /// The summaries of the sessions `ids`, which are all there are, one result for each id.
    pub fn summaries(&self, ids: &[Box<str>]) -> Vec<Option<Arc<Summary>>> {
        let mut entries = lock(&self.0);
        if entries.by_id.len() > ids.len() + MAX_GONE {
            let ids: HashSet<&str> = ids.iter().map(AsRef::as_ref).collect();
            entries.retain(|id| ids.contains(id));
        }
        let known = ids.iter().map(|id| entries.by_id.get(&**id));
        known.map(|known| Some(Arc::clone(&known?.0))).collect()
    }

    /// Adds a session, which replaces an earlier state.
    pub fn put(&self, summary: Arc<Summary>, session: &Arc<StoredSession>) {
        let mut entries = lock(&self.0);
        entries.remove(&summary.id);
        let bytes = summary.memory();
        let session = (summary.file.len <= LARGEST).then(|| Arc::clone(session));
        if session.is_some() {
            if entries.bytes + bytes > CAPACITY {
                entries
                    .by_id
                    .values_mut()
                    .for_each(|cached| cached.1 = None);
                entries.bytes = 0;
            }
            entries.bytes += bytes;
        }
        let id = Arc::clone(&summary.id);
        entries.by_id.insert(id, (summary, session));
    }

    /// Removes the session `id`.
    pub fn forget(&self, id: &str) {
        lock(&self.0).remove(id);
    }
}

impl Entries {
    fn remove(&mut self, id: &str) {
        if let Some((summary, Some(_))) = self.by_id.remove(id) {
            self.bytes -= summary.memory();
        }
    }

    fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.by_id.retain(|id, (summary, session)| {
            let is_kept = is_kept(id);
            if !is_kept && session.is_some() {
                self.bytes -= summary.memory();
            }
            is_kept
        });
    }
}

#[cfg(test)]
mod tests;
