//! The pages of the program that runs: which of them the system may take back. Linux.

use libc::{AT_PHDR, AT_PHNUM, PF_W, PT_LOAD, PT_PHDR};
#[cfg(target_pointer_width = "32")]
use libc::{Elf32_Ehdr as FileHeader, Elf32_Phdr as Header};
#[cfg(target_pointer_width = "64")]
use libc::{Elf64_Ehdr as FileHeader, Elf64_Phdr as Header};
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
    let (headers, page) = program_headers();
    let Some(base) = base_of(headers.as_ptr() as usize, headers, page) else {
        return Vec::new();
    };
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

/// The table of the executable's segments, empty if it is not known, and the size of a page.
fn program_headers() -> (&'static [Header], usize) {
    // SAFETY: plain integers; the kernel has put both into the auxiliary vector, or the result is 0.
    let (table, count, page) = unsafe {
        (
            libc::getauxval(AT_PHDR) as usize,
            libc::getauxval(AT_PHNUM) as usize,
            libc::sysconf(libc::_SC_PAGESIZE) as usize,
        )
    };
    if table == 0 || !page.is_power_of_two() {
        return (&[], page);
    }
    // SAFETY: the kernel has read this table of the executable at this address; it is part of a segment
    // that is never unmapped or written.
    let headers = unsafe { slice::from_raw_parts(table as *const Header, count) };
    (headers, page)
}

/// Where an executable was loaded whose table is there and has these headers, relative to the addresses in the file.
fn base_of(table: usize, headers: &[Header], page: usize) -> Option<usize> {
    let of = |kind| move |header: &&Header| header.p_type == kind;
    if let Some(own) = headers.iter().find(of(PT_PHDR)) {
        return Some(table.wrapping_sub(own.p_vaddr as usize));
    }
    // Static executables do not tell. Their table follows the header of the file, which begins the first segment.
    let first = headers.iter().find(of(PT_LOAD));
    let first = first.filter(|first| first.p_offset == 0)?;
    let start = table.wrapping_sub(size_of::<FileHeader>());
    start
        .is_multiple_of(page)
        .then(|| start.wrapping_sub(first.p_vaddr as usize))
}

#[cfg(test)]
mod tests;
