//! Waits for pipes and for an exit at a time.

use super::Ready;
use crate::pipe::PipeReader;
use crate::process::ExitWatch;
use crate::unix;
use std::time::Duration;

/// Waits until a child has written something or exited, at most for `limit`. Arguments that are `None` are not
/// waited for. Does not report an exit where it cannot be detected.
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
