//! The loops that serve a connection over stdio and over memory.

use super::reply::{ReplySink, ReplyTarget};
use super::{Connection, GRACE, MAX_LINE, Server, memory};
use crate::jsonrpc::{ErrorObject, PARSE_ERROR};
use gosling_sys as sys;
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use gosling_text::json;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long calls may run after the end of the input, so that `printf REQUESTS | server` is answered.
const INPUT_END_TIMEOUT: Duration = Duration::from_secs(1);
/// How long calls may take to end after the client's output is lost.
const OUTPUT_LOST_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the process may take to end after its client has left: the [`GRACE`] of its calls, and the time
/// to end the processes that they started.
const PROCESS_END_TIMEOUT: Duration = Duration::from_secs(5);
/// The buffer of a longer line is freed.
const MAX_KEPT_BUFFER: usize = 64 << 10;

/// Serves one client: each line of `input` and of `output` is a message; `output` is flushed after each.
/// Returns when `input` ends or `output` fails. Calls that still run when `input` ends have a second to
/// answer; then they are cancelled and have [`GRACE`](super::GRACE) to end. MCP 2025-11-25, basic/transports,
/// stdio.
///
/// # Errors
/// `input` or `output` fails other than by being closed.
pub fn serve_stdio<R, W>(server: impl Into<Arc<Server>>, input: R, output: W) -> io::Result<()>
where
    R: BufRead,
    W: Write + Send + 'static,
{
    serve_lines(server.into(), input, output, &Cancel::new())
}

/// Serves the client at this process's stdin and stdout, reading on the calling thread, and returns the exit
/// code for `main`: success if the client has left or `gone` was cancelled, for example because of a signal.
/// After `gone` is cancelled, the process ends within five seconds even if this function does not return.
pub fn serve_stdio_process(server: impl Into<Arc<Server>>, gone: &Cancel) -> ExitCode {
    let _end = gone.on_cancel(end_process_soon);
    let served = sys::own_stdio::stdio().and_then(|(input, output, end)| {
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

/// Ends the process after [`PROCESS_END_TIMEOUT`], in which calls and their processes may end. If no thread
/// can be started, there is no time limit.
fn end_process_soon() {
    let end = || {
        thread::sleep(PROCESS_END_TIMEOUT);
        std::process::exit(0);
    };
    let _ = sys::spawn("mcp client gone".to_owned(), None, end);
}

/// Serves the client of a memory transport until it closes the connection. Runs on the calling thread.
pub fn serve_memory(server: impl Into<Arc<Server>>, end: memory::ServerEnd) {
    let outbox = end.outbox();
    let sink: ReplySink = Arc::new(move |message| outbox.send(&message));
    let connection = Connection::new(server, &Cancel::new()).notifying(sink.clone());
    while let Some(message) = end.recv() {
        connection.receive(&message, &sink);
    }
    connection.close(GRACE);
}

/// Cancels `gone` when `output` fails, or calls run long after the end of `input`.
fn serve_lines<R, W>(server: Arc<Server>, input: R, output: W, gone: &Cancel) -> io::Result<()>
where
    R: BufRead,
    W: Write + Send + 'static,
{
    let output = Arc::new(Output {
        stream: Mutex::new(output),
        failure: Mutex::default(),
        gone: gone.clone(),
    });
    let lines = output.clone();
    let sink: ReplySink = Arc::new(move |message| lines.send(message));
    let connection = Connection::new(server, gone).notifying(sink.clone());
    let ended = receive_lines(&connection, input, &sink, gone);
    if ended.is_ok() && !gone.is_cancelled() {
        connection.settle(INPUT_END_TIMEOUT);
    }
    if !connection.close(GRACE) && !gone.is_cancelled() {
        // A call may wait for the client, because the client does not read.
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

/// Writes whole lines. The lock is held for one line at a time.
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
        json::in_one_line(&mut message);
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
