//! The filter of system calls: a program of the kernel's classic BPF over the number and the arguments of a call.
//! Pure.

use crate::parts::walls::Network;

/// One instruction, as `sock_filter` of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) if_true: u8,
    pub(super) if_false: u8,
    pub(super) value: u32,
}

pub(super) const LOAD: u16 = 0x20;
pub(super) const AND: u16 = 0x54;
pub(super) const JUMP_EQUAL: u16 = 0x15;
pub(super) const JUMP_GREATER: u16 = 0x25;
pub(super) const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const ERROR: u32 = 0x0005_0000;

/// Where the number of a call, the architecture and the lower halves of the first three arguments are. The machines
/// are little-endian. The arguments that are compared are `int` or flags of 32 bits.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: [u32; 3] = [16, 24, 32];

#[cfg(target_arch = "aarch64")]
const OWN_ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(target_arch = "aarch64"))]
const OWN_ARCHITECTURE: u32 = 0xc000_003e;

/// The newest call that is judged here (`mseal`). Later ones do not exist behind walls, and neither do those of
/// another way to number them (x32).
const NEWEST: u32 = 462;

const UNIX: u32 = 1;
const INET: u32 = 2;
const INET6: u32 = 10;
const NETLINK: u32 = 16;
const NETLINK_ROUTE: u32 = 0;
const STREAM: u32 = 1;
const DATAGRAM: u32 = 2;
/// The type of a socket without its flags.
const SOCKET_TYPE: u32 = 0xf;
const TCP: u32 = 6;
const UDP: u32 = 17;
/// The flags of `clone` that make namespaces.
const NEW_NAMESPACE: [u32; 7] = [
    0x0002_0000,
    0x0200_0000,
    0x0400_0000,
    0x0800_0000,
    0x1000_0000,
    0x2000_0000,
    0x4000_0000,
];
/// Typing into a terminal, and pasting into a console.
const FORBIDDEN_IOCTLS: [u32; 2] = [0x5412, 0x541c];

const EPERM: u32 = 1;
const EACCES: u32 = 13;
const ENOSYS: u32 = 38;
const EAFNOSUPPORT: u32 = 97;

macro_rules! calls {
    ($($(#[$when:meta])* $name:ident)*) => {
        &[$($(#[$when])* libc::$name,)*]
    };
}

/// Calls that change the system, reach around the other walls, or give more than an extension needs.
const FORBIDDEN: &[libc::c_long] = calls! {
    SYS_mount SYS_umount2 SYS_pivot_root SYS_move_mount SYS_open_tree SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick
    SYS_mount_setattr SYS_unshare SYS_setns SYS_open_by_handle_at
    SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_kexec_load SYS_init_module SYS_finit_module
    SYS_delete_module SYS_reboot SYS_swapon SYS_swapoff SYS_acct SYS_quotactl SYS_quotactl_fd
    SYS_keyctl SYS_add_key SYS_request_key SYS_fanotify_init SYS_settimeofday SYS_clock_settime SYS_clock_adjtime
    SYS_adjtimex SYS_sethostname SYS_setdomainname SYS_syslog SYS_vhangup SYS_pidfd_getfd SYS_process_vm_writev
    #[cfg(target_arch = "x86_64")] SYS_iopl
    #[cfg(target_arch = "x86_64")] SYS_ioperm
};

/// `kexec_file_load`, which the C library's crate does not name for every system.
const KEXEC_FILE_LOAD: libc::c_long = if cfg!(target_arch = "aarch64") {
    294
} else {
    320
};

/// Calls that strict walls forbid as well: looking into other processes, and memory that outlives and connects them.
const FORBIDDEN_STRICTLY: &[libc::c_long] = calls! {
    SYS_ptrace SYS_process_vm_readv SYS_kcmp SYS_shmget SYS_shmat SYS_msgget SYS_semget SYS_mq_open
    SYS_migrate_pages SYS_move_pages SYS_personality
    #[cfg(target_arch = "x86_64")] SYS_modify_ldt
};

/// Calls that programs do without when they do not exist: `clone3`, whose flags are behind a pointer, and `io_uring`,
/// which makes calls that the filter would not see.
const ABSENT: &[libc::c_long] =
    calls! { SYS_clone3 SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register };

/// The filter for this network, and for strict walls or others. It judges every call once; what it does not name is
/// allowed, up to the newest call that is known here.
pub(super) fn filter(network: &Network, strict: bool) -> Vec<Instruction> {
    let mut filter = Filter::default();
    filter.push(LOAD, ARCHITECTURE);
    filter.jump(JUMP_EQUAL, OWN_ARCHITECTURE, 1, 0);
    filter.end(ERROR | ENOSYS);
    filter.push(LOAD, NUMBER);
    filter.jump(JUMP_GREATER, NEWEST, 0, 1);
    filter.end(ERROR | ENOSYS);
    filter.end_all(ABSENT, ENOSYS);
    filter.end_all(FORBIDDEN, EPERM);
    filter.end_all(&[KEXEC_FILE_LOAD], EPERM);
    if strict {
        filter.end_all(FORBIDDEN_STRICTLY, EPERM);
    }
    filter.only(libc::SYS_clone, |body| {
        body.push(LOAD, ARGUMENTS[0]);
        body.push(AND, NEW_NAMESPACE.iter().fold(0, |all, flag| all | flag));
        body.jump(JUMP_EQUAL, 0, 1, 0);
        body.end(ERROR | EPERM);
    });
    filter.only(libc::SYS_ioctl, |body| {
        body.push(LOAD, ARGUMENTS[1]);
        for request in FORBIDDEN_IOCTLS {
            body.end_if(request, ERROR | EPERM);
        }
    });
    filter.only(libc::SYS_socket, |body| sockets(body, network));
    filter.end(ALLOW);
    filter.0
}

/// Judges a new socket by its family, its type and its protocol.
fn sockets(filter: &mut Filter, network: &Network) {
    let (has_tcp, has_udp) = match network {
        Network::Open => (true, true),
        Network::Only { ports, udp } => (!ports.is_empty(), *udp),
    };
    filter.push(LOAD, ARGUMENTS[0]);
    filter.end_if(UNIX, ERROR | EACCES);
    let mut netlink = Filter::default();
    netlink.push(LOAD, ARGUMENTS[2]);
    netlink.end_if(NETLINK_ROUTE, ALLOW);
    netlink.end(ERROR | EACCES);
    filter.block(JUMP_EQUAL, NETLINK, netlink);
    // What remains must be of the Internet.
    filter.jump(JUMP_EQUAL, INET, 2, 0);
    filter.jump(JUMP_EQUAL, INET6, 1, 0);
    filter.end(ERROR | EAFNOSUPPORT);
    for (is_allowed, kind, protocol) in [(has_tcp, STREAM, TCP), (has_udp, DATAGRAM, UDP)] {
        if is_allowed {
            filter.push(LOAD, ARGUMENTS[1]);
            filter.push(AND, SOCKET_TYPE);
            let mut known = Filter::default();
            known.push(LOAD, ARGUMENTS[2]);
            known.end_if(0, ALLOW);
            known.end_if(protocol, ALLOW);
            filter.block(JUMP_EQUAL, kind, known);
        }
    }
    filter.end(ERROR | EACCES);
}

#[derive(Default)]
struct Filter(Vec<Instruction>);

impl Filter {
    fn push(&mut self, code: u16, value: u32) {
        self.jump(code, value, 0, 0);
    }

    fn jump(&mut self, code: u16, value: u32, if_true: u8, if_false: u8) {
        self.0.push(Instruction {
            code,
            if_true,
            if_false,
            value,
        });
    }

    fn end(&mut self, verdict: u32) {
        self.push(RETURN, verdict);
    }

    fn end_if(&mut self, value: u32, verdict: u32) {
        self.jump(JUMP_EQUAL, value, 0, 1);
        self.end(verdict);
    }

    fn end_all(&mut self, calls: &[libc::c_long], error: u32) {
        for call in calls {
            self.end_if(number(*call), ERROR | error);
        }
    }

    /// Runs the body if the comparison is true. The body is short.
    fn block(&mut self, comparison: u16, value: u32, body: Filter) {
        let length = u8::try_from(body.0.len()).unwrap_or(u8::MAX);
        self.jump(comparison, value, 0, length);
        self.0.extend(body.0);
    }

    /// Judges this call by its arguments; the call is allowed if the body does not end.
    fn only(&mut self, call: libc::c_long, fill: impl FnOnce(&mut Filter)) {
        let mut body = Filter::default();
        fill(&mut body);
        body.end(ALLOW);
        self.block(JUMP_EQUAL, number(call), body);
    }
}

/// The number of a call, as the filter compares it.
fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
