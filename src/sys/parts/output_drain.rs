//! Waits for the output of a child, and decides when it is complete.

#[cfg_attr(windows, path = "../windows/wait_output.rs")]
mod wait_output;

use std::time::Duration;
pub use wait_output::wait_output;

/// What [`wait_output`] found.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// Whether stdout is readable or at its end.
    pub stdout: bool,
    /// Whether stderr is readable or at its end.
    pub stderr: bool,
    /// Whether the child has exited.
    pub exited: bool,
}

/// Decides when the output of an exited child is complete, although a descendant may hold the pipes open and
/// keep writing.
#[derive(Debug, Default)]
pub struct OutputDrain {
    /// Number of polls since the exit was known.
    polls: usize,
}

impl OutputDrain {
    /// The timeout of the next poll, if `limit` applies while the child runs.
    pub fn pause(&self, limit: Duration) -> Duration {
        match self.polls {
            0 => limit,
            _ => Duration::ZERO,
        }
    }

    /// Whether the child's own output is complete, after a poll that returned `ready` and after the caller has
    /// read what was ready. `exited` says whether the child has exited. Gives up after `most` polls that found
    /// output.
    ///
    /// The poll that first sees the exit is not the last: what the child wrote just before may have reached a
    /// pipe that this poll had already found empty.
    pub fn is_over(&mut self, ready: Ready, exited: bool, most: usize) -> bool {
        let was_known = self.polls > 0;
        self.polls += usize::from(was_known || exited);
        was_known && (!(ready.stdout || ready.stderr) || self.polls > most)
    }
}

#[cfg(test)]
mod tests;
