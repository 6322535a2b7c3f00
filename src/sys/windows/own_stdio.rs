//! The stdin and stdout of this process, which another thread can end. A read of stdin cannot be ended here, nor a
//! write, so two threads do nothing else; they are left behind.

use crate::windows::files;
use crate::{SMALL_STACK, spawn};
use crossbeam_channel::{Receiver, Sender, bounded, select};
use std::io::{self, IsTerminal, Read, Write};

/// How many bytes are read at once.
const READ_BUFFER: usize = 64 << 10;

/// The stdin of this process. It reports the end of input as soon as its [`StdioEnd`] is dropped.
pub struct Stdin {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// What was received last, and how much of it was taken.
    chunk: io::Cursor<Vec<u8>>,
    told: Receiver<()>,
}

/// The stdout of this process, unbuffered. Once its [`StdioEnd`] is dropped, writes that would block fail as if
/// the reader were gone.
pub struct Stdout {
    chunks: Sender<Vec<u8>>,
    /// What became of each.
    results: Receiver<io::Result<()>>,
    told: Receiver<()>,
}

/// See [`Stdin`] and [`Stdout`].
pub struct StdioEnd(#[expect(dead_code, reason = "dropping it is what counts")] Sender<()>);

/// This process's stdin and stdout, unbuffered, and the handle that ends them.
///
/// # Errors
/// When no threads are left.
pub fn stdio() -> io::Result<(Stdin, Stdout, StdioEnd)> {
    let (end, told) = bounded(0);
    let (read, chunks) = bounded(1);
    spawn("stdin".to_owned(), Some(SMALL_STACK), move || {
        read_to(&read)
    })?;
    let stdin = Stdin {
        chunks,
        chunk: io::Cursor::default(),
        told: told.clone(),
    };
    let (chunks, written) = bounded(0);
    let (result, results) = bounded(1);
    spawn("stdout".to_owned(), Some(SMALL_STACK), move || {
        write_from(&written, &result);
    })?;
    let stdout = Stdout {
        chunks,
        results,
        told,
    };
    Ok((stdin, stdout, StdioEnd(end)))
}

/// Whether stdin stays open as long as who has started this process lives: it is a pipe, a socket or a console.
///
/// # Errors
/// Never here.
pub fn can_end_later() -> io::Result<bool> {
    Ok(files::is_pipe(&io::stdin()) || io::stdin().is_terminal())
}

/// The thread that reads, up to the end of the input, for which it leaves no chunk.
fn read_to(chunks: &Sender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; READ_BUFFER];
    loop {
        let read = match io::stdin().lock().read(&mut buffer) {
            Ok(0) => return,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map(|n| buffer[..n].to_vec()),
        };
        let failed = read.is_err();
        if chunks.send(read).is_err() || failed {
            return;
        }
    }
}

/// The thread that writes.
fn write_from(chunks: &Receiver<Vec<u8>>, results: &Sender<io::Result<()>>) {
    for chunk in chunks {
        let mut stdout = io::stdout().lock();
        let result = stdout.write_all(&chunk).and_then(|()| stdout.flush());
        if results.send(result).is_err() {
            return;
        }
    }
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.chunk.read(buffer)?;
        if n > 0 || buffer.is_empty() {
            return Ok(n);
        }
        select! {
            recv(self.told) -> _ => return Ok(0),
            recv(self.chunks) -> chunk => match chunk {
                Ok(chunk) => self.chunk = io::Cursor::new(chunk?),
                Err(_) => return Ok(0),
            },
        }
        self.chunk.read(buffer)
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        select! {
            send(self.chunks, bytes.to_vec()) -> sent => sent.map_err(|_| broken())?,
            recv(self.told) -> _ => return Err(broken()),
        }
        select! {
            recv(self.results) -> result => result.map_err(|_| broken())?.map(|()| bytes.len()),
            recv(self.told) -> _ => Err(broken()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
