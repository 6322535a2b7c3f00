//! The state of a file, to find out whether it has changed.

use std::time::{Duration, SystemTime};

/// The state of a file, from one `stat`: it differs when the file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The modification time of the content.
    pub modified: SystemTime,
    /// Its size in bytes.
    pub len: u64,
    /// The number of the file.
    pub inode: u64,
    /// The time of the last change of its state.
    pub changed: (i64, i64),
}

impl Stamp {
    /// Whether this state, read at `read_at`, would differ if the file had changed since. Clocks of file
    /// systems have a coarse resolution, some of one or two seconds, so right after a change it may not.
    pub fn is_settled(&self, read_at: SystemTime) -> bool {
        const SETTLED: Duration = Duration::from_millis(50);
        const SETTLED_IN_SECONDS: Duration = Duration::from_secs(3);
        let modified = self.modified.duration_since(SystemTime::UNIX_EPOCH);
        let is_whole = modified.is_ok_and(|time| time.subsec_nanos() == 0);
        let settled = if is_whole {
            SETTLED_IN_SECONDS
        } else {
            SETTLED
        };
        let age = read_at.duration_since(self.modified);
        age.is_ok_and(|age| age > settled)
    }
}

#[cfg(test)]
mod tests;
