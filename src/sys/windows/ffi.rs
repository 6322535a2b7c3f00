//! The declarations of the system calls, as Microsoft documents them, with the types of `windows.h`.

use std::ffi::c_void;

pub(super) type Handle = *mut c_void;
/// Zero is false.
pub(super) type Bool = i32;

/// `INFINITE` of waits, in milliseconds.
pub(super) const FOREVER: u32 = u32::MAX;
pub(super) const WAIT_TIMEOUT: u32 = 258;
pub(super) const WAIT_FAILED: u32 = u32::MAX;
pub(super) const ERROR_LOCK_VIOLATION: i32 = 33;
pub(super) const ERROR_BROKEN_PIPE: i32 = 109;
pub(super) const ERROR_OPERATION_ABORTED: i32 = 995;
pub(super) const ERROR_IO_INCOMPLETE: i32 = 996;
pub(super) const ERROR_IO_PENDING: i32 = 997;
/// `STD_INPUT_HANDLE`, `STD_OUTPUT_HANDLE` and `STD_ERROR_HANDLE`.
pub(super) const STANDARD_HANDLES: [u32; 3] = [-10_i32 as u32, -11_i32 as u32, -12_i32 as u32];
pub(super) const HANDLE_FLAG_INHERIT: u32 = 1;
pub(super) const FILE_TYPE_DISK: u32 = 1;
pub(super) const INVALID_HANDLE: Handle = -1_isize as Handle;
pub(super) const LOCK_AT_ONCE: u32 = 1;
pub(super) const LOCK_EXCLUSIVE: u32 = 2;
pub(super) const FILE_TYPE_PIPE: u32 = 3;

/// The state of an operation under way. The system writes to it until the operation has ended.
#[repr(C)]
pub(super) struct Overlapped {
    pub(super) internal: usize,
    pub(super) internal_high: usize,
    pub(super) offset: u32,
    pub(super) offset_high: u32,
    pub(super) event: Handle,
}

/// `JOBOBJECT_BASIC_ACCOUNTING_INFORMATION`, the class 1.
#[repr(C)]
#[derive(Default)]
pub(super) struct JobAccounting {
    pub(super) times: [i64; 4],
    pub(super) page_faults: u32,
    pub(super) processes: u32,
    pub(super) active_processes: u32,
    pub(super) terminated_processes: u32,
}
pub(super) const JOB_ACCOUNTING: i32 = 1;

/// `JOBOBJECT_EXTENDED_LIMIT_INFORMATION`, the class 9.
#[repr(C)]
#[derive(Default)]
pub(super) struct JobLimits {
    pub(super) process_time: i64,
    pub(super) job_time: i64,
    pub(super) flags: u32,
    pub(super) least_working_set: usize,
    pub(super) most_working_set: usize,
    pub(super) active_processes: u32,
    pub(super) affinity: usize,
    pub(super) priority_class: u32,
    pub(super) scheduling_class: u32,
    pub(super) io_counters: [u64; 6],
    pub(super) process_memory: usize,
    pub(super) job_memory: usize,
    pub(super) peak_process_memory: usize,
    pub(super) peak_job_memory: usize,
}
pub(super) const JOB_LIMITS: i32 = 9;
/// The processes of a job end when its last handle is closed.
pub(super) const KILL_ON_JOB_CLOSE: u32 = 0x2000;

/// `MEMORYSTATUSEX`.
#[repr(C)]
#[derive(Default)]
pub(super) struct MemoryStatus {
    pub(super) length: u32,
    pub(super) load: u32,
    pub(super) total_physical: u64,
    pub(super) others: [u64; 6],
}

/// `BY_HANDLE_FILE_INFORMATION`.
#[repr(C)]
#[derive(Default)]
pub(super) struct FileState {
    pub(super) attributes: u32,
    pub(super) times: [u32; 6],
    pub(super) volume: u32,
    pub(super) size: [u32; 2],
    pub(super) links: u32,
    pub(super) number_high: u32,
    pub(super) number_low: u32,
}

#[link(name = "kernel32")]
unsafe extern "system" {
    pub(super) fn CreateEventW(
        attributes: *const c_void,
        manual_reset: Bool,
        initially_set: Bool,
        name: *const u16,
    ) -> Handle;
    pub(super) fn SetEvent(event: Handle) -> Bool;
    pub(super) fn WaitForMultipleObjects(
        count: u32,
        handles: *const Handle,
        all: Bool,
        milliseconds: u32,
    ) -> u32;
    pub(super) fn ReadFile(
        file: Handle,
        buffer: *mut u8,
        len: u32,
        read: *mut u32,
        overlapped: *mut Overlapped,
    ) -> Bool;
    pub(super) fn WriteFile(
        file: Handle,
        buffer: *const u8,
        len: u32,
        written: *mut u32,
        overlapped: *mut Overlapped,
    ) -> Bool;
    pub(super) fn GetOverlappedResult(
        file: Handle,
        overlapped: *mut Overlapped,
        transferred: *mut u32,
        wait: Bool,
    ) -> Bool;
    pub(super) fn CancelIoEx(file: Handle, overlapped: *mut Overlapped) -> Bool;
    pub(super) fn CreateJobObjectW(attributes: *const c_void, name: *const u16) -> Handle;
    pub(super) fn SetInformationJobObject(
        job: Handle,
        class: i32,
        information: *const c_void,
        len: u32,
    ) -> Bool;
    pub(super) fn QueryInformationJobObject(
        job: Handle,
        class: i32,
        information: *mut c_void,
        len: u32,
        returned: *mut u32,
    ) -> Bool;
    pub(super) fn AssignProcessToJobObject(job: Handle, process: Handle) -> Bool;
    pub(super) fn TerminateJobObject(job: Handle, code: u32) -> Bool;
    pub(super) fn SetConsoleCtrlHandler(
        handler: Option<unsafe extern "system" fn(u32) -> Bool>,
        add: Bool,
    ) -> Bool;
    pub(super) fn ReOpenFile(file: Handle, access: u32, share: u32, flags: u32) -> Handle;
    pub(super) fn LockFileEx(
        file: Handle,
        flags: u32,
        reserved: u32,
        len: u32,
        len_high: u32,
        place: *mut Overlapped,
    ) -> Bool;
    pub(super) fn UnlockFileEx(
        file: Handle,
        reserved: u32,
        len: u32,
        len_high: u32,
        place: *mut Overlapped,
    ) -> Bool;
    pub(super) fn GetStdHandle(number: u32) -> Handle;
    pub(super) fn SetHandleInformation(handle: Handle, mask: u32, flags: u32) -> Bool;
    pub(super) fn ProcessIdToSessionId(pid: u32, session: *mut u32) -> Bool;
    pub(super) fn GetFileInformationByHandle(file: Handle, state: *mut FileState) -> Bool;
    pub(super) fn GetFileType(file: Handle) -> u32;
    pub(super) fn GlobalMemoryStatusEx(status: *mut MemoryStatus) -> Bool;
}

#[link(name = "kernel32")]
unsafe extern "system" {
    pub(super) fn GetFileInformationByHandleEx(
        file: Handle,
        class: i32,
        information: *mut c_void,
        len: u32,
    ) -> Bool;
}

#[link(name = "advapi32")]
unsafe extern "system" {
    pub(super) fn GetKernelObjectSecurity(
        object: Handle,
        wanted: u32,
        descriptor: *mut c_void,
        len: u32,
        needed: *mut u32,
    ) -> Bool;
    pub(super) fn SetKernelObjectSecurity(
        object: Handle,
        wanted: u32,
        descriptor: *const c_void,
    ) -> Bool;
}

#[link(name = "ntdll")]
unsafe extern "system" {
    /// Continues all threads of a process that was created suspended.
    pub(super) fn NtResumeProcess(process: Handle) -> i32;
}
