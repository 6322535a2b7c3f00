//! Reads a server's stderr: logs the first lines and keeps the end for errors.

use super::StdioOptions;
use super::stdout_reader::StdoutReader;
use crossbeam_channel::Sender;
use gosling_sys::lock;
use gosling_sys::pipe::PipeReader;
use gosling_sys::process::ExitWatch;
use gosling_text::{Cut, printable, redact_excerpt};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex};

/// The most that is kept of the end, in bytes.
const MAX_TAIL: usize = 8 << 10;
/// The most that is kept of an unfinished line, in bytes.
const MAX_LINE_KEPT: usize = 8 << 10;
/// The longest excerpt in an error, in characters.
const MAX_EXCERPT: usize = 2_000;
/// How many lines are logged.
const MAX_LOGGED_LINES: usize = 5;

/// The end of a server's stderr.
pub(super) type Tail = Mutex<VecDeque<u8>>;

/// The stderr thread. It also waits for the exit of the server, which stdout does not show while a descendant
/// process holds it open.
pub(super) struct StderrReader {
    pub(super) stderr: PipeReader,
    pub(super) exit: ExitWatch,
    pub(super) stdout_reader: Arc<StdoutReader>,
    pub(super) tail: Arc<Tail>,
    pub(super) options: Arc<StdioOptions>,
}

impl StderrReader {
    /// Reads to the end of stderr, then drops `ended`, and waits until the server has exited, unless it was
    /// told to stop.
    pub(super) fn run(self, ended: Sender<()>) {
        let mut buffer = [0; 4 << 10];
        let mut first = FirstLines::default();
        let mut exited = false;
        loop {
            if !exited && self.exit.wait(Some(&self.stderr)) {
                exited = true;
                self.stdout_reader.end_soon();
            }
            match (&self.stderr).read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(n) => {
                    self.keep(&buffer[..n]);
                    first.read(&buffer[..n], |line, cut| self.log(line, cut));
                }
            }
        }
        first.end(|line, cut| self.log(line, cut));
        drop(ended);
        if !exited && !self.stderr.is_stopped() && self.exit.wait(None) {
            self.stdout_reader.end_soon();
        }
    }

    fn keep(&self, bytes: &[u8]) {
        let mut tail = lock(&self.tail);
        tail.extend(bytes);
        let excess = tail.len().saturating_sub(MAX_TAIL);
        tail.drain(..excess);
    }

    fn log(&self, line: &[u8], cut: Cut) {
        let line = redact_excerpt(line.trim_ascii_end(), cut, &self.options.secrets);
        let name = &self.options.name;
        let line = printable(&line, MAX_EXCERPT);
        log::info!("server wrote to stderr extension={name:?} text={line:?}");
    }
}

/// The first lines, each complete however it was written, so that secrets are found in it. Only the beginning
/// of a long line is kept.
#[derive(Default)]
struct FirstLines {
    /// The number of lines so far.
    count: usize,
    /// The unfinished line.
    line: Vec<u8>,
    /// The rest of the current line is skipped.
    skips: bool,
}

impl FirstLines {
    fn read(&mut self, bytes: &[u8], mut log: impl FnMut(&[u8], Cut)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.count == MAX_LOGGED_LINES {
                return;
            }
            if !self.skips {
                let free = MAX_LINE_KEPT - self.line.len();
                self.line.extend(&piece[..piece.len().min(free)]);
            }
            let ends = piece.ends_with(b"\n");
            if ends || self.line.len() == MAX_LINE_KEPT {
                self.log(!ends, &mut log);
            }
            self.skips = !ends && (self.skips || self.line.is_empty());
        }
    }

    /// Logs the last line if it has no line end.
    fn end(&mut self, mut log: impl FnMut(&[u8], Cut)) {
        self.log(true, &mut log);
    }

    fn log(&mut self, behind: bool, log: &mut impl FnMut(&[u8], Cut)) {
        let line = std::mem::take(&mut self.line);
        if !line.trim_ascii().is_empty() {
            self.count += 1;
            let before = false;
            log(&line, Cut { before, behind });
        }
    }
}

/// The excerpt of stderr for an error.
pub(super) fn stderr_excerpt(tail: &Tail, secrets: &[String]) -> String {
    let bytes: Vec<u8> = lock(tail).iter().copied().collect();
    let cut = Cut {
        before: bytes.len() == MAX_TAIL,
        behind: true,
    };
    let text = redact_excerpt(&bytes, cut, secrets);
    let skipped = text.chars().count().saturating_sub(MAX_EXCERPT);
    let text: String = text.chars().skip(skipped).collect();
    let lines = text.trim().lines().map(|line| printable(line, MAX_EXCERPT));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
