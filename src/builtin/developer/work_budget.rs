//! Limits the work of finding the words of a command, which neither a timeout nor a cancellation can interrupt.

use std::cell::Cell;

/// The most steps. One step is about the work of reading one character.
const MAX_STEPS: usize = 32 << 20;
/// How many bytes are copied or compared in one step.
const BYTES_PER_STEP: usize = 64;
/// How many bytes of words and values are kept at the same time.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// The remaining budget. Once it is used up, every method reports that.
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

    /// Uses up this many steps. Returns whether some are left.
    pub(super) fn take(&self, count: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(count));
        self.is_left()
    }

    /// The same for copying a text of this many bytes.
    pub(super) fn copy(&self, bytes: usize) -> bool {
        self.take(1 + bytes / BYTES_PER_STEP)
    }

    /// The same for a text that is kept.
    pub(super) fn keep(&self, bytes: usize) -> bool {
        match self.room.get().checked_sub(bytes) {
            Some(room) => {
                self.room.set(room);
                self.copy(bytes)
            }
            None => self.take(MAX_STEPS),
        }
    }

    /// Gives back the memory of a text that was kept.
    pub(super) fn release(&self, bytes: usize) {
        self.room.set(self.room.get() + bytes);
    }
}
