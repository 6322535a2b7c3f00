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
    use crate::{clock, lock};
    use std::ffi::OsStr;
    use std::io;
    use std::path::Path;
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::Duration;

    const LONGEST: Duration = Duration::from_secs(60);

    /// One thread waits, others end its wait. A wait ends after a minute at the latest, since this system does not
    /// tell that the clock was set or a file has changed.
    #[derive(Default)]
    pub struct Alarm {
        notified: Mutex<bool>,
        condition: Condvar,
    }

    impl Alarm {
        /// An alarm.
        ///
        /// # Errors
        /// Never here.
        pub fn new(_: &Path, _: &OsStr) -> io::Result<Self> {
            Ok(Self::default())
        }

        /// Ends the wait, or the next one if no thread waits.
        pub fn notify(&self) {
            *lock(&self.notified) = true;
            self.condition.notify_one();
        }

        /// Waits until `moment`, in seconds since 1970-01-01T00:00:00Z, or for a [`notify`](Self::notify).
        pub fn wait(&self, moment: Option<i64>) {
            let left = moment.map_or(i64::MAX, |moment| {
                moment.saturating_sub(clock::unix_seconds())
            });
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
