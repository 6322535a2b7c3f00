//! Waits for the output and the exit of a child.

use super::super::pipe::PipeReader;
use super::super::unix;
use std::time::Duration;

/// Sees a child exit, also one that is reaped meanwhile. On Linux; elsewhere it sees nothing.
pub struct ExitWatch(Option<unix::PidFd>);

impl ExitWatch {
    pub(super) fn new(pid: i32) -> ExitWatch {
        ExitWatch(unix::PidFd::open(pid))
    }

    /// None where an exit cannot be seen.
    pub(in crate::sys) fn open(pid: i32) -> Option<ExitWatch> {
        unix::PidFd::open(pid).map(|handle| ExitWatch(Some(handle)))
    }

    /// Waits until the child has exited or `output` has something to read, its end included; true
    /// when the child has exited and there is nothing to read. False at once where nothing can be seen.
    pub fn wait(&self, output: Option<&PipeReader>) -> bool {
        let handle = self.0.as_ref();
        handle.is_some_and(|handle| handle.wait_or_readable(output.map(PipeReader::fd)))
    }
}

/// What a child has for its owner, see [`wait_output`].
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// There is something to read, or the end.
    pub stdout: bool,
    /// The same.
    pub stderr: bool,
    /// It has exited.
    pub exited: bool,
}

/// Waits until a child has written something or exited. What is `None` is not waited for. Where an exit
/// cannot be seen it is not reported.
pub fn wait_output(
    stdout: Option<&PipeReader>,
    stderr: Option<&PipeReader>,
    exit: Option<&ExitWatch>,
    limit: Duration,
) -> Ready {
    let fd = |pipe: Option<&PipeReader>| pipe.map_or(-1, PipeReader::fd);
    let exit = exit.and_then(|exit| exit.0.as_ref());
    let exit = exit.map_or(-1, unix::PidFd::fd);
    let [stdout, stderr, exited] = unix::wait_any([fd(stdout), fd(stderr), exit], limit);
    Ready {
        stdout,
        stderr,
        exited,
    }
}

/// Tells when a child that has exited has been read to the end, though something that it started may hold
/// its pipes open and go on writing.
#[derive(Debug, Default)]
pub struct OutputDrain {
    /// How many polls there were since it was known that it has exited.
    polls: usize,
}

impl OutputDrain {
    /// How long the next poll may take, if it may take `limit` while the child runs.
    pub fn pause(&self, limit: Duration) -> Duration {
        match self.polls {
            0 => limit,
            _ => Duration::ZERO,
        }
    }

    /// Whether nothing of the child's own can come any more, after a poll that found `ready`, and what
    /// was there was read; `exited` says whether the child has exited meanwhile. Gives up after `most`
    /// polls that found something.
    ///
    /// A poll in which its exit is seen for the first time is not the last: what it wrote just before may
    /// have come into a pipe that was already found empty.
    pub fn is_over(&mut self, ready: Ready, exited: bool, most: usize) -> bool {
        let was_known = self.polls > 0;
        self.polls += usize::from(was_known || exited);
        was_known && (!(ready.stdout || ready.stderr) || self.polls > most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_between_a_poll_and_the_exit_is_not_missed() {
        const MOST: usize = 4;
        const INTERVAL: Duration = Duration::from_millis(100);
        let poll = |something| Ready {
            stdout: something,
            stderr: false,
            exited: false,
        };
        let mut ending = OutputDrain::default();
        assert!(!ending.is_over(poll(true), false, MOST));
        assert!(!ending.is_over(poll(false), false, MOST));
        assert_eq!(ending.pause(INTERVAL), INTERVAL);
        // The poll was over when it wrote its last words and exited.
        assert!(!ending.is_over(poll(false), true, MOST));
        assert_eq!(ending.pause(INTERVAL), Duration::ZERO);
        assert!(!ending.is_over(poll(true), true, MOST));
        assert!(ending.is_over(poll(false), true, MOST));
        // What it has started writes without end.
        let mut ending = OutputDrain::default();
        let polls = (0..100).find(|_| ending.is_over(poll(true), true, MOST));
        assert_eq!(polls, Some(MOST));
    }
}
