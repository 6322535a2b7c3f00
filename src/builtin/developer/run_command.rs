//! Runs a shell command. One thread reads its output, another sends the lines to the client. So neither a slow
//! client nor a flood of output blocks the command, fills the memory, or delays a timeout.

use super::child_output::{ChildOutput, Source};
use super::output_lines::LineSplitter;
use crate::sys;
use crate::sys::Family;
use crate::sys::cancel::Cancel;
use crate::sys::pipe::PipeReader;
use crate::sys::process::{Command, Grace, Process};
use crate::sys::{SMALL_STACK, lock};
use serde::Serialize;
use std::collections::VecDeque;
use std::io;
use std::process::{ChildStderr, ChildStdout, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The longest output of a command, in characters.
pub(super) const MAX_OUTPUT: usize = 400_000;
/// How much of the end of a longer output is kept, in bytes.
pub(super) const KEPT_TAIL: usize = 4 << 10;
/// The most lines that wait for the client, and that are sent to it in all.
const MAX_QUEUED_LINES: usize = 1_000;
const MAX_NOTIFIED_LINES: usize = 10_000;
/// The most text that waits for the client, in bytes.
const MAX_QUEUED_BYTES: usize = 1 << 20;
/// How much of a line is sent to the client, in bytes.
const MAX_NOTIFIED_LINE: usize = 8 << 10;
/// How many bytes are read at once.
const READ_BUFFER: usize = 64 << 10;
/// How many polls may find output after the command has exited: its descendants may go on writing.
const LAST_READS: usize = 4;
/// How often the calling thread checks for cancellation and the time limit.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a wait may take that another thread ends.
const NO_DEADLINE: Duration = Duration::from_secs(3600);
/// How long a command may run on after SIGTERM: at its time limit, and when it is cancelled, mostly by a user who wants
/// it to stop now.
const TERM_GRACE: Duration = Duration::from_secs(2);
const CANCEL_GRACE: Duration = Duration::from_millis(80);
/// How long the output may take to end after the command was ended.
const OUTPUT_GRACE: Duration = Duration::from_millis(250);

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited,
    TimedOut,
    Cancelled,
}

/// The signal that ended a command: its number, or what a client calls it.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Signal {
    Number(i32),
    Name(String),
}

/// How a command ended, and what it has printed.
pub(super) struct CommandResult {
    pub(super) end: End,
    pub(super) code: Option<i32>,
    pub(super) signal: Option<Signal>,
    /// The whole output; if it has more than [`MAX_OUTPUT`] characters, only its end.
    pub(super) output: String,
    /// The length of the output, in characters.
    pub(super) printed: usize,
    pub(super) took: Duration,
    /// The time limit of the command.
    pub(super) limit: Option<Duration>,
}

/// The thread that reads the output of a command and of the processes that it started.
pub(super) struct OutputReader {
    thread: JoinHandle<()>,
    /// The pipes that it reads; empty once it has ended.
    pipes: Arc<Mutex<Vec<PipeReader>>>,
}

impl OutputReader {
    /// Whether no process holds the pipes open any more.
    pub(super) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the thread, even if a process still holds the pipes open.
    pub(super) fn end(self) {
        if self.stop() {
            let _ = self.thread.join();
        }
    }

    /// Tells the thread to stop reading; false where the system does not support that.
    fn stop(&self) -> bool {
        // Every pipe has to be told.
        let notified: Vec<bool> = lock(&self.pipes).iter().map(PipeReader::stop).collect();
        !notified.contains(&false)
    }
}

/// The state that the reader thread and the caller share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    output: Output,
    queued: VecDeque<(Source, String)>,
    /// The size of the queued lines, in bytes.
    queued_bytes: usize,
    notified: usize,
    /// Whether the run has ended. Later output is read and discarded.
    over: bool,
}

/// The output. If it is too long, only its length and the raw bytes of its end.
#[derive(Default)]
struct Output {
    text: String,
    printed: usize,
    end: Vec<u8>,
}

impl Output {
    fn is_too_long(&self) -> bool {
        self.printed > MAX_OUTPUT
    }

    fn push(&mut self, line: &str, ended: bool) {
        self.printed += line.chars().count() + usize::from(ended);
        self.text.push_str(line);
        if ended {
            self.text.push('\n');
        }
        if self.is_too_long() {
            let text = std::mem::take(&mut self.text).into_bytes();
            self.keep_end(&text);
        }
    }

    /// Counts output beyond the limit without splitting it into lines.
    fn count(&mut self, bytes: &[u8]) {
        self.printed += bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.keep_end(bytes);
    }

    fn keep_end(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(KEPT_TAIL)..];
        let kept = (KEPT_TAIL - new.len()).min(self.end.len());
        self.end.drain(..self.end.len() - kept);
        self.end.extend_from_slice(new);
    }

    fn into_text(self) -> String {
        if self.is_too_long() {
            last_lines(&self.end)
        } else {
            self.text
        }
    }
}

/// The complete lines at the end of an output that was cut.
fn last_lines(end: &[u8]) -> String {
    let mut text = String::new();
    let mut lines = LineSplitter::default();
    let first = end.iter().position(|byte| *byte == b'\n');
    let whole = first.map_or(0, |at| at + 1);
    let mut keep = |line: &str, _: bool| {
        text.push_str(line);
        text.push('\n');
    };
    lines.push(&end[whole..], &mut keep);
    lines.finish(&mut keep);
    text
}

/// Runs the command until it exits, `limit` is over or `cancel` fires. In the last two cases its process group is
/// ended. `line` is called with each line as it arrives; lines are skipped if it is too slow. The reader reads on while
/// processes that the command started hold its output open.
///
/// # Errors
/// Why the command could not be started.
pub(super) fn run(
    family: &Family,
    command: Command,
    limit: Option<Duration>,
    cancel: &Cancel,
    line: &mut (dyn FnMut(Source, &str) + Send),
) -> io::Result<(CommandResult, OutputReader)> {
    let begin = Instant::now();
    let (process, pipes) = Process::spawn_in(family, command, limit, cancel)?;
    drop(pipes.stdin);
    let process = Arc::new(process);
    let shared = Arc::new(Shared::default());
    let reader = spawn_reader(&process, pipes.stdout, pipes.stderr, &shared)?;
    let woken = shared.clone();
    let _hook = cancel.on_cancel(move || woken.changed.notify_all());
    let until = limit.map(|limit| begin + limit);
    let mut line = Some(line);
    let (end, took) = thread::scope(|scope| {
        let end = shared.wait_for_end(until, cancel, &mut || {
            let notify = line.take().map(|line| || shared.notify(line));
            let teller = thread::Builder::new().name("shell lines".to_owned());
            let notified = notify.map(|notify| teller.spawn_scoped(scope, notify));
            // Without a thread no lines are sent; the command runs all the same.
            if let Some(Err(error)) = notified {
                log::warn!("lines of a command are not sent while it runs reason={error}");
            }
        });
        match end {
            End::Exited => process.leave(family),
            End::TimedOut | End::Cancelled => {
                process.end(Grace {
                    stdin: Duration::ZERO,
                    term: match end {
                        End::Cancelled => CANCEL_GRACE,
                        _ => TERM_GRACE,
                    },
                });
                shared.wait_for_output();
                reader.stop();
            }
        }
        shared.close(end);
        (end, begin.elapsed())
    });
    if let Some(line) = line {
        shared.notify(line);
    }
    let output = std::mem::take(&mut lock(&shared.state).output);
    let (code, signal) = outcome(process.status());
    let result = CommandResult {
        end,
        code,
        signal: signal.map(Signal::Number),
        printed: output.printed,
        output: output.into_text(),
        took,
        limit,
    };
    Ok((result, reader))
}

fn outcome(status: Option<ExitStatus>) -> (Option<i32>, Option<i32>) {
    status.map_or((None, None), |status| {
        (status.code(), sys::signal_of(status))
    })
}

/// Starts the thread that reads the command's output into `shared`.
fn spawn_reader(
    process: &Arc<Process>,
    stdout: ChildStdout,
    stderr: ChildStderr,
    shared: &Arc<Shared>,
) -> io::Result<OutputReader> {
    let stdout = PipeReader::new(stdout);
    let stderr = PipeReader::new(stderr);
    let open = Arc::new(Mutex::new(vec![stdout.clone(), stderr.clone()]));
    let output = ChildOutput::new(process.clone(), stdout, stderr, READ_BUFFER, LAST_READS);
    let reader = Reader {
        output,
        lines: Default::default(),
        shared: shared.clone(),
    };
    let pipes = open.clone();
    let name = format!("shell {}", process.pid());
    let thread = sys::spawn(name, Some(SMALL_STACK), move || {
        reader.run();
        lock(&pipes).clear();
    })?;
    Ok(OutputReader {
        thread,
        pipes: open,
    })
}

impl Shared {
    /// Takes what the reader thread has read.
    fn take(&self, source: Source, bytes: &[u8], lines: &mut LineSplitter) {
        let mut state = lock(&self.state);
        if state.output.is_too_long() {
            state.output.count(bytes);
        } else if !state.over {
            lines.push(bytes, &mut |line, ended| state.take(source, line, ended));
            let has_lines = !state.queued.is_empty();
            drop(state);
            if has_lines {
                self.changed.notify_all();
            }
        }
    }

    /// Waits until the command has exited, is cancelled or times out. Calls `begin` when the first lines are
    /// queued.
    fn wait_for_end(
        &self,
        until: Option<Instant>,
        cancel: &Cancel,
        begin: &mut dyn FnMut(),
    ) -> End {
        let mut state = lock(&self.state);
        let mut begun = false;
        loop {
            let now = Instant::now();
            if cancel.is_cancelled() {
                return End::Cancelled;
            }
            if state.over {
                return End::Exited;
            }
            if until.is_some_and(|until| now >= until) {
                return End::TimedOut;
            }
            if !begun && !state.queued.is_empty() {
                begun = true;
                drop(state);
                begin();
                state = lock(&self.state);
                continue;
            }
            let left = until.map_or(POLL_INTERVAL, |until| (until - now).min(POLL_INTERVAL));
            state = self.wait(state, left);
        }
    }

    /// Calls `line` for queued lines until the run has ended. `line` may block on the client.
    fn notify(&self, line: &mut dyn FnMut(Source, &str)) {
        let mut state = lock(&self.state);
        loop {
            match state.queued.pop_front() {
                Some((source, text)) => {
                    state.queued_bytes -= text.len();
                    drop(state);
                    line(source, &text);
                    state = lock(&self.state);
                }
                None if state.over => return,
                None => state = self.wait(state, NO_DEADLINE),
            }
        }
    }

    /// Waits a moment for the output to end after the command was ended.
    fn wait_for_output(&self) {
        let state = lock(&self.state);
        let going_on = |state: &mut State| !state.over;
        let waited = self
            .changed
            .wait_timeout_while(state, OUTPUT_GRACE, going_on);
        drop(waited);
    }

    /// Ends the run. Queued lines of a cancelled call are discarded.
    fn close(&self, end: End) {
        let mut state = lock(&self.state);
        state.over = true;
        if end == End::Cancelled {
            state.queued.clear();
            state.queued_bytes = 0;
        }
        drop(state);
        self.changed.notify_all();
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, left: Duration) -> MutexGuard<'s, State> {
        let waited = self.changed.wait_timeout(state, left);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl State {
    fn take(&mut self, source: Source, line: &str, ended: bool) {
        if self.output.is_too_long() {
            self.output.count(line.as_bytes());
            self.output.count(if ended { b"\n" } else { b"" });
        } else {
            self.output.push(line, ended)
        }
        if self.notified == MAX_NOTIFIED_LINES
            || self.queued.len() == MAX_QUEUED_LINES
            || self.queued_bytes >= MAX_QUEUED_BYTES
        {
            return;
        }
        self.notified += 1;
        let end = line.floor_char_boundary(MAX_NOTIFIED_LINE);
        self.queued_bytes += end;
        self.queued.push_back((source, line[..end].to_owned()));
    }
}

/// The state of the reader thread.
struct Reader {
    output: ChildOutput,
    /// The line splitters of stdout and stderr.
    lines: [LineSplitter; 2],
    shared: Arc<Shared>,
}

impl Reader {
    fn run(mut self) {
        while !self.output.is_closed() {
            let lines = &mut self.lines;
            let shared = &self.shared;
            let exited = self.output.poll(POLL_INTERVAL, &mut |source, bytes| {
                shared.take(source, bytes, &mut lines[source as usize]);
            });
            if exited {
                self.finish();
            }
        }
    }

    /// The command has exited and its output is read.
    fn finish(&mut self) {
        let mut state = lock(&self.shared.state);
        for (lines, source) in self.lines.iter_mut().zip([Source::Stdout, Source::Stderr]) {
            lines.finish(&mut |line, ended| state.take(source, line, ended));
        }
        state.over = true;
        drop(state);
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
