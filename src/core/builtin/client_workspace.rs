//! What the client of a turn offers to the builtin servers of its session, such as its files and terminals.

use crate::sys::lock;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// What a client offers. The servers that use it know its type.
pub type Workspace = Arc<dyn Any + Send + Sync>;

/// The workspace of the client whose turn is running.
#[derive(Default)]
pub struct WorkspaceSlot(Mutex<Option<Workspace>>);

/// Empties the slot when dropped.
pub struct LentWorkspace<'s>(&'s WorkspaceSlot);

impl WorkspaceSlot {
    /// Offers the workspace to the builtin servers until the guard is dropped.
    pub fn lend(&self, workspace: Option<Workspace>) -> LentWorkspace<'_> {
        *lock(&self.0) = workspace;
        LentWorkspace(self)
    }

    /// The workspace, if one is offered.
    pub fn get(&self) -> Option<Workspace> {
        lock(&self.0).clone()
    }
}

impl Drop for LentWorkspace<'_> {
    fn drop(&mut self) {
        // Dropped after the lock is released, because it may own anything.
        let _workspace = lock(&self.0.0).take();
    }
}
