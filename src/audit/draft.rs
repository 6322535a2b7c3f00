//! What is known of a record before the log is locked: all but its number, the hash of the record before it, and its
//! own. So a thread that records waits for others no longer than it must.

use crate::members::Members;
use crate::record::{HASH, Record, hash_of};
use std::cell::Cell;
use std::str;

/// What begins the members of each record.
const TIME: &[u8] = b",\"time\":\"";
/// The largest buffer that a thread keeps, in bytes.
const MAX_SPARE: usize = 4 << 10;

thread_local! {
    /// The buffer of the last draft of this thread.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A record without its number and hashes.
pub(crate) struct Draft {
    /// It is the end of something that has a record.
    pub(crate) is_end: bool,
    /// The members, each with a comma before it.
    pub(crate) members: Vec<u8>,
}

impl Draft {
    /// What is known of this record.
    pub(crate) fn of(record: &Record<'_>) -> Self {
        let mut members = SPARE.take();
        members.clear();
        record.write_members(&mut Members::more(&mut members));
        Draft {
            is_end: record.of.is_some(),
            members,
        }
    }

    /// Keeps its buffer for the next one of this thread.
    pub(crate) fn recycle(self) {
        if self.members.capacity() <= MAX_SPARE {
            SPARE.set(self.members);
        }
    }
}

/// The time of a record with these members.
pub(crate) fn time_of(members: &[u8]) -> &str {
    let time = members.strip_prefix(TIME);
    let time = time.and_then(|time| str::from_utf8(time.split(|byte| *byte == b'"').next()?).ok());
    time.unwrap_or_default()
}

/// The day of a record with these members (UTC).
pub(crate) fn day_of(members: &[u8]) -> &str {
    time_of(members).get(..10).unwrap_or_default()
}

/// Appends the line of a record with these members to `out`, and returns its hash. `format`: it is the first of a file
/// of this format.
pub(crate) fn write_line(
    out: &mut Vec<u8>,
    seq: u64,
    prev: &str,
    format: Option<u64>,
    members: &[u8],
) -> String {
    let begin = out.len();
    let mut line = Members::begin(out);
    line.number("seq", seq);
    line.plain("prev", prev);
    line.optional("gosling_format", format);
    out.extend_from_slice(members);
    let hash = hash_of(&out[begin..]);
    out.extend_from_slice(HASH.as_bytes());
    out.extend_from_slice(hash.as_bytes());
    out.extend_from_slice(b"\"}\n");
    hash
}

/// The records of ends that are written with the next record.
#[derive(Default)]
pub(crate) struct Deferred {
    /// Ends may be deferred: somebody is going to write them.
    is_open: bool,
    members: Vec<u8>,
    /// The end of the members of each.
    ends: Vec<usize>,
}

impl Deferred {
    /// Defers the record of an end, if that may be.
    pub(crate) fn push(&mut self, draft: &Draft) -> bool {
        if self.is_open {
            self.members.extend_from_slice(&draft.members);
            self.ends.push(self.members.len());
        }
        self.is_open
    }

    /// Moves what was deferred into `taken`, which is emptied before. `is_open`: more may be deferred.
    pub(crate) fn take(&mut self, taken: &mut Deferred, is_open: bool) {
        taken.members.clear();
        taken.ends.clear();
        std::mem::swap(self, taken);
        self.is_open = is_open;
    }

    /// The members of each record.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut begin = 0;
        self.ends.iter().map(move |end| {
            let members = &self.members[begin..*end];
            begin = *end;
            members
        })
    }
}
