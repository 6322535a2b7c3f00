//! The number of messages in a log, without the messages in memory.

use super::{Before, JournalEntry, Place, read_line, read_preceding, scan};
use crate::store::disk::Disk;
use crate::store::{Error, Result};
use crate::sys::fs::Stamp;
use std::io;
use std::path::Path;

/// The number of messages in a file, and the state of the file then.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    place: Place,
    /// Number of messages, including a complete last line without a newline.
    pub messages: usize,
    in_lines: usize,
}

impl Count {
    /// The state of the file then.
    pub fn stamp(&self) -> Stamp {
        self.place.stamp
    }
}

/// Counts the messages in the file `path`, continuing from `known`; `None` if it does not exist.
pub fn count(disk: &dyn Disk, path: &Path, known: Option<Count>) -> Result<Option<Count>> {
    let stamp = disk.stamp(path)?;
    if let (Some(known), Some(stamp)) = (known, stamp)
        && known.place.stamp == stamp
    {
        return Ok(Some(known));
    }
    let Some(mut file) = disk.open(path)? else {
        return Ok(None);
    };
    let mut count = || -> io::Result<Count> {
        let (start, mut messages) = match known {
            Some(known) if known.place.is_in(&mut *file)? => (known.place.end, known.in_lines),
            _ => (0, 0),
        };
        let stamp = file.stamp()?;
        let (end, tail) = scan(&mut *file, start, |line, _| {
            messages = count_own_line(line, messages);
            true
        })?;
        let preceding = read_preceding(&mut *file, end)?;
        Ok(Count {
            place: Place {
                stamp,
                end,
                preceding,
            },
            messages: count_line(&tail, messages),
            in_lines: messages,
        })
    };
    count().map(Some).map_err(Error::io("read", path))
}

/// The number of messages after `line`, which ends in a newline, if there were `before`.
fn count_own_line(line: &[u8], before: usize) -> usize {
    // Recognizes lines of this program by their start and end, without parsing them.
    let ends = [
        b"\"agentVisible\":true}}".as_slice(),
        b"\"agentVisible\":false}}",
    ];
    if line.starts_with(b"{\"id\":") && ends.iter().any(|end| line.ends_with(end)) {
        before + 1
    } else {
        count_line(line, before)
    }
}

/// As [`count_own_line`], also for a line that may be incomplete.
fn count_line(line: &[u8], before: usize) -> usize {
    let Ok(line) = read_line(line) else {
        return before;
    };
    let messages = line.entries.iter().filter_map(JournalEntry::message);
    match line.before {
        Before::Clear => messages.count(),
        Before::Keep | Before::Hide | Before::Wait | Before::Take => before + messages.count(),
    }
}
