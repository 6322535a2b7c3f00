//! The names of the threads of a process, which Windows tells thread by thread.

use std::ffi::c_void;

type Handle = *mut c_void;

/// `THREADENTRY32`.
#[repr(C)]
#[derive(Default)]
struct Entry {
    size: u32,
    usage: u32,
    thread: u32,
    process: u32,
    others: [i32; 3],
}

const ALL_THREADS: u32 = 4;
const QUERY_LIMITED_INFORMATION: u32 = 0x0800;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn CreateToolhelp32Snapshot(what: u32, process: u32) -> Handle;
    fn Thread32First(snapshot: Handle, entry: *mut Entry) -> i32;
    fn Thread32Next(snapshot: Handle, entry: *mut Entry) -> i32;
    fn OpenThread(access: u32, inherit: i32, thread: u32) -> Handle;
    fn GetThreadDescription(thread: Handle, name: *mut *mut u16) -> i32;
    fn LocalFree(memory: *mut u16) -> Handle;
    fn CloseHandle(handle: Handle) -> i32;
}

pub fn names(of: u32) -> Vec<String> {
    let mut entry = Entry {
        size: size_of::<Entry>() as u32,
        ..Entry::default()
    };
    let mut names = Vec::new();
    // SAFETY: the structure says its own size, and the handle is closed once.
    unsafe {
        let snapshot = CreateToolhelp32Snapshot(ALL_THREADS, 0);
        let mut found = Thread32First(snapshot, &raw mut entry);
        while found != 0 {
            if entry.process == of {
                names.extend(name(entry.thread));
            }
            found = Thread32Next(snapshot, &raw mut entry);
        }
        CloseHandle(snapshot);
    }
    names
}

/// None if the thread has ended.
fn name(thread: u32) -> Option<String> {
    // SAFETY: handle and memory are checked, and freed once; a name ends with zero.
    unsafe {
        let thread = OpenThread(QUERY_LIMITED_INFORMATION, 0, thread);
        if thread.is_null() {
            return None;
        }
        let mut start = std::ptr::null_mut();
        let described = GetThreadDescription(thread, &raw mut start);
        CloseHandle(thread);
        if described < 0 || start.is_null() {
            return None;
        }
        let length = (0..).take_while(|&at| *start.add(at) != 0).count();
        let name = String::from_utf16_lossy(std::slice::from_raw_parts(start, length));
        LocalFree(start);
        Some(name)
    }
}
