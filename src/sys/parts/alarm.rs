//! Waiting until a moment of the wall clock, or until another thread, a change of the clock or a changed file
//! ends the wait.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::Alarm;
#[cfg(not(target_os = "linux"))]
pub use waiting::Alarm;

#[cfg(not(target_os = "linux"))]
mod waiting {
    use crate::fs::Stamp;
    use crate::{clock, lock};
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::Duration;
    use std::{fs, io};

    /// How often a wait looks at the clock and the file: this system does not tell that one was set or the other has
    /// changed.
    const POLL_INTERVAL: Duration = Duration::from_secs(1);

    /// One thread waits, others end its wait.
    pub struct Alarm {
        file: PathBuf,
        /// The state of the file at the end of the last wait.
        seen: Mutex<Option<Stamp>>,
        notified: Mutex<bool>,
        condition: Condvar,
    }

    impl Alarm {
        /// An alarm. The file of this name in the folder may not exist.
        ///
        /// # Errors
        /// Never here.
        pub fn new(folder: &Path, name: &OsStr) -> io::Result<Self> {
            let file = folder.join(name);
            Ok(Alarm {
                seen: Mutex::new(stamp(&file)),
                file,
                notified: Mutex::default(),
                condition: Condvar::new(),
            })
        }

        /// Ends the wait, or the next one if no thread waits.
        pub fn notify(&self) {
            *lock(&self.notified) = true;
            self.condition.notify_one();
        }

        /// Waits until `moment`, in seconds since 1970-01-01T00:00:00Z, for a [`notify`](Self::notify), or for a change
        /// of the file.
        pub fn wait(&self, moment: Option<i64>) {
            loop {
                let left = moment.map_or(i64::MAX, |moment| {
                    moment.saturating_sub(clock::unix_seconds())
                });
                let pause = Duration::from_secs(left.max(0) as u64).min(POLL_INTERVAL);
                let waiting = lock(&self.notified);
                let ended = self
                    .condition
                    .wait_timeout_while(waiting, pause, |notified| !*notified);
                let notified =
                    std::mem::take(&mut *ended.unwrap_or_else(PoisonError::into_inner).0);
                let now = stamp(&self.file);
                let before = std::mem::replace(&mut *lock(&self.seen), now);
                if notified || left <= 0 || now != before {
                    return;
                }
            }
        }
    }

    fn stamp(file: &Path) -> Option<Stamp> {
        Stamp::of(&fs::metadata(file).ok()?).ok()
    }
}

#[cfg(test)]
mod tests;
