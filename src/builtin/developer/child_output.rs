//! Reads the stdout and stderr of a child process.

use crate::sys::output_drain::{OutputDrain, Ready, wait_output};
use crate::sys::pipe::PipeReader;
use crate::sys::process::{ExitWatch, Process};
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

/// How long one poll waits once the exit of the child has been reported: until a pipe is readable.
const AFTER_EXIT: Duration = Duration::from_secs(3600);

/// The stream that bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Stdout,
    Stderr,
}

impl Source {
    pub(super) fn name(self) -> &'static str {
        match self {
            Source::Stdout => "stdout",
            Source::Stderr => "stderr",
        }
    }
}

/// The stdout and stderr of a child process. Its own descendants may hold them open after it has exited.
pub(super) struct ChildOutput {
    process: Arc<Process>,
    /// None once the exit has been reported.
    exit: Option<ExitWatch>,
    drain: OutputDrain,
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    buffer: Vec<u8>,
    max_last_reads: usize,
}

impl ChildOutput {
    /// Reads at most `buffer_size` bytes at once. `max_last_reads` bounds the polls that find output after the
    /// child has exited: its descendants may go on writing.
    pub(super) fn new(
        process: Arc<Process>,
        stdout: PipeReader,
        stderr: PipeReader,
        buffer_size: usize,
        max_last_reads: usize,
    ) -> Self {
        ChildOutput {
            exit: Some(process.watch()),
            process,
            drain: OutputDrain::default(),
            stdout: Some(stdout),
            stderr: Some(stderr),
            buffer: vec![0; buffer_size],
            max_last_reads,
        }
    }

    /// Whether the exit has been reported and both pipes have ended.
    pub(super) fn is_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none() && self.exit.is_none()
    }

    /// Waits at most `limit` for output or the exit, and hands what was read to `sink`. Returns true once: when
    /// the child has exited and all that it wrote itself has been read.
    pub(super) fn poll(&mut self, limit: Duration, sink: &mut dyn FnMut(Source, &[u8])) -> bool {
        let exit = self.exit.as_ref();
        let pause = exit.map_or(AFTER_EXIT, |_| self.drain.pause(limit));
        let ready = wait_output(self.stdout.as_ref(), self.stderr.as_ref(), exit, pause);
        let Ready { stdout, stderr, .. } = ready;
        if stdout && !read(self.stdout.as_ref(), &mut self.buffer, Source::Stdout, sink) {
            self.stdout = None;
        }
        if stderr && !read(self.stderr.as_ref(), &mut self.buffer, Source::Stderr, sink) {
            self.stderr = None;
        }
        if self.exit.is_none() {
            return false;
        }
        let exited = ready.exited || self.process.wait_exit(Duration::ZERO);
        let is_over = self.drain.is_over(ready, exited, self.max_last_reads);
        if is_over {
            self.exit = None;
        }
        is_over
    }
}

/// Reads once from a pipe; false if it has ended.
fn read(
    pipe: Option<&PipeReader>,
    buffer: &mut [u8],
    source: Source,
    sink: &mut dyn FnMut(Source, &[u8]),
) -> bool {
    let Some(mut pipe) = pipe else {
        return false;
    };
    match pipe.read(buffer) {
        Ok(0) => false,
        Ok(length) => {
            sink(source, &buffer[..length]);
            true
        }
        Err(error) => error.kind() == io::ErrorKind::Interrupted,
    }
}
