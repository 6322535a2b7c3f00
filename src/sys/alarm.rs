//! Waiting until a moment of the wall clock, or until another thread, a change of the clock or a changed file
//! ends the wait.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
use super::unix::AlarmFiles;
#[cfg(not(target_os = "linux"))]
use waiting::AlarmFiles;

/// One thread waits, others end its wait.
///
/// On Linux this costs three file descriptors and never polls; a moment is also noticed when it passes while
/// the machine sleeps, or because the clock is set. On other systems a wait ends after a minute at the latest,
/// since neither is noticed there.
pub struct Alarm(AlarmFiles);

impl Alarm {
    /// An alarm that also watches the file `name` in `folder`, which must exist. The file need not.
    ///
    /// # Errors
    /// When the system has no descriptor or no watch left.
    pub fn new(folder: &Path, name: &OsStr) -> io::Result<Self> {
        AlarmFiles::new(folder, name).map(Alarm)
    }

    /// Ends the wait, or the next one if no thread waits.
    pub fn notify(&self) {
        self.0.notify();
    }

    /// Waits until `moment`, in seconds since 1970-01-01T00:00:00Z. Returns earlier after [`notify`](Self::notify),
    /// if the clock was set, and if the file was replaced, written or removed. `None` waits for these alone.
    pub fn wait(&self, moment: Option<i64>) {
        self.0.wait(moment);
    }
}

#[cfg(not(target_os = "linux"))]
mod waiting {
    use crate::{clock, lock};
    use std::ffi::OsStr;
    use std::io;
    use std::path::Path;
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::Duration;

    const LONGEST: Duration = Duration::from_secs(60);

    #[derive(Default)]
    pub(super) struct AlarmFiles {
        notified: Mutex<bool>,
        condition: Condvar,
    }

    impl AlarmFiles {
        pub(super) fn new(_: &Path, _: &OsStr) -> io::Result<Self> {
            Ok(Self::default())
        }

        pub(super) fn notify(&self) {
            *lock(&self.notified) = true;
            self.condition.notify_one();
        }

        pub(super) fn wait(&self, moment: Option<i64>) {
            let left = moment.map_or(i64::MAX, |moment| moment - clock::unix_seconds());
            let left = Duration::from_secs(left.max(0) as u64).min(LONGEST);
            let waiting = lock(&self.notified);
            let ended = self
                .condition
                .wait_timeout_while(waiting, left, |notified| !*notified);
            *ended.unwrap_or_else(PoisonError::into_inner).0 = false;
        }
    }
}

#[cfg(test)]
mod tests;
