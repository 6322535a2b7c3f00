use super::{base_of, program_headers, read_only_segments, unmap_code};
use libc::PT_PHDR;
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
fn an_executable_that_does_not_tell_where_its_table_is_has_the_same_base() {
    let (headers, page) = program_headers();
    let table = headers.as_ptr() as usize;
    let base = base_of(table, headers, page);
    assert!(base.is_some());
    let static_ones = headers.iter().filter(|header| header.p_type != PT_PHDR);
    let static_ones: Vec<_> = static_ones.copied().collect();
    assert_eq!(base_of(table, &static_ones, page), base);
    // A table elsewhere tells nothing.
    assert_eq!(base_of(table + 8, &static_ones, page), None);
    let later: Vec<_> = static_ones
        .into_iter()
        .filter(|header| header.p_offset > 0)
        .collect();
    assert_eq!(base_of(table, &later, page), None);
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
