//! Events, and waits for several handles.

use super::ffi;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::ptr;
use std::thread;
use std::time::Duration;

/// An event that stays set until an operation that uses it begins.
pub(crate) struct Event(OwnedHandle);

impl Event {
    /// An event that is not set.
    ///
    /// # Errors
    /// When the system has no memory left.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: neither attributes nor a name; a handle that is not null is ours.
        unsafe {
            let handle = ffi::CreateEventW(ptr::null(), 1, 0, ptr::null());
            if handle.is_null() {
                return Err(io::Error::last_os_error());
            }
            Ok(Event(OwnedHandle::from_raw_handle(handle)))
        }
    }

    /// Wakes all that wait for it.
    pub(crate) fn set(&self) {
        // SAFETY: the handle is open as long as `self` is borrowed.
        unsafe { ffi::SetEvent(self.raw()) };
    }

    pub(crate) fn handle(&self) -> BorrowedHandle<'_> {
        std::os::windows::io::AsHandle::as_handle(&self.0)
    }

    pub(super) fn raw(&self) -> ffi::Handle {
        self.0.as_raw_handle()
    }
}

/// The shortest wait that fails, so that a caller that waits again does not spin.
const FAILED_WAIT: Duration = Duration::from_millis(10);

/// Waits until an event is set or a process has ended; true if that is so, and false when the limit passes first. At
/// most 64 handles; without any it waits for the limit. False, after a short while, for a handle that cannot be waited
/// for.
pub(crate) fn wait_any(handles: &[BorrowedHandle<'_>], limit: Duration) -> bool {
    if handles.is_empty() {
        thread::sleep(limit);
        return false;
    }
    let handles: Vec<_> = handles.iter().map(AsRawHandle::as_raw_handle).collect();
    // SAFETY: open handles, as many as `len` says.
    let result = unsafe {
        let len = handles.len() as u32;
        ffi::WaitForMultipleObjects(len, handles.as_ptr(), 0, milliseconds(limit))
    };
    if result == ffi::WAIT_FAILED {
        log::warn!("cannot wait for a handle: {}", io::Error::last_os_error());
        thread::sleep(FAILED_WAIT.min(limit));
    }
    // Everything else is an index.
    ![ffi::WAIT_TIMEOUT, ffi::WAIT_FAILED].contains(&result)
}

/// Rounded up, so that a wait does not end too early.
fn milliseconds(limit: Duration) -> u32 {
    let millis = limit.as_nanos().div_ceil(1_000_000);
    u32::try_from(millis).unwrap_or(ffi::FOREVER)
}
