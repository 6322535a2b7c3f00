//! The walls on Linux: landlock(7), seccomp(2), capabilities(7).

mod mounts;
mod system_calls;

use super::{Network, Offer, Plan};
use crate::child_command::Confinement;
use mounts::View;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use system_calls::Instruction;

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_BLOCK: u64 = 1 << 11;
const MAKE_SYM: u64 = 1 << 12;
/// Renames and links between folders; version 2.
const REFER: u64 = 1 << 13;
/// Version 3.
const TRUNCATE: u64 = 1 << 14;
/// Version 5.
const IOCTL_DEV: u64 = 1 << 15;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// Everything but the creation of devices, through which root would reach the disk.
const WRITE: u64 = READ
    | WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_SYM
    | REFER
    | TRUNCATE;
const DEVICE: u64 = READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | IOCTL_DEV;
/// What is meaningful for a file.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const BIND_TCP: u64 = 1 << 0;
const CONNECT_TCP: u64 = 1 << 1;
const SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1 << 0;
const SCOPE_SIGNAL: u64 = 1 << 1;

/// openat2(2).
const RESOLVE_NO_SYMLINKS: u64 = 0x04;
/// The errors for a file that is not there, or not for this user.
const IS_CLOSED: [Option<i32>; 3] = [Some(libc::ENOENT), Some(libc::ENOTDIR), Some(libc::EACCES)];

const CREATE_RULESET_VERSION: u32 = 1 << 0;
const RULE_PATH_BENEATH: i32 = 1;
const RULE_NET_PORT: i32 = 2;

/// The least version of Landlock: files cannot be emptied from there on.
const LEAST_VERSION: u32 = 3;
/// The least version for ports.
const PORTS_VERSION: u32 = 4;

/// The capabilities that root keeps behind walls which are not strict, for packages that are installed by it: to
/// change owners, to override permissions, to act as owner, to keep set-id bits, to end processes, to change its user
/// and groups, to listen below 1024.
const KEPT_CAPABILITIES: [i32; 8] = [0, 1, 3, 4, 5, 6, 7, 10];
const LAST_CAPABILITY: i32 = 63;

#[repr(C)]
struct RulesetAttributes {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

#[repr(C)]
struct NetPort {
    allowed_access: u64,
    port: u64,
}

pub(super) fn offer() -> Offer {
    // SAFETY: without attributes, the call asks for the version only.
    let version = unsafe {
        let none = std::ptr::null::<RulesetAttributes>();
        let flags = CREATE_RULESET_VERSION;
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, flags)
    };
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads the number only.
    let seccomp = unsafe {
        let action = &raw const action;
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, action)
    };
    Offer {
        landlock: u32::try_from(version).unwrap_or(0),
        seccomp: seccomp == 0,
        mounts: mounts::offer(),
    }
}

pub(super) fn build(plan: &Plan) -> io::Result<Box<dyn Confinement>> {
    Ok(Box::new(Walls::build(plan)?))
}

/// Walls that are ready.
struct Walls {
    ruleset: OwnedFd,
    view: Option<View>,
    filter: Vec<Instruction>,
    is_strict: bool,
}

impl Walls {
    fn build(plan: &Plan) -> io::Result<Walls> {
        let offer = super::offer();
        let least = match &plan.network {
            Network::Open => LEAST_VERSION,
            Network::Only { .. } => PORTS_VERSION,
        };
        if offer.landlock < least || !offer.seccomp {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let since = |version, access| if offer.landlock >= version { access } else { 0 };
        let handled = WRITE | MAKE_CHAR | MAKE_BLOCK | since(5, IOCTL_DEV);
        let is_open = plan.network == Network::Open;
        let attributes = RulesetAttributes {
            handled_access_fs: handled,
            handled_access_net: if is_open { 0 } else { BIND_TCP | CONNECT_TCP },
            scoped: since(6, SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL),
        };
        // SAFETY: the kernel reads the attributes only; the descriptor that it returns is new.
        let ruleset = unsafe {
            let fd = libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attributes,
                size_of::<RulesetAttributes>(),
                0,
            );
            OwnedFd::from_raw_fd(i32::try_from(checked(fd)?).unwrap_or(-1))
        };
        let walls = Walls {
            ruleset,
            view: offer
                .mounts
                .map(|kind| View::new(kind, &plan.write))
                .transpose()?,
            filter: system_calls::filter(&plan.network, plan.strict),
            is_strict: plan.strict,
        };
        let access = [
            (&plan.list, READ_DIR),
            (&plan.read, READ),
            (&plan.write, WRITE),
            (&plan.devices, DEVICE),
        ];
        for (paths, access) in access {
            for path in paths {
                walls.allow_path(path, access & handled)?;
            }
        }
        if let Network::Only { ports, .. } = &plan.network {
            for port in ports {
                walls.allow_port(*port)?;
            }
        }
        Ok(walls)
    }

    fn allow_path(&self, path: &Path, access: u64) -> io::Result<()> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        // A link would be one that was put there after the paths were chosen.
        let how = OpenHow {
            flags: (libc::O_PATH | libc::O_CLOEXEC) as u64,
            mode: 0,
            resolve: RESOLVE_NO_SYMLINKS,
        };
        // SAFETY: `name` ends in NUL, and the kernel writes the status that was reserved for it.
        let (fd, is_dir) = unsafe {
            let how = &raw const how;
            let size = size_of::<OpenHow>();
            let fd = libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, name.as_ptr(), how, size);
            let fd = match checked(fd) {
                Ok(fd) => OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1)),
                // The child could not open it either.
                Err(error) if IS_CLOSED.contains(&error.raw_os_error()) => return Ok(()),
                Err(error) => return Err(error),
            };
            let mut status: libc::stat = std::mem::zeroed();
            checked(libc::fstat(fd.as_raw_fd(), &raw mut status).into())?;
            (fd, status.st_mode & libc::S_IFMT == libc::S_IFDIR)
        };
        let rule = PathBeneath {
            allowed_access: if is_dir { access } else { access & OF_FILES },
            parent_fd: fd.as_raw_fd(),
        };
        self.add(RULE_PATH_BENEATH, (&raw const rule).cast())
    }

    fn allow_port(&self, port: u16) -> io::Result<()> {
        let rule = NetPort {
            allowed_access: CONNECT_TCP,
            port: port.into(),
        };
        self.add(RULE_NET_PORT, (&raw const rule).cast())
    }

    fn add(&self, kind: i32, rule: *const libc::c_void) -> io::Result<()> {
        let ruleset = self.ruleset.as_raw_fd();
        // SAFETY: the kernel reads the rule of this kind only, which lives until the call has ended.
        let added = unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, kind, rule, 0) };
        checked(added).map(drop)
    }
}

impl Confinement for Walls {
    unsafe fn confine(&self) -> bool {
        // SAFETY: system calls with plain integers, and with a program that was made before.
        unsafe {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 {
                return false;
            }
            // Before the capabilities go that it takes.
            if self.view.as_ref().is_some_and(|view| !view.enter()) {
                return false;
            }
            let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL;
            libc::prctl(libc::PR_CAP_AMBIENT, clear, 0, 0, 0);
            let is_root = libc::geteuid() == 0;
            for capability in 0..=LAST_CAPABILITY {
                let is_kept = !self.is_strict && KEPT_CAPABILITIES.contains(&capability);
                // Only root gets capabilities when it runs a program, and none that is missing here.
                if is_root
                    && !is_kept
                    && libc::prctl(libc::PR_CAPBSET_READ, capability, 0, 0, 0) == 1
                    && libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) == -1
                {
                    return false;
                }
            }
            let ruleset = self.ruleset.as_raw_fd();
            if libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) == -1 {
                return false;
            }
            let program = libc::sock_fprog {
                len: u16::try_from(self.filter.len()).unwrap_or(u16::MAX),
                filter: self.filter.as_ptr().cast::<libc::sock_filter>().cast_mut(),
            };
            let mode = libc::SECCOMP_SET_MODE_FILTER;
            libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program) == 0
        }
    }
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
