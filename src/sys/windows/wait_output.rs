//! Waits for pipes and for an exit at a time.

use super::Ready;
use crate::pipe::{PipeReader, wait_ready};
use crate::process::ExitWatch;
use crate::windows::wait::wait_any;
use std::time::Duration;

/// Waits until a child has written something or exited, at most for `limit`. Arguments that are `None` are not
/// waited for.
pub fn wait_output(
    stdout: Option<&PipeReader>,
    stderr: Option<&PipeReader>,
    exit: Option<&ExitWatch>,
    limit: Duration,
) -> Ready {
    let exit = exit.map(ExitWatch::handle);
    let pipes: Vec<_> = stdout.into_iter().chain(stderr).collect();
    wait_ready(&pipes, exit, limit);
    Ready {
        stdout: stdout.is_some_and(PipeReader::is_ready),
        stderr: stderr.is_some_and(PipeReader::is_ready),
        exited: exit.is_some_and(|exit| wait_any(&[exit], Duration::ZERO)),
    }
}
