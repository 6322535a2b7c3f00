//! Job objects: a child with all its descendants.

use super::ffi::{self, JobAccounting, JobLimits};
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

/// The exit code of processes that are ended.
const ENDED: u32 = 1;
/// The interval of the wait for the end of all processes.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A job. When its only handle is closed, at the latest by the end of this process however that comes about, the
/// system ends its processes. None can leave it, but what it starts can be made another process's child.
pub(crate) struct Job(OwnedHandle);

impl Job {
    /// A job without processes.
    ///
    /// # Errors
    /// When the system has no memory left.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: neither attributes nor a name; a handle that is not null is ours.
        let handle = unsafe {
            let handle = ffi::CreateJobObjectW(ptr::null(), ptr::null());
            if handle.is_null() {
                return Err(io::Error::last_os_error());
            }
            OwnedHandle::from_raw_handle(handle)
        };
        let limits = JobLimits {
            flags: ffi::KILL_ON_JOB_CLOSE,
            ..JobLimits::default()
        };
        // SAFETY: an open handle, and the structure of this class with its size.
        super::checked(unsafe {
            let (place, len) = (&raw const limits, size_of::<JobLimits>() as u32);
            let raw = handle.as_raw_handle();
            ffi::SetInformationJobObject(raw, ffi::JOB_LIMITS, place.cast(), len)
        })?;
        Ok(Job(handle))
    }

    /// Takes a process that was created suspended, and lets it run.
    ///
    /// # Errors
    /// When the system refuses; the process is still suspended then.
    pub(crate) fn start(&self, process: BorrowedHandle<'_>) -> io::Result<()> {
        let process = process.as_raw_handle();
        // SAFETY: two open handles.
        super::checked(unsafe { ffi::AssignProcessToJobObject(self.raw(), process) })?;
        // SAFETY: an open handle.
        match unsafe { ffi::NtResumeProcess(process) } {
            0.. => Ok(()),
            status => Err(io::Error::other(format!(
                "it cannot be resumed: status {status:#x}"
            ))),
        }
    }

    /// Whether a process of the job runs.
    pub(crate) fn is_active(&self) -> bool {
        let mut accounting = JobAccounting::default();
        // SAFETY: an open handle, and a place for the structure of this class with its size.
        let told = super::checked(unsafe {
            let (place, len) = (&raw mut accounting, size_of::<JobAccounting>() as u32);
            let class = ffi::JOB_ACCOUNTING;
            ffi::QueryInformationJobObject(self.raw(), class, place.cast(), len, ptr::null_mut())
        });
        told.is_err() || accounting.active_processes > 0
    }

    /// Ends all processes of the job, and waits until they have ended or the limit passes.
    pub(crate) fn end(&self, limit: Duration) {
        // SAFETY: an open handle.
        unsafe { ffi::TerminateJobObject(self.raw(), ENDED) };
        let begin = Instant::now();
        while self.is_active() {
            if begin.elapsed() >= limit {
                log::warn!("descendants of an extension's server do not end");
                return;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn raw(&self) -> ffi::Handle {
        self.0.as_raw_handle()
    }
}
