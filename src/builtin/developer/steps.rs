//! How much work it may take to find the words of a command, since no timeout and no cancellation ends that.

use std::cell::Cell;

/// One step is about as much as to look at one character.
const MAX_STEPS: usize = 32 << 20;
/// How many steps a byte counts for that is kept, so that they bound the memory, too.
const KEPT: usize = 16;

/// The steps that are left. Once there are none, none of the methods gives any more.
pub(super) struct Steps(Cell<usize>);

impl Steps {
    pub(super) fn new() -> Self {
        Steps(Cell::new(MAX_STEPS))
    }

    pub(super) fn are_left(&self) -> bool {
        self.0.get() > 0
    }

    /// Takes this many, and says whether there are still some left.
    pub(super) fn take(&self, count: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(count));
        self.are_left()
    }

    /// The same for a text of this many bytes that is kept.
    pub(super) fn keep(&self, bytes: usize) -> bool {
        self.take(bytes.saturating_mul(KEPT))
    }
}
