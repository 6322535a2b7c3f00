//! The table of processes: that of macOS, which libproc reads. It compiles, and was never run.
//!
//! macOS shows the environment of a process to its user, but not that of a hardened program, such as those of the
//! system. These are found in their group only.

use super::process_arguments::environment_in;
use std::io;
use std::path::Path;
use std::ptr;

/// Whether this system has one.
pub(in super::super) const EXISTS: bool = true;

/// `PROC_ALL_PIDS` of `sys/proc_info.h`.
const ALL_PIDS: u32 = 1;
/// `SZOMB` of `sys/proc.h`: it has ended, and waits to be reaped.
const ZOMBIE: u32 = 5;
/// How many processes may begin while the list is read.
const ROOM: usize = 64;
/// `ARG_MAX` of `sys/syslimits.h`: how many bytes arguments and environment may have.
const MOST_ARGUMENTS: usize = 1 << 20;

/// Whether the process runs; true if that cannot be determined now.
pub(in super::super) fn lives(pid: i32) -> bool {
    let size = size_of::<libc::proc_bsdinfo>() as i32;
    // SAFETY: plain data for which zero is valid, with its size.
    let (filled, state) = unsafe {
        let mut info: libc::proc_bsdinfo = std::mem::zeroed();
        let place = (&raw mut info).cast();
        let filled = libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, place, size);
        (filled, info.pbi_status)
    };
    if filled == size {
        state != ZOMBIE
    } else {
        io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
    }
}

/// All visible processes but this one, newest first as far as their ids tell.
pub(in super::super) fn others() -> io::Result<Vec<i32>> {
    let own = std::process::id().cast_signed();
    let mut pids: Vec<i32> = Vec::new();
    loop {
        let bytes = size_of_val(pids.as_slice());
        let place = if pids.is_empty() {
            ptr::null_mut()
        } else {
            pids.as_mut_ptr()
        };
        // SAFETY: a place for as many bytes as are said, or none, for which the call says how many there would be.
        let filled = unsafe { libc::proc_listpids(ALL_PIDS, 0, place.cast(), bytes as i32) };
        let filled = usize::try_from(filled).unwrap_or_default();
        if filled == 0 {
            return Err(io::Error::last_os_error());
        }
        // A full list may be a part of one.
        if filled < bytes {
            pids.truncate(filled / size_of::<i32>());
            break;
        }
        pids = vec![0; filled.max(bytes) / size_of::<i32>() + ROOM];
    }
    pids.retain(|pid| *pid > 0 && *pid != own);
    pids.sort_unstable_by(|one, other| other.cmp(one));
    Ok(pids)
}

/// The environment of a process: entries that end in NUL.
pub(in super::super) fn environment(_: &Path, pid: i32) -> io::Result<Vec<u8>> {
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut text = vec![0_u8; MOST_ARGUMENTS];
    let mut len = text.len();
    // SAFETY: a name of three parts, and a place with its length. Nothing is set.
    super::checked(unsafe {
        let (name, place) = (name.as_mut_ptr(), text.as_mut_ptr().cast());
        libc::sysctl(name, 3, place, &raw mut len, ptr::null_mut(), 0)
    })?;
    text.truncate(len);
    environment_in(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
