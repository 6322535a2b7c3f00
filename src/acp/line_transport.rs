//! The transport of `gosling acp`: one message a line on stdin and stdout.

use super::client_connection::MAX_MESSAGE;
use super::{Connection, MessageWriter, Outbox};
use crate::agent::Registry;
use crate::api;
use crate::json;
use crate::sys;
use crate::sys::cancel::Cancel;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// How long cancelled turns may take to end after the end of stdin.
const TURN_GRACE: Duration = Duration::from_secs(2);
/// How long the last messages may take to be written.
const WRITE_GRACE: Duration = Duration::from_millis(500);
/// The buffer of a longer line is freed.
const MAX_KEPT_BUFFER: usize = 64 << 10;
/// A batch of messages is written in parts of this size, in bytes.
const WRITE_BUFFER: usize = 64 << 10;

/// Serves the client at this process's stdin and stdout, and reads on the calling thread. Returns when stdin
/// ends, when stdout is closed, or when `gone` is cancelled, and the turns have ended.
///
/// # Errors
/// When stdin or stdout cannot be used, or reading fails.
pub fn serve_stdio_process(registry: &Arc<Registry>, gone: &Cancel) -> io::Result<()> {
    let (input, output, end) = sys::own_stdio::stdio()?;
    let _end = gone.on_cancel(move || drop(end));
    let writer = LineWriter {
        output,
        buffer: Vec::new(),
    };
    let outbox = Outbox::new("acp", writer, gone.clone())?;
    let routes = Arc::new(api::router(registry.clone()));
    let connection = Connection::new(
        registry.clone(),
        routes,
        Arc::default(),
        outbox.clone(),
        gone,
    );
    let ended = receive_lines(&connection, BufReader::new(input), gone);
    connection.close(TURN_GRACE);
    outbox.close(WRITE_GRACE);
    ended
}

fn receive_lines(
    connection: &Connection,
    mut input: impl BufRead,
    gone: &Cancel,
) -> io::Result<()> {
    let mut line = Vec::new();
    while !gone.is_cancelled() {
        line.clear();
        line.shrink_to(MAX_KEPT_BUFFER);
        let limit = MAX_MESSAGE as u64 + 1;
        let read = (&mut input).take(limit).read_until(b'\n', &mut line)?;
        if read > MAX_MESSAGE && !line.ends_with(b"\n") {
            connection.refuse_long(&line);
            line = Vec::new();
            input.skip_until(b'\n')?;
        } else if read == 0 {
            break;
        } else if !line.trim_ascii().is_empty() {
            connection.receive(&line);
        }
    }
    Ok(())
}

/// Writes each message as a line.
struct LineWriter<W> {
    output: W,
    buffer: Vec<u8>,
}

impl<W: Write + Send> MessageWriter for LineWriter<W> {
    fn write(&mut self, messages: &[Vec<u8>]) -> io::Result<()> {
        for message in messages {
            let start = self.buffer.len();
            self.buffer.extend_from_slice(message);
            json::in_one_line(&mut self.buffer[start..]);
            self.buffer.push(b'\n');
            if self.buffer.len() >= WRITE_BUFFER {
                self.write_buffer()?;
            }
        }
        self.write_buffer()?;
        self.output.flush()
    }
}

impl<W: Write> LineWriter<W> {
    fn write_buffer(&mut self) -> io::Result<()> {
        let written = self.output.write_all(&self.buffer);
        self.buffer.clear();
        self.buffer.shrink_to(WRITE_BUFFER);
        written
    }
}

#[cfg(test)]
mod tests;
