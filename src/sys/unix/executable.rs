//! The pages of the program that runs: which of them the system may take back.

/// Unmaps the pages of the executable's segments that nobody can write: code and constants. They are equal to
/// the file, and the system maps them again when they are used; those that only the start used stay away, and
/// count no longer as this process's memory. Breakpoints of a debugger are lost.
///
/// The libraries are left alone: one could be unloaded meanwhile.
pub(in super::super) fn unmap_code() {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    linux::unmap_code();
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod linux {
    use libc::{AT_PHDR, AT_PHNUM, Elf64_Phdr, PF_W, PT_LOAD, PT_PHDR};
    use std::slice;

    pub(super) fn unmap_code() {
        for (start, len) in read_only_segments() {
            // SAFETY: the pages lie within a segment of the executable, which stays mapped as long as the
            // process runs. The program cannot write to them, so they are still what the file has; as the
            // file is mapped privately, the next access reads the same bytes again.
            unsafe { libc::madvise(start as *mut _, len, libc::MADV_DONTNEED) };
        }
    }

    /// Address and length of the whole pages of each segment without write permission. Relocations that the
    /// loader protects after writing them are in segments with that permission.
    pub(super) fn read_only_segments() -> Vec<(usize, usize)> {
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
        let headers = unsafe { slice::from_raw_parts(table as *const Elf64_Phdr, count) };
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
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::linux::read_only_segments;
    use super::unmap_code;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::{fs, thread};

    static CONSTANT: [u8; 5] = *b"first";
    static VARIABLE: AtomicBool = AtomicBool::new(false);

    /// The bytes of files that are mapped into this process and in memory.
    fn resident() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssFile:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kilobytes.unwrap().trim().parse::<u64>().unwrap() * 1024
    }

    fn contains(address: usize) -> bool {
        let segments = read_only_segments();
        segments
            .iter()
            .any(|&(start, len)| (start..start + len).contains(&address))
    }

    #[test]
    fn code_and_constants_are_unmapped_and_nothing_that_can_change() {
        assert!(contains(resident as fn() -> u64 as usize), "code");
        assert!(contains(CONSTANT.as_ptr() as usize), "constants");
        assert!(!contains(&raw const VARIABLE as usize), "variables");
        // The loader has written the addresses in this table.
        static TABLE: [fn() -> u64; 1] = [resident];
        assert!(!contains(TABLE.as_ptr() as usize), "relocated constants");
    }

    #[test]
    fn what_runs_meanwhile_goes_on() {
        VARIABLE.store(true, Ordering::Relaxed);
        let work = thread::spawn(|| {
            let mut rounds = 0;
            while VARIABLE.load(Ordering::Relaxed) {
                let text = serde_json::to_string(&CONSTANT).unwrap();
                assert_eq!(serde_json::from_str::<[u8; 5]>(&text).unwrap(), CONSTANT);
                rounds += 1;
            }
            rounds
        });
        // Other tests map their code again meanwhile.
        let mut returned = 0;
        for _ in 0..100 {
            let before = resident();
            unmap_code();
            returned = before.saturating_sub(resident()).max(returned);
        }
        VARIABLE.store(false, Ordering::Relaxed);
        assert!(work.join().unwrap() > 0);
        assert!(returned > 1 << 18, "{returned} bytes");
    }
}
