//! The loops that carry a connection over stdio and over memory.

use super::reply::{ReplySink, ReplyTarget};
use super::{Connection, GRACE, MAX_LINE, Server};
use crate::mcp::jsonrpc::{ErrorObject, PARSE_ERROR};
use crate::mcp::transport::memory;
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long calls go on after the last line of input: `printf REQUESTS | server` is to be answered, too.
const INPUT_END_TIMEOUT: Duration = Duration::from_secs(1);
/// How long calls may take to end once nothing is written to their client any more.
const OUTPUT_LOST_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the process may take to end once its client is gone: the [`GRACE`] of its calls, and what it
/// takes to end the processes that they have left behind.
const PROCESS_END_TIMEOUT: Duration = Duration::from_secs(5);
/// A buffer that had to grow for one long line is not kept at that size.
const MAX_KEPT_BUFFER: usize = 64 << 10;

/// Serves one client: each line of `input` is a message, and so is each line of `output`, which is
/// flushed at once. Returns when `input` ends or `output` breaks. Calls that still run when `input` has
/// ended have a second to be answered; then they are cancelled and have [`GRACE`](super::GRACE) to end.
/// MCP 2025-11-25, basic/transports, stdio.
///
/// # Errors
/// When `input` or `output` fails other than by being closed.
pub fn serve_stdio<R, W>(server: impl Into<Arc<Server>>, input: R, output: W) -> io::Result<()>
where
    R: BufRead,
    W: Write + Send + 'static,
{
    serve_lines(server.into(), input, output, &Cancel::new())
}

/// Serves the client at this process's stdin and stdout, reading on the calling thread, and gives
/// the exit code for `main` to return: success when the client has left, or `gone` was cancelled because
/// a signal came, for example. Then nothing waits for the client any more, and the process ends within five
/// seconds, returned or not.
pub fn serve_stdio_process(server: impl Into<Arc<Server>>, gone: &Cancel) -> ExitCode {
    let _end = gone.on_cancel(end_process_soon);
    let served = sys::pipe::stdio().and_then(|(input, output, end)| {
        let _told = gone.on_cancel(move || drop(end));
        serve_lines(server.into(), BufReader::new(input), output, gone)
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(io::stderr(), "gosling: stdin or stdout failed: {e}");
            ExitCode::FAILURE
        }
    }
}

/// The client is gone, or is to be: what still runs, and what it has started, has until then to end. Where
/// no thread is to be had nobody looks at the clock, and everything ends in its own time.
fn end_process_soon() {
    let end = || {
        thread::sleep(PROCESS_END_TIMEOUT);
        std::process::exit(0);
    };
    let _ = sys::spawn("mcp client gone".to_owned(), None, end);
}

/// Serves the client at the other end of a memory transport until it closes the connection. Runs on
/// the calling thread.
pub fn serve_memory(server: impl Into<Arc<Server>>, end: memory::ServerEnd) {
    let connection = Connection::new(server, &Cancel::new());
    let outbox = end.outbox();
    let sink: ReplySink = Arc::new(move |message| outbox.send(&message));
    while let Some(message) = end.recv() {
        connection.receive(&message, &sink);
    }
    connection.close(GRACE);
}

/// `gone` is cancelled when `output` breaks, or calls go on long after the end of `input`.
fn serve_lines<R, W>(server: Arc<Server>, input: R, output: W, gone: &Cancel) -> io::Result<()>
where
    R: BufRead,
    W: Write + Send + 'static,
{
    let connection = Connection::new(server, gone);
    let output = Arc::new(Output {
        stream: Mutex::new(output),
        failure: Mutex::default(),
        gone: gone.clone(),
    });
    let lines = output.clone();
    let sink: ReplySink = Arc::new(move |message| lines.send(message));
    let ended = receive_lines(&connection, input, &sink, gone);
    if ended.is_ok() && !gone.is_cancelled() {
        connection.settle(INPUT_END_TIMEOUT);
    }
    if !connection.close(GRACE) && !gone.is_cancelled() {
        // It may be the client that a call waits for, because it does not read.
        gone.cancel();
        connection.close(OUTPUT_LOST_TIMEOUT);
    }
    match lock(&output.failure).take() {
        Some(failure) if failure.kind() != ErrorKind::BrokenPipe => Err(failure),
        _ => ended,
    }
}

fn receive_lines(
    connection: &Connection,
    mut input: impl BufRead,
    sink: &ReplySink,
    gone: &Cancel,
) -> io::Result<()> {
    let mut line = Vec::new();
    while !gone.is_cancelled() {
        line.clear();
        line.shrink_to(MAX_KEPT_BUFFER);
        let read = (&mut input)
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut line)?;
        if read == MAX_LINE && !line.ends_with(b"\n") {
            line = Vec::new();
            let text = format!("The line has more than {MAX_LINE} bytes and is skipped");
            let refused = Err::<(), _>(ErrorObject::new(PARSE_ERROR, text));
            ReplyTarget::alone(sink).answer(None, refused);
            input.skip_until(b'\n')?;
        } else if read == 0 {
            break;
        } else if !line.trim_ascii().is_empty() {
            connection.receive(&line, sink);
        }
    }
    Ok(())
}

/// Writes whole lines. Its lock is only ever held for one of them, which is what keeps them whole.
struct Output<W> {
    stream: Mutex<W>,
    failure: Mutex<Option<io::Error>>,
    gone: Cancel,
}

impl<W: Write> Output<W> {
    fn send(&self, mut message: Vec<u8>) {
        if self.gone.is_cancelled() {
            return;
        }
        // A line break that came in opaque JSON can only be white space there.
        for byte in &mut message {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        message.push(b'\n');
        let written = {
            let mut stream = lock(&self.stream);
            stream.write_all(&message).and_then(|()| stream.flush())
        };
        if let Err(e) = written {
            lock(&self.failure).get_or_insert(e);
            self.gone.cancel();
        }
    }
}
