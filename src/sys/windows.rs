//! The system calls behind this layer on Windows. Most `unsafe` here is a system call with open handles and plain
//! integers, or with data that the caller owns and for which zero is valid. Two parts need more care: `transfer` lends
//! memory to the system until an operation has ended, and `take_variable` changes the environment while there is one
//! thread.
#![allow(unsafe_code)]
// Without the parts some of it has no caller; the linker leaves that out.
#![cfg_attr(not(feature = "parts"), allow(dead_code, unused_imports))]

pub(crate) mod access_list;
mod console;
mod ffi;
mod file_calls;
pub(crate) mod file_streams;
pub(crate) mod files;
pub(crate) mod job;
pub mod path_text;
pub(crate) mod programs;
pub(crate) mod transfer;
pub(crate) mod wait;

pub(crate) use console::terminate_self;
pub use console::{
    HANG_UP, block_signals, reset_inherited_signals, wait_signal, wait_signal_timeout,
};

use std::io;
use std::os::windows::io::RawHandle;
use std::ptr;

/// The policy of commands that are given no other. Only administrators write in this folder.
pub const SYSTEM_POLICY: &str = r"C:\Program Files\gosling\policy.yaml";

/// Whether a system call has succeeded that returned this.
fn checked(result: ffi::Bool) -> io::Result<()> {
    match result {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Ends the operations of all threads that are under way at an open handle.
pub(crate) fn cancel_operations(handle: RawHandle) {
    // SAFETY: a system call with a handle; the memory of an operation is that of the thread that waits for it.
    unsafe { ffi::CancelIoEx(handle, ptr::null_mut()) };
}

/// Keeps an open handle, or one of none, from the children that start from now on.
pub(crate) fn keep_handle(handle: RawHandle) {
    // SAFETY: the call changes a flag of the handle, which its owner does not use. It fails for one that is not open.
    unsafe { ffi::SetHandleInformation(handle, ffi::HANDLE_FLAG_INHERIT, 0) };
}

/// Does nothing: another process of the same user can read the memory of this one.
pub fn protect_memory() {}

/// Does nothing: the allocator of this system has no arenas.
pub fn limit_allocator_arenas() {}

/// The memory of the system in bytes, if it tells.
pub fn system_memory() -> Option<u64> {
    let mut status = ffi::MemoryStatus {
        length: size_of::<ffi::MemoryStatus>() as u32,
        ..Default::default()
    };
    // SAFETY: a place for the structure, which says its own size.
    checked(unsafe { ffi::GlobalMemoryStatusEx(&raw mut status) }).ok()?;
    Some(status.total_physical)
}

/// No limits of this process are known.
pub(super) fn own_memory_limits() -> [u64; 0] {
    []
}

/// No process becomes the parent of others' children here: a no-op.
///
/// # Errors
/// Never.
pub fn own_all_children() -> io::Result<()> {
    Ok(())
}

/// No limit of descriptors is known.
pub(super) fn descriptor_limit() -> u64 {
    u64::MAX
}

/// Whether a variable may be removed: always, as the system guards its environment against other threads.
pub(super) fn is_only_thread() -> bool {
    true
}

/// Removes a variable. Called where [`is_only_thread`] has just said so.
pub(super) fn erase_variable(name: &str) {
    // SAFETY: on Windows this is sound with other threads, too.
    unsafe { std::env::remove_var(name) };
}

/// Does nothing: the system takes unused pages back by itself.
pub(super) fn trim_arenas() {}

/// As [`trim_arenas`].
pub(super) fn unmap_code() {}

#[cfg(test)]
mod tests;
