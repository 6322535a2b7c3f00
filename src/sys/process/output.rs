//! Waits for the exit of a child.

use super::super::pipe::PipeReader;
use super::super::unix;

/// Detects the exit of a child, also if other code reaps it. Linux only.
pub struct ExitWatch(pub(crate) Option<unix::PidFd>);

impl ExitWatch {
    pub(super) fn new(pid: i32) -> ExitWatch {
        ExitWatch(unix::PidFd::open(pid))
    }

    /// `None` where an exit cannot be detected.
    pub(crate) fn open(pid: i32) -> Option<ExitWatch> {
        unix::PidFd::open(pid).map(|handle| ExitWatch(Some(handle)))
    }

    /// Waits until the child has exited or `output` is readable or at its end; true if the child has exited and
    /// nothing is readable. Returns false at once where an exit cannot be detected.
    pub fn wait(&self, output: Option<&PipeReader>) -> bool {
        let handle = self.0.as_ref();
        handle.is_some_and(|handle| handle.wait_or_readable(output.map(PipeReader::fd)))
    }
}
