//! Runs one of gosling's fuzz targets on the inputs of libFuzzer; see `run`, which builds and starts it.
//!
//! The variable `FUZZ_TARGET` names the target. In addition to the target's own checks, each input has limits
//! on time and memory that depend on its length.
#![no_main]

#[cfg(not(fuzzing))]
compile_error!("build it with `tests/fuzz/run`, which says `--cfg fuzzing`");

use gosling::fuzzing::targets;
use gosling::text::fuzz_input::Target;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The CPU time limit of one input. libFuzzer's `-timeout` measures elapsed time, which means little on a busy
/// machine.
const TIME: Duration = Duration::from_secs(2);

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);

libfuzzer_sys::fuzz_target!(init: { target(); }, |data: &[u8]| {
    let target = target();
    let (held, began) = (HELD.load(Relaxed), processor_time());
    MOST_HELD.store(held, Relaxed);
    (target.check)(data);
    let took = processor_time().saturating_sub(began);
    assert!(took < TIME, "{} bytes took {took:?}", data.len());
    let memory = MOST_HELD.load(Relaxed).saturating_sub(held);
    let allowed = target.base_memory + target.memory * data.len();
    assert!(memory <= allowed, "{} bytes took {memory} bytes of memory, {allowed} are allowed", data.len());
});

/// The requested target. Without one, prints the names of all targets and exits.
fn target() -> &'static Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let Ok(name) = std::env::var("FUZZ_TARGET") else {
            targets().for_each(|target| println!("{}", target.name));
            std::process::exit(0);
        };
        let found = targets().find(|target| target.name == name);
        found.unwrap_or_else(|| {
            eprintln!("FUZZ_TARGET is {name:?}, which is not a target");
            std::process::exit(2);
        })
    })
}

fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of this function.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "the clock of the thread cannot be read");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The system's allocator, with a count of the bytes in use and of their maximum.
struct Counting;

// SAFETY: all requests go to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }
}

fn count(size: usize) {
    let held = HELD.fetch_add(size, Relaxed) + size;
    MOST_HELD.fetch_max(held, Relaxed);
}
