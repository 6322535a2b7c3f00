//! The allocator of the unit tests: the system's, with a count for each thread.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTED: CountingAllocator = CountingAllocator;

struct CountingAllocator;

thread_local! {
    /// Bytes that the thread has taken and not given back; what it gives back for another counts against it.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The most of them since the last measurement began.
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(more: usize, less: usize) {
    // A thread that is about to end has no counts any more.
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

/// The most bytes that this thread held at once for `work`, beside what it held before.
pub(crate) fn peak_bytes<R>(work: impl FnOnce() -> R) -> usize {
    let before = HELD.get();
    MOST.set(before);
    drop(work());
    (MOST.get() - before).max(0).cast_unsigned()
}
