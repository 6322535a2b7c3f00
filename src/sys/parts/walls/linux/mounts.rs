//! A view of the mounts in which everything is read-only but what a child may change. Landlock does not cover mode,
//! owner and times; this does. mount_namespaces(7), user_namespaces(7), mount_setattr(2).

use crate::parts::walls::Mounts;
use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

const RECURSIVE: libc::c_uint = 0x8000;
const READ_ONLY: u64 = 1;

#[repr(C)]
#[derive(Default)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// A view that a child can enter.
pub(super) struct View {
    kind: Mounts,
    /// How the user and the group are called inside: as outside.
    maps: [CString; 2],
    writable: Vec<CString>,
}

/// What this process can give a child, found by trying it in one.
pub(super) fn offer() -> Option<Mounts> {
    let kinds = [Mounts::Own, Mounts::WithUsers];
    kinds.into_iter().find(|kind| {
        let view = View::new(*kind, &[]);
        view.and_then(|view| view.can_be_entered()).unwrap_or(false)
    })
}

impl View {
    pub(super) fn new(kind: Mounts, writable: &[PathBuf]) -> io::Result<View> {
        // SAFETY: system calls without arguments.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let map = |id: u32| CString::new(format!("{id} {id} 1"));
        let writable = writable.iter().filter(|path| path.exists());
        let writable = writable.map(|path| CString::new(path.as_os_str().as_bytes()));
        Ok(View {
            kind,
            maps: [map(user)?, map(group)?],
            writable: writable.collect::<Result<_, _>>()?,
        })
    }

    fn can_be_entered(&self) -> io::Result<bool> {
        let (mut told, report) = io::pipe()?;
        let fd = report.as_raw_fd();
        // SAFETY: the child makes system calls alone, and ends.
        let pid = unsafe {
            let pid = libc::fork();
            if pid == 0 {
                let answer = u8::from(self.enter());
                libc::write(fd, (&raw const answer).cast(), 1);
                libc::_exit(0);
            }
            pid
        };
        drop(report);
        if pid == -1 {
            return Err(io::Error::last_os_error());
        }
        let mut answer = [0];
        let read = told.read_exact(&mut answer);
        // SAFETY: a system call with plain integers, about a child that ends.
        unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
        read.map(|()| answer == [1])
    }

    /// Enters the view; false if a step failed.
    ///
    /// # Safety
    /// Only in a process that has just been forked.
    pub(super) unsafe fn enter(&self) -> bool {
        // SAFETY: system calls with strings that end in NUL and data on the stack.
        unsafe {
            let users = match self.kind {
                Mounts::Own => 0,
                Mounts::WithUsers => libc::CLONE_NEWUSER,
            };
            if libc::unshare(libc::CLONE_NEWNS | users) == -1 {
                return false;
            }
            if users != 0 {
                // Else the files in its folder of /proc are root's.
                libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
                let [user, group] = &self.maps;
                let maps = [
                    (c"/proc/self/setgroups", c"deny"),
                    (c"/proc/self/uid_map", user.as_c_str()),
                    (c"/proc/self/gid_map", group.as_c_str()),
                ];
                if !maps.iter().all(|(file, text)| write_to(file, text)) {
                    return false;
                }
            }
            let private = libc::MS_REC | libc::MS_PRIVATE;
            if mount(None, c"/", private) == -1 {
                return false;
            }
            // What it may change becomes a mount of its own before the rest is closed.
            for path in &self.writable {
                if mount(Some(path), path, libc::MS_BIND | libc::MS_REC) == -1 {
                    return false;
                }
            }
            let close = MountAttributes {
                set: READ_ONLY,
                ..MountAttributes::default()
            };
            let open = MountAttributes {
                clear: READ_ONLY,
                ..MountAttributes::default()
            };
            set_attributes(c"/", &close) == 0
                && (self.writable.iter()).all(|path| set_attributes(path, &open) == 0)
        }
    }
}

/// # Safety
/// None beyond that of the call; it changes the mounts of this process.
unsafe fn mount(from: Option<&CString>, to: &std::ffi::CStr, flags: libc::c_ulong) -> i32 {
    let from = from.map_or(ptr::null(), |from| from.as_ptr());
    // SAFETY: strings that end in NUL.
    unsafe { libc::mount(from, to.as_ptr(), ptr::null(), flags, ptr::null()) }
}

unsafe fn set_attributes(path: &std::ffi::CStr, attributes: &MountAttributes) -> libc::c_long {
    // SAFETY: a string that ends in NUL, and attributes of this size.
    unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            RECURSIVE,
            ptr::from_ref(attributes),
            size_of::<MountAttributes>(),
        )
    }
}

unsafe fn write_to(file: &std::ffi::CStr, text: &std::ffi::CStr) -> bool {
    // SAFETY: strings that end in NUL.
    unsafe {
        let fd = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd == -1 {
            return false;
        }
        let length = text.count_bytes();
        let written = libc::write(fd, text.as_ptr().cast(), length);
        // An open file would keep its mount from becoming read-only.
        libc::close(fd);
        usize::try_from(written) == Ok(length)
    }
}
