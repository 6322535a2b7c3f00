//! Windows: events of the console instead of signals, jobs, and processes by a snapshot of the system.

use super::super::process::{Proc, descendants};
use std::ffi::{OsString, c_char, c_void};
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::{symlink_dir, symlink_file};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{mem, ptr};

type Handle = *mut c_void;

/// `PROCESSENTRY32W`.
#[repr(C)]
struct ProcessEntry {
    size: u32,
    usage: u32,
    pid: u32,
    heap: usize,
    module: u32,
    threads: u32,
    parent: u32,
    priority: i32,
    flags: u32,
    file: [u16; 260],
}

/// `PROCESS_MEMORY_COUNTERS`.
#[repr(C)]
#[derive(Default)]
struct MemoryCounters {
    size: u32,
    page_faults: u32,
    peak_working_set: usize,
    working_set: usize,
    others: [usize; 6],
}

/// `JOBOBJECT_EXTENDED_LIMIT_INFORMATION`, in words: the flags are in the third.
type JobLimits = [u64; 18];

#[link(name = "kernel32")]
unsafe extern "system" {
    fn CreateToolhelp32Snapshot(flags: u32, pid: u32) -> Handle;
    fn Process32FirstW(snapshot: Handle, entry: *mut ProcessEntry) -> i32;
    fn Process32NextW(snapshot: Handle, entry: *mut ProcessEntry) -> i32;
    fn OpenProcess(access: u32, inherit: i32, pid: u32) -> Handle;
    fn GetProcessTimes(
        process: Handle,
        created: *mut u64,
        exited: *mut u64,
        kernel: *mut u64,
        user: *mut u64,
    ) -> i32;
    fn GetExitCodeProcess(process: Handle, code: *mut u32) -> i32;
    fn GetProcessHandleCount(process: Handle, count: *mut u32) -> i32;
    fn K32GetProcessMemoryInfo(process: Handle, counters: *mut MemoryCounters, size: u32) -> i32;
    fn TerminateProcess(process: Handle, code: u32) -> i32;
    fn GetModuleHandleA(name: *const c_char) -> Handle;
    fn GetProcAddress(module: Handle, name: *const c_char) -> Option<unsafe extern "system" fn()>;
    fn CreateRemoteThread(
        process: Handle,
        attributes: *const c_void,
        stack: usize,
        start: Option<unsafe extern "system" fn()>,
        argument: usize,
        flags: u32,
        id: *mut u32,
    ) -> Handle;
    fn CreateJobObjectW(attributes: *const c_void, name: *const u16) -> Handle;
    fn SetInformationJobObject(job: Handle, class: i32, data: *const c_void, size: u32) -> i32;
    fn AssignProcessToJobObject(job: Handle, process: Handle) -> i32;
    fn GetCurrentProcess() -> Handle;
}

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtSuspendProcess(process: Handle) -> i32;
    fn NtResumeProcess(process: Handle) -> i32;
    fn NtQueryInformationProcess(
        process: Handle,
        class: i32,
        data: *mut c_void,
        size: u32,
        told: *mut u32,
    ) -> i32;
}

/// A folder that every machine has.
pub const ROOT: &str = r"C:\";
/// The variable that names the home folder.
pub const HOME: &str = "USERPROFILE";
/// How std calls the end of a process by itself.
pub(super) const EXIT_STATUS: &str = "exit code";

/// `PROCESS_ALL_ACCESS`.
const ALL_ACCESS: u32 = 0x1f_ffff;
const STILL_RUNS: u32 = 259;
/// The exit code of a process that is killed.
const KILLED: u32 = 9;

/// A program starts as it is.
pub fn prepare(_: &mut Command) {}

/// A server starts in one way only.
#[derive(Clone, Default)]
pub struct StartOptions {}

impl StartOptions {
    pub fn reports(&self) -> bool {
        true
    }

    pub fn apply(&self, command: &mut Command) {
        command.stdin(Stdio::null());
    }
}

fn owned(handle: Handle) -> Option<OwnedHandle> {
    // SAFETY: a new handle that no other value owns, unless it is null.
    (!handle.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn open(pid: u32) -> Option<OwnedHandle> {
    // SAFETY: plain integers.
    owned(unsafe { OpenProcess(ALL_ACCESS, 0, pid) })
}

/// When a living process started.
pub fn birth(pid: u32) -> Option<u64> {
    let process = open(pid)?;
    let (mut code, mut times) = (0, [0; 4]);
    let [created, exited, kernel, user] = &mut times;
    let raw = process.as_raw_handle();
    // SAFETY: an open handle, and places for what is told.
    let told = unsafe {
        GetExitCodeProcess(raw, &mut code) != 0
            && GetProcessTimes(raw, created, exited, kernel, user) != 0
    };
    (told && code == STILL_RUNS).then_some(times[0])
}

fn entries() -> Vec<ProcessEntry> {
    const PROCESSES: u32 = 2;
    let mut all = Vec::new();
    // SAFETY: plain integers; zero is valid for each field; the structure says its own size.
    unsafe {
        let Some(snapshot) = owned(CreateToolhelp32Snapshot(PROCESSES, 0)) else {
            return all;
        };
        let mut next: unsafe extern "system" fn(_, _) -> _ = Process32FirstW;
        loop {
            let mut entry: ProcessEntry = mem::zeroed();
            entry.size = size_of::<ProcessEntry>() as u32;
            if next(snapshot.as_raw_handle(), &mut entry) == 0 {
                return all;
            }
            all.push(entry);
            next = Process32NextW;
        }
    }
}

fn text(units: &[u16]) -> String {
    let end = units.iter().position(|unit| *unit == 0);
    let units = &units[..end.unwrap_or(units.len())];
    OsString::from_wide(units).to_string_lossy().into_owned()
}

pub fn name(pid: u32) -> String {
    let entry = entries().into_iter().find(|entry| entry.pid == pid);
    entry.map(|entry| text(&entry.file)).unwrap_or_default()
}

/// All living processes, each with its parent, but those that the system adds to a program for its console.
pub fn processes() -> Vec<(u32, Proc)> {
    let of_programs = entries()
        .into_iter()
        .filter(|entry| !text(&entry.file).eq_ignore_ascii_case("conhost.exe"));
    let living = of_programs.filter_map(|entry| {
        let born = birth(entry.pid)?;
        Some((
            entry.parent,
            Proc {
                pid: entry.pid,
                born,
            },
        ))
    });
    living.collect()
}

/// Whether this word is among a process's arguments, which are not quoted for it.
pub fn has_argument(pid: u32, word: &str) -> bool {
    const COMMAND_LINE: i32 = 60;
    // `UNICODE_STRING`, then the text.
    let mut data = vec![0u64; 8 << 10];
    let size = (data.len() * size_of::<u64>()) as u32;
    let Some(process) = open(pid) else {
        return false;
    };
    // SAFETY: an open handle and a place of this size.
    let status = unsafe {
        let (raw, place) = (process.as_raw_handle(), data.as_mut_ptr().cast());
        NtQueryInformationProcess(raw, COMMAND_LINE, place, size, &mut 0)
    };
    let bytes = (data[0] & 0xffff) as usize;
    let units = data[2..].iter().flat_map(|word| {
        let halves = [0, 16, 32, 48];
        halves.map(|shift| (word >> shift) as u16)
    });
    let units: Vec<u16> = units.take(bytes / 2).collect();
    status >= 0
        && text(&units)
            .split([' ', '"'])
            .any(|argument| argument == word)
}

/// No guardian is needed: jobs do its work.
pub const GUARDIAN: &str = "goslingguardian";

/// The resources of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct Census {
    pub threads: usize,
    /// Handles; none under Wine, which does not tell.
    pub fds: usize,
    pub descendants: usize,
}

pub fn census(of: u32) -> Census {
    let entry = entries().into_iter().find(|entry| entry.pid == of);
    let process = open(of).expect("the process lives");
    let mut handles = 0;
    // SAFETY: an open handle and a place for what is told.
    unsafe { GetProcessHandleCount(process.as_raw_handle(), &mut handles) };
    Census {
        threads: entry.expect("the process lives").threads as usize,
        fds: handles as usize,
        descendants: descendants(of).len(),
    }
}

/// The names of threads and what the handles are, for the message of a test that fails, are not known here.
pub fn inventory(of: u32) -> String {
    format!("{:?}", census(of))
}

/// What is `VmRSS` or `VmHWM` on Linux, in bytes.
pub fn memory(of: u32, field: &str) -> usize {
    let process = open(of).expect("the process lives");
    let mut counters = MemoryCounters::default();
    let size = size_of::<MemoryCounters>() as u32;
    counters.size = size;
    // SAFETY: an open handle, and a place for the structure, which says its own size.
    let told = unsafe { K32GetProcessMemoryInfo(process.as_raw_handle(), &mut counters, size) };
    assert_ne!(told, 0, "a size");
    match field {
        "VmHWM" => counters.peak_working_set,
        _ => counters.working_set,
    }
}

/// Sends what corresponds to a signal: `INT` to Ctrl-C, `TERM` to the end of the console, `KILL` to the end.
pub fn signal(pid: u32, name: &str) {
    let Some(process) = open(pid) else {
        return;
    };
    let event = match name {
        "INT" => 0,
        "TERM" => 2,
        "KILL" => {
            // SAFETY: an open handle.
            unsafe { TerminateProcess(process.as_raw_handle(), KILLED) };
            return;
        }
        "STOP" | "CONT" => {
            let act = if name == "STOP" {
                NtSuspendProcess
            } else {
                NtResumeProcess
            };
            // SAFETY: an open handle.
            unsafe { act(process.as_raw_handle()) };
            return;
        }
        _ => panic!("Windows has no {name}"),
    };
    // A test has no console in common with the server, so it runs what the console would run there: this function is
    // at the same place in each process.
    // SAFETY: names that end with 0, an open handle, and a function that takes an event.
    unsafe {
        let module = GetModuleHandleA(c"kernelbase".as_ptr());
        let routine = GetProcAddress(module, c"CtrlRoutine".as_ptr());
        assert!(routine.is_some(), "no CtrlRoutine");
        let raw = process.as_raw_handle();
        owned(CreateRemoteThread(
            raw,
            ptr::null(),
            0,
            routine,
            event,
            0,
            &mut 0,
        ));
    }
}

/// At the end of this process, however it comes about, the system ends the servers that it has started. Its folders
/// stay then.
pub fn clean_up_at_end(_: &Path) {
    const LIMITS: i32 = 9;
    const KILL_ON_CLOSE: u64 = 0x2000;
    let mut limits: JobLimits = [0; 18];
    limits[2] = KILL_ON_CLOSE;
    // SAFETY: neither attributes nor a name, a structure with its size, and this process. The only handle of the job is
    // closed by the end of this process.
    let done = unsafe {
        let job = CreateJobObjectW(ptr::null(), ptr::null());
        let size = size_of::<JobLimits>() as u32;
        SetInformationJobObject(job, LIMITS, limits.as_ptr().cast(), size) != 0
            && AssignProcessToJobObject(job, GetCurrentProcess()) != 0
    };
    assert!(done, "no job: {}", io::Error::last_os_error());
}

/// A file has the permissions that its folder gives it.
pub fn set_mode(_: impl AsRef<Path>, _: u32) {}

/// There are no permissions of that kind.
pub fn mode(_: impl AsRef<Path>) -> Option<u32> {
    None
}

/// A symbolic link, which the user may need a privilege for.
pub fn symlink(to: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (to, link) = (to.as_ref(), link.as_ref());
    match link.parent().is_some_and(|folder| folder.join(to).is_dir()) {
        true => symlink_dir(to, link),
        false => symlink_file(to, link),
    }?;
    match link.is_symlink() {
        true => Ok(()),
        // Wine says that it has made one.
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The path without links, as gosling shows it.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = std::fs::canonicalize(path)?;
    let text = path.to_str().expect("a Unicode path");
    Ok(text.strip_prefix(r"\\?\").unwrap_or(text).into())
}

/// There is no such user.
pub fn is_root() -> bool {
    false
}
