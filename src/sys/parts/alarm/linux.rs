//! An alarm of an eventfd, a timer on the wall clock, and an inotify watch.
#![allow(unsafe_code)]

use crate::{clock, unix};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// One thread waits, others end its wait.
///
/// On Linux this costs three file descriptors and never polls; a moment is also noticed when it passes while
/// the machine sleeps, or because the clock is set. On other systems a wait ends after a minute at the latest,
/// since neither is noticed there.
pub struct Alarm {
    event: OwnedFd,
    timer: OwnedFd,
    watch: OwnedFd,
    name: OsString,
}

/// `timerfd_settime` with times of 64 bits. 32-bit systems have it since Linux 5.1, under the same number on all
/// processors.
const SET_TIMER: libc::c_long = if cfg!(target_pointer_width = "64") {
    libc::SYS_timerfd_settime
} else {
    411
};

/// The part of an inotify event before its name; the length of the name, with padding, is at its end.
const EVENT_HEAD: usize = size_of::<libc::inotify_event>();

impl Alarm {
    /// An alarm that also watches the file `name` in `folder`, which must exist. The file need not.
    ///
    /// # Errors
    /// When the system has no descriptor or no watch left.
    pub fn new(folder: &Path, name: &OsStr) -> io::Result<Self> {
        let folder = CString::new(folder.as_os_str().as_bytes())?;
        let mask = libc::IN_MOVED_TO | libc::IN_CLOSE_WRITE | libc::IN_DELETE;
        // SAFETY: plain integers, and a path that outlives the call.
        unsafe {
            let watch = owned(libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK))?;
            if libc::inotify_add_watch(watch.as_raw_fd(), folder.as_ptr(), mask) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Alarm {
                event: owned(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?,
                timer: owned(libc::timerfd_create(
                    libc::CLOCK_REALTIME,
                    libc::TFD_CLOEXEC | libc::TFD_NONBLOCK,
                ))?,
                watch,
                name: name.to_owned(),
            })
        }
    }

    /// Ends the wait, or the next one if no thread waits.
    pub fn notify(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes that outlive the call. It fails only if the counter is full; then a notice waits.
        unsafe { libc::write(self.event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Waits until `moment`, in seconds since 1970-01-01T00:00:00Z. Returns earlier after [`notify`](Self::notify),
    /// if the clock was set, and if the file was replaced, written or removed. `None` waits for these alone.
    pub fn wait(&self, moment: Option<i64>) {
        let longest = if self.set_timer(moment) {
            Duration::MAX
        } else {
            without_timer(moment)
        };
        let begin = Instant::now();
        while begin.elapsed() < longest {
            let files = [&self.event, &self.timer, &self.watch].map(AsRawFd::as_raw_fd);
            // None of them, if a signal interrupts it.
            let [event, timer, watch] = unix::wait_any(files, longest);
            let mut number = [0; 8];
            if event {
                read(&self.event, &mut number);
            }
            if timer {
                // Fails if the clock was set, which ends the wait as well.
                read(&self.timer, &mut number);
            }
            if (watch && self.file_has_changed()) || event || timer {
                return;
            }
        }
    }

    /// Sets the timer to the moment, or stops it. A moment in the past expires at once. False if the kernel does not
    /// know the call.
    fn set_timer(&self, moment: Option<i64>) -> bool {
        let flags = libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET;
        // The interval and the moment, in seconds and nanoseconds. Zero would stop the timer. The system refuses
        // negative times and caps large ones.
        let time = [0, 0, moment.map_or(0, |moment| moment.max(1)), 0];
        let none = std::ptr::null_mut::<[i64; 4]>();
        let timer = self.timer.as_raw_fd();
        // SAFETY: four numbers that outlive the call, which writes nothing.
        unsafe { libc::syscall(SET_TIMER, timer, flags, &raw const time, none) == 0 }
    }

    /// Reads all events; returns whether one of them concerns the file, or events were lost.
    fn file_has_changed(&self) -> bool {
        let mut buffer = [0; 4096];
        let mut changed = false;
        loop {
            let count = read(&self.watch, &mut buffer);
            if count == 0 {
                return changed;
            }
            let mut rest = &buffer[..count];
            while let Some((head, after)) = rest.split_at_checked(EVENT_HEAD) {
                // The head is four 32-bit numbers: watch, mask, cookie, length of the name.
                let number = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|n| head[at + n]));
                let Some((name, next)) = after.split_at_checked(number(12) as usize) else {
                    break;
                };
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                let lost = number(4) & (libc::IN_Q_OVERFLOW | libc::IN_IGNORED) != 0;
                changed |= lost || name == self.name.as_bytes();
                rest = next;
            }
        }
    }
}

/// How long to wait for a moment without a timer: a minute at most, after which the caller looks at the clock again.
fn without_timer(moment: Option<i64>) -> Duration {
    let left = moment.map_or(i64::MAX, |moment| {
        moment.saturating_sub(clock::unix_seconds())
    });
    Duration::from_secs(left.clamp(0, 60).unsigned_abs())
}

/// Takes over a new descriptor.
///
/// # Safety
/// The number is that of an open descriptor without an owner, or negative.
unsafe fn owned(number: i32) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Reads what there is, without waiting; 0 if there is nothing.
fn read(file: &OwnedFd, buffer: &mut [u8]) -> usize {
    // SAFETY: a buffer that outlives the call.
    let count = unsafe { libc::read(file.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_timer_a_wait_has_an_end() {
        let now = clock::unix_seconds();
        for (moment, least, most) in [
            (None, 60, 60),
            (Some(i64::MAX), 60, 60),
            (Some(now + 20), 10, 20),
            (Some(now - 1), 0, 0),
            (Some(i64::MIN), 0, 0),
        ] {
            let seconds = without_timer(moment).as_secs();
            assert!((least..=most).contains(&seconds), "{moment:?} {seconds}");
        }
    }
}
