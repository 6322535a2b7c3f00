//! The version of the system, and what this process has taken of it.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::time::Duration;

/// `OSVERSIONINFOW`.
#[repr(C)]
struct Version {
    size: u32,
    major: u32,
    minor: u32,
    build: u32,
    platform: u32,
    service_pack: [u16; 128],
}

/// `PROCESS_MEMORY_COUNTERS`.
#[repr(C)]
#[derive(Default)]
struct Memory {
    size: u32,
    page_faults: u32,
    peak_working_set: usize,
    working_set: usize,
    others: [usize; 6],
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetCurrentProcess() -> *mut c_void;
    fn GetProcessTimes(
        process: *mut c_void,
        created: *mut u64,
        exited: *mut u64,
        kernel: *mut u64,
        user: *mut u64,
    ) -> i32;
    fn K32GetProcessMemoryInfo(process: *mut c_void, memory: *mut Memory, size: u32) -> i32;
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn RtlGetVersion(version: *mut Version) -> i32;
}

/// The version of Windows, such as `10.0.19045`.
pub(super) fn kernel_release() -> Option<String> {
    let mut version = Version {
        size: size_of::<Version>() as u32,
        major: 0,
        minor: 0,
        build: 0,
        platform: 0,
        service_pack: [0; 128],
    };
    // SAFETY: a place for the structure, which says its own size.
    if unsafe { RtlGetVersion(&raw mut version) } != 0 {
        return None;
    }
    let Version {
        major,
        minor,
        build,
        ..
    } = version;
    Some(format!("{major}.{minor}.{build}"))
}

/// Users have no numbers here.
pub fn effective_user() -> Option<u32> {
    None
}

/// The memory of this process in RAM, in bytes.
pub(super) fn resident() -> Option<u64> {
    let mut memory = Memory::default();
    let size = size_of::<Memory>() as u32;
    // SAFETY: a handle that is always valid, and a place for the structure with its size.
    let told = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut memory, size) };
    (told != 0).then_some(memory.working_set as u64)
}

/// The processor time of this process, of user and system.
pub(super) fn cpu_time() -> Option<Duration> {
    let [mut created, mut exited, mut kernel, mut user] = [0; 4];
    // SAFETY: a handle that is always valid, and four places for times in units of 100 nanoseconds.
    let told = unsafe {
        let (created, exited) = (&raw mut created, &raw mut exited);
        let (kernel, user) = (&raw mut kernel, &raw mut user);
        GetProcessTimes(GetCurrentProcess(), created, exited, kernel, user)
    };
    (told != 0).then(|| Duration::from_micros((kernel + user) / 10))
}
