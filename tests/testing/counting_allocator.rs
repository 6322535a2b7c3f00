//! The global allocator of the unit tests: the system's, with a byte count for each thread.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTED: CountingAllocator = CountingAllocator;

struct CountingAllocator;

thread_local! {
    /// Bytes that this thread has allocated minus the bytes that it has freed, whichever thread allocated them.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The maximum of `HELD` since the measurement began.
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(more: usize, less: usize) {
    // The thread-local counters of an ending thread may be gone.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + more.cast_signed() - less.cast_signed());
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: all of it is the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the promises that the system's allocator asks for, here and below.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// The maximum number of bytes that this thread allocated at once during `work`, beyond what it held before.
pub fn peak_bytes<R>(work: impl FnOnce() -> R) -> usize {
    let before = HELD.get();
    MOST.set(before);
    drop(work());
    (MOST.get() - before).max(0).cast_unsigned()
}
