//! The stdin and stdout of this process, which another thread can end.

use crate::unix;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

/// The stdin of this process. It reports the end of input as soon as its [`StdioEnd`] is dropped.
pub struct Stdin {
    file: File,
    told: io::PipeReader,
}

/// The stdout of this process, unbuffered. Once its [`StdioEnd`] is dropped, writes that would block fail as if
/// the reader were gone.
pub struct Stdout {
    file: File,
    told: io::PipeReader,
}

/// See [`Stdin`] and [`Stdout`].
pub struct StdioEnd(#[expect(dead_code, reason = "closing it is what counts")] io::PipeWriter);

/// This process's stdin and stdout, unbuffered, and the handle that ends them.
///
/// # Errors
/// When one of them is closed, or no descriptors are left.
pub fn stdio() -> io::Result<(Stdin, Stdout, StdioEnd)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    ending(input, io::stdout().as_fd().try_clone_to_owned()?)
}

/// Whether stdin stays open as long as who has started this process lives: it is a pipe, a socket or a terminal.
///
/// # Errors
/// When it is closed, or no descriptors are left.
pub fn can_end_later() -> io::Result<bool> {
    let stdin = io::stdin();
    let kind = File::from(stdin.as_fd().try_clone_to_owned()?);
    let kind = kind.metadata()?.file_type();
    Ok(kind.is_fifo() || kind.is_socket() || stdin.is_terminal())
}

fn ending(input: OwnedFd, output: OwnedFd) -> io::Result<(Stdin, Stdout, StdioEnd)> {
    let (told, end) = io::pipe()?;
    let stdin = Stdin {
        file: File::from(input),
        told: told.try_clone()?,
    };
    let file = File::from(output);
    Ok((stdin, Stdout { file, told }, StdioEnd(end)))
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let fds = [self.told.as_raw_fd(), self.file.as_raw_fd()];
        loop {
            match unix::wait_any(fds, Duration::MAX) {
                [true, _] => return Ok(0),
                [_, true] => return self.file.read(buffer),
                _ => {}
            }
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fds = [
            (self.file.as_raw_fd(), libc::POLLOUT),
            (self.told.as_raw_fd(), libc::POLLIN),
        ];
        loop {
            match unix::wait_each(fds, Duration::MAX) {
                // A ready pipe accepts `PIPE_BUF` bytes without blocking. The descriptor cannot be made
                // non-blocking, because that would affect every process that shares the pipe or terminal.
                [true, _] => return self.file.write(&bytes[..bytes.len().min(libc::PIPE_BUF)]),
                [_, true] => return Err(io::ErrorKind::BrokenPipe.into()),
                _ => {}
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
