//! The pages of the program that runs: which of them the system may take back. Linux.

#[cfg(target_pointer_width = "32")]
use libc::Elf32_Phdr as Header;
#[cfg(target_pointer_width = "64")]
use libc::Elf64_Phdr as Header;
use libc::{AT_PHDR, AT_PHNUM, PF_W, PT_LOAD, PT_PHDR};
use std::slice;

/// Unmaps the pages of the executable's segments that nobody can write: code and constants. They are equal to
/// the file, and the system maps them again when they are used; those that only the start used stay away, and
/// count no longer as this process's memory. Breakpoints of a debugger are lost.
///
/// The libraries are left alone: one could be unloaded meanwhile.
pub(in super::super) fn unmap_code() {
    for (start, len) in read_only_segments() {
        // SAFETY: the pages lie within a segment of the executable, which stays mapped as long as the
        // process runs. The program cannot write to them, so they are still what the file has; as the
        // file is mapped privately, the next access reads the same bytes again.
        unsafe { libc::madvise(start as *mut _, len, libc::MADV_DONTNEED) };
    }
}

/// Address and length of the whole pages of each segment without write permission. Relocations that the
/// loader protects after writing them are in segments with that permission.
fn read_only_segments() -> Vec<(usize, usize)> {
    // SAFETY: plain integers; the kernel has put both into the auxiliary vector, or the result is 0.
    let (table, count, page) = unsafe {
        (
            libc::getauxval(AT_PHDR) as usize,
            libc::getauxval(AT_PHNUM) as usize,
            libc::sysconf(libc::_SC_PAGESIZE) as usize,
        )
    };
    if table == 0 || !page.is_power_of_two() {
        return Vec::new();
    }
    // SAFETY: the kernel has read this table of the executable at this address; it is part of a segment
    // that is never unmapped or written.
    let headers = unsafe { slice::from_raw_parts(table as *const Header, count) };
    // Where the executable was loaded, relative to the addresses in the file.
    let Some(own) = headers.iter().find(|header| header.p_type == PT_PHDR) else {
        return Vec::new();
    };
    let base = table.wrapping_sub(own.p_vaddr as usize);
    let fixed = headers
        .iter()
        .filter(|header| header.p_type == PT_LOAD && header.p_flags & PF_W == 0);
    let pages = fixed.map(|header| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        let end = start + header.p_filesz as usize;
        let start = start.next_multiple_of(page);
        (start, (end & !(page - 1)).saturating_sub(start))
    });
    pages.filter(|(_, len)| *len > 0).collect()
}

#[cfg(test)]
mod tests;
