//! Full-text search in sessions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::journal::{self, Step};
use super::trigrams::Trigrams;
use super::{Result, Sessions, StoredSession, Summary};
use crate::sys::cancel::Cancel;
use crate::sys::clock::Utc;

/// The most results of a search.
const MAX_FOUND: usize = 50;
/// The time limit of a search, from when it has the list. It then returns what it has found.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A search query.
#[derive(Debug)]
pub struct Query {
    words: Vec<String>,
    /// Maximum number of results.
    pub limit: usize,
    /// Only sessions that changed at this time or later.
    pub after: Option<Utc>,
    /// Only sessions that changed at this time or earlier.
    pub before: Option<Utc>,
}

impl Query {
    /// Searches for all words of `text`, in any case and order, in the name and messages of one session, and finds
    /// `limit` sessions at most, but never more than 50; `None` if there is no word.
    pub fn new(text: &str, limit: usize) -> Option<Self> {
        let words: Vec<_> = text.split_whitespace().map(str::to_lowercase).collect();
        (!words.is_empty()).then_some(Query {
            words,
            limit: limit.min(MAX_FOUND),
            after: None,
            before: None,
        })
    }

    fn is_in_time(&self, session: &Summary) -> bool {
        if self.after.is_none() && self.before.is_none() {
            return true;
        }
        Utc::parse(&session.updated_at).is_some_and(|at| {
            self.after.is_none_or(|after| at >= after)
                && self.before.is_none_or(|before| at <= before)
        })
    }
}

impl Sessions {
    /// The listed sessions that contain every word of `query`, the one changed last first. Holds one message in
    /// memory at a time.
    ///
    /// # Errors
    /// [`super::Error::Io`] when the folder cannot be read. A session that cannot be read is logged and
    /// skipped.
    pub fn search(&self, query: &Query, cancel: &Cancel) -> Result<Vec<Arc<StoredSession>>> {
        let mut found = Vec::new();
        let mut sessions = self.list()?;
        let start = Instant::now();
        sessions.retain(|session| session.is_listed && query.is_in_time(session));
        for session in self.read(sessions) {
            if found.len() >= query.limit || cancel.is_cancelled() {
                break;
            }
            if start.elapsed() > TIMEOUT {
                log::warn!("a search reached its time limit of {} s", TIMEOUT.as_secs());
                break;
            }
            match self.contains_words(&session, &query.words, start + TIMEOUT) {
                Ok(true) => found.push(session),
                Ok(false) => {}
                Err(error) => log::warn!("a search skipped a session: {error}"),
            }
        }
        Ok(found)
    }

    fn contains_words(
        &self,
        session: &StoredSession,
        words: &[String],
        until: Instant,
    ) -> Result<bool> {
        let name = session.name.to_lowercase();
        let unnamed: Vec<_> = words.iter().filter(|word| !name.contains(*word)).collect();
        let mut missing = unnamed.clone();
        let Some(path) = self.messages_file(&session.id) else {
            return Ok(missing.is_empty());
        };
        let known = session.trigrams.get();
        let cannot = |known: &Trigrams| missing.iter().any(|word| !known.may_have(word));
        if missing.is_empty() || known.is_some_and(cannot) {
            return Ok(missing.is_empty());
        }
        // Computed when first needed.
        let stamp = || self.disk.stamp(&path).ok().flatten();
        let size = || stamp().map_or(0, |stamp| stamp.len);
        let mut trigrams = known.is_none().then(|| Trigrams::for_texts_of(size()));
        let mut in_time = true;
        journal::walk(&*self.disk, &path, |step| {
            match step {
                Step::Cleared => missing.clone_from(&unnamed),
                Step::Message(message) if !message.metadata.user_visible => {}
                Step::Message(message) => {
                    let text = message.concat_text().to_lowercase();
                    missing.retain(|word| !text.contains(*word));
                    if let Some(trigrams) = &mut trigrams {
                        trigrams.add(&text);
                    }
                }
            }
            in_time = Instant::now() < until;
            in_time
        })?;
        if let (true, Some(trigrams)) = (in_time, trigrams) {
            let _ = session.trigrams.set(trigrams);
        }
        Ok(missing.is_empty())
    }
}
