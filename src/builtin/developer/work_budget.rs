//! How much work it may take to find the words of a command, since no timeout and no cancellation ends that.

use std::cell::Cell;

/// One step is about as much as to look at one character.
const MAX_STEPS: usize = 32 << 20;
/// How many bytes of a text are copied or compared in one step.
const BYTES_PER_STEP: usize = 64;
/// How many bytes of words and values are kept at a time.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// The budget that are left. Once there are none, none of the methods gives any more.
pub(super) struct WorkBudget {
    left: Cell<usize>,
    /// How many more bytes may be kept.
    room: Cell<usize>,
}

impl WorkBudget {
    pub(super) fn new() -> Self {
        WorkBudget {
            left: Cell::new(MAX_STEPS),
            room: Cell::new(MAX_KEPT_BYTES),
        }
    }

    pub(super) fn is_left(&self) -> bool {
        self.left.get() > 0
    }

    /// Takes this many, and says whether there are still some left.
    pub(super) fn take(&self, count: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(count));
        self.is_left()
    }

    /// The same for a text of this many bytes that is copied.
    pub(super) fn copy(&self, bytes: usize) -> bool {
        self.take(1 + bytes / BYTES_PER_STEP)
    }

    /// The same for one that is kept, for which there has to be room, too.
    pub(super) fn keep(&self, bytes: usize) -> bool {
        match self.room.get().checked_sub(bytes) {
            Some(room) => {
                self.room.set(room);
                self.copy(bytes)
            }
            None => self.take(MAX_STEPS),
        }
    }

    /// One that was kept is no longer.
    pub(super) fn release(&self, bytes: usize) {
        self.room.set(self.room.get() + bytes);
    }
}
