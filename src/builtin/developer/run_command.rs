//! Runs a command and listens to it. One thread reads what the command prints as it comes, another tells
//! the client, so that neither a slow client nor a flood holds the command up, fills the memory, or keeps
//! it from being ended in time.

use super::child_output::{ChildOutput, Source};
use super::output_lines::LineSplitter;
use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::pipe::PipeReader;
use crate::sys::process::{Command, Family, Grace, Process};
use crate::sys::{SMALL_STACK, lock};
use std::collections::VecDeque;
use std::io;
use std::process::{ChildStderr, ChildStdout, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How much output a command may have, in characters.
pub(super) const MAX_OUTPUT: usize = 400_000;
/// How much of the end of a longer one is kept, in bytes.
const KEPT_TAIL: usize = 4 << 10;
/// How many lines may wait for the client, and how many it is sent in all.
const MAX_QUEUED_LINES: usize = 1_000;
const MAX_NOTIFIED_LINES: usize = 10_000;
/// How much may wait for it, in bytes.
const MAX_QUEUED_BYTES: usize = 1 << 20;
/// How much of a line the client is sent as it comes, in bytes.
const MAX_NOTIFIED_LINE: usize = 8 << 10;
/// How much is read at once, in bytes.
const READ_BUFFER: usize = 64 << 10;
/// How often it is read once more after the command has ended: what it started may go on writing.
const LAST_READS: usize = 4;
/// How often somebody looks who would miss an event otherwise.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long nobody needs to look.
const NO_DEADLINE: Duration = Duration::from_secs(3600);
/// How long a command that is asked to end may take.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long its output may take to end after it.
const OUTPUT_GRACE: Duration = Duration::from_millis(250);

/// Why a run was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited,
    TimedOut,
    Cancelled,
}

/// What became of a command.
pub(super) struct CommandResult {
    pub(super) end: End,
    pub(super) status: Option<ExitStatus>,
    /// All that it printed; of more than [`MAX_OUTPUT`] the end.
    pub(super) output: String,
    /// How long the output was, in characters.
    pub(super) printed: usize,
    pub(super) took: Duration,
    /// Reads on while something that the command started still writes.
    pub(super) reader: OutputReader,
}

/// The thread that reads what a command prints, and what it started.
pub(super) struct OutputReader {
    thread: JoinHandle<()>,
    /// Where it reads from, until it has ended.
    pipes: Arc<Mutex<Vec<PipeReader>>>,
}

impl OutputReader {
    /// Whether nothing holds the pipes any more.
    pub(super) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it, though something that nobody can end may still hold the pipes.
    pub(super) fn end(self) {
        if self.stop() {
            let _ = self.thread.join();
        }
    }

    /// It reads no more; false where it cannot be notified so.
    fn stop(&self) -> bool {
        // All of them, whatever the first one says.
        let notified: Vec<bool> = lock(&self.pipes).iter().map(PipeReader::stop).collect();
        !notified.contains(&false)
    }
}

/// What the reader and the caller share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    output: Output,
    queued: VecDeque<(Source, String)>,
    /// How much that is, in bytes.
    queued_bytes: usize,
    notified: usize,
    /// Nothing more is wanted: what still comes is read and forgotten.
    over: bool,
}

/// The output, or when it is too long, how long it is and its end as it came.
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

    /// A flood is only counted: nobody will read it.
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

/// The lines of the end of something; the first one is cut.
fn last_lines(end: &[u8]) -> String {
    let (mut text, mut lines) = (String::new(), LineSplitter::default());
    let whole = end
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let mut keep = |line: &str, _: bool| {
        text.push_str(line);
        text.push('\n');
    };
    lines.push(&end[whole..], &mut keep);
    lines.finish(&mut keep);
    text
}

/// Runs the command to its end, but no longer than `limit` and only until `cancel` fires; then it is ended
/// with all of its group. `line` hears each line as it comes, as far as it keeps up.
///
/// # Errors
/// Whatever kept the command from starting.
pub(super) fn run(
    family: &Family,
    command: Command,
    limit: Option<Duration>,
    cancel: &Cancel,
    line: &mut (dyn FnMut(Source, &str) + Send),
) -> io::Result<CommandResult> {
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
            // Without a thread for it nothing is notified, and the command runs all the same.
            if let Some(Err(error)) = notified {
                log::warn!("the lines of a command are not sent as they come reason={error}");
            }
        });
        match end {
            End::Exited => process.leave(family),
            End::TimedOut | End::Cancelled => {
                process.end(Grace {
                    stdin: Duration::ZERO,
                    term: TERM_GRACE,
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
    let mut state = lock(&shared.state);
    let output = std::mem::take(&mut state.output);
    drop(state);
    Ok(CommandResult {
        end,
        status: process.status(),
        printed: output.printed,
        output: output.into_text(),
        took,
        reader,
    })
}

/// Starts the thread that reads the command's output into `shared`.
fn spawn_reader(
    process: &Arc<Process>,
    stdout: ChildStdout,
    stderr: ChildStderr,
    shared: &Arc<Shared>,
) -> io::Result<OutputReader> {
    let (stdout, stderr) = (PipeReader::new(stdout), PipeReader::new(stderr));
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

    /// Waits until the command is over, or has to be. `begin` is called when there are lines to be notified
    /// meanwhile.
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

    /// Tells the lines as they come until there will be no more. May wait for the client as long as it
    /// likes.
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

    /// Gives the output a moment to end after the command was ended.
    fn wait_for_output(&self) {
        let state = lock(&self.state);
        let going_on = |state: &mut State| !state.over;
        let waited = self
            .changed
            .wait_timeout_while(state, OUTPUT_GRACE, going_on);
        drop(waited);
    }

    /// Nothing more comes; of a call that was cancelled nobody hears what is left.
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
        let mut end = line.len().min(MAX_NOTIFIED_LINE);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        self.queued_bytes += end;
        self.queued.push_back((source, line[..end].to_owned()));
    }
}

/// The thread that reads.
struct Reader {
    output: ChildOutput,
    /// The splitters of stdout and stderr.
    lines: [LineSplitter; 2],
    shared: Arc<Shared>,
}

impl Reader {
    fn run(mut self) {
        while !self.output.is_closed() {
            let (lines, shared) = (&mut self.lines, &self.shared);
            let exited = self.output.poll(POLL_INTERVAL, &mut |source, bytes| {
                shared.take(source, bytes, &mut lines[source as usize]);
            });
            if exited {
                self.finish();
            }
        }
    }

    /// The command is over.
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
mod tests {
    use super::*;

    #[test]
    fn of_too_much_the_end_is_kept() {
        let mut output = Output::default();
        output.push(&"x".repeat(MAX_OUTPUT - 1), true);
        assert!(!output.is_too_long());
        output.push("one more", true);
        assert!(output.is_too_long() && output.text.is_empty());
        for n in 0..10_000 {
            output.count(format!("line {n}\n").as_bytes());
            assert!(output.end.len() <= KEPT_TAIL);
        }
        output.count("\u{fc}".repeat(10).as_bytes());
        let counted = 10 * 7 + 90 * 8 + 900 * 9 + 9_000 * 10;
        assert_eq!(output.printed, MAX_OUTPUT + 9 + counted + 10);
        let text = output.into_text();
        let end = format!("line 9999\n{}\n", "\u{fc}".repeat(10));
        assert!(text.starts_with("line 9") && text.ends_with(&end), "{text}");
    }
}
