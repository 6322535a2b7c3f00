//! Full-text search in sessions.

use crate::trigrams::Trigrams;
use gosling_core::store::journal::{Before, Line, read_line, scan};
use gosling_core::store::{Error, JournalEntry, Result, Sessions, StoredSession, Summary};
use gosling_core::sys::cancel::Cancel;
use gosling_core::sys::clock::Utc;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// The listed sessions that contain every word of `query`, the one changed last first. Holds one message in
/// memory at a time.
///
/// # Errors
/// [`gosling_core::store::Error::Io`] when the folder cannot be read. A session that cannot be read is logged and
/// skipped.
pub fn search(
    sessions: &Sessions,
    query: &Query,
    cancel: &Cancel,
) -> Result<Vec<Arc<StoredSession>>> {
    let mut found = Vec::new();
    let mut listed = sessions.list()?;
    let start = Instant::now();
    listed.retain(|session| session.is_listed && query.is_in_time(session));
    for session in sessions.read(listed) {
        if found.len() >= query.limit || cancel.is_cancelled() {
            break;
        }
        if start.elapsed() > TIMEOUT {
            log::warn!("a search reached its time limit of {} s", TIMEOUT.as_secs());
            break;
        }
        match contains_words(sessions, &session, &query.words, start + TIMEOUT) {
            Ok(true) => found.push(session),
            Ok(false) => {}
            Err(error) => log::warn!("a search skipped a session: {error}"),
        }
    }
    Ok(found)
}

fn contains_words(
    sessions: &Sessions,
    session: &StoredSession,
    words: &[String],
    until: Instant,
) -> Result<bool> {
    let name = session.name.to_lowercase();
    let unnamed: Vec<_> = words.iter().filter(|word| !name.contains(*word)).collect();
    let mut missing = unnamed.clone();
    let known = session.index.get().and_then(|index| index.downcast_ref());
    let cannot = |known: &Trigrams| missing.iter().any(|word| !known.may_have(word));
    if missing.is_empty() || known.is_some_and(cannot) {
        return Ok(missing.is_empty());
    }
    let Some((path, mut file)) = sessions.messages_file(&session.id)? else {
        return Ok(false);
    };
    let size = || file.stamp().map_or(0, |stamp| stamp.len);
    let mut trigrams = known.is_none().then(|| Trigrams::for_texts_of(size()));
    let mut in_time = true;
    let mut see_line = |line: &[u8]| {
        let Ok(Line { before, entries }) = read_line(line) else {
            return true;
        };
        if matches!(before, Before::Clear) {
            missing.clone_from(&unnamed);
        }
        // Those that wait come early: their place does not matter here.
        for message in entries.iter().filter_map(JournalEntry::message) {
            if message.metadata.user_visible {
                let text = message.concat_text().to_lowercase();
                missing.retain(|word| !text.contains(*word));
                if let Some(trigrams) = &mut trigrams {
                    trigrams.add(&text);
                }
            }
            in_time = Instant::now() < until;
            if !in_time {
                return false;
            }
        }
        true
    };
    let scanned = scan(&mut *file, 0, |line, _| see_line(line));
    let (_, tail) = scanned.map_err(Error::io("read", &path))?;
    see_line(&tail);
    if let (true, Some(trigrams)) = (in_time, trigrams) {
        let _ = session.index.set(Box::new(trigrams));
    }
    Ok(missing.is_empty())
}
