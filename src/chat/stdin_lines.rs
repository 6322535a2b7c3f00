//! Reads the lines of stdin: messages of the user, and answers to questions.

use crate::sys;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use crate::text::strip_invisible;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::VecDeque;
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The longest line, in bytes.
const MAX_LINE: u64 = 4 << 20;
/// A terminal cuts off a line after so many bytes and passes on the beginning (`N_TTY_BUF_SIZE` of Linux).
const TERMINAL_LINE: usize = 4_095;
/// What the user is told about such a line.
pub(super) const CUT: &str = "that line was not used, as the terminal cuts off lines after 4,095 bytes; put the text \
    into a file and name the file, or leave and run `gosling chat --session ID -m \"$(cat FILE)\"`";
/// How many lines are read ahead.
const MAX_READ_AHEAD: usize = 16;

/// What a line that is for the running turn begins with.
pub(crate) const STEER: &str = "/steer ";

/// Takes a text for the running turn, in the thread that reads stdin; false if no turn takes it.
type Steer = Box<dyn Fn(&str) -> bool + Send>;

/// A line of stdin, or its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine {
    Text(String),
    /// The terminal may have cut off its end.
    Cut,
    End,
    Unreadable(String),
}

/// Reads stdin in a thread, so that waiting for an answer can be cancelled. The thread starts with the first
/// request for a line and ends with stdin or the process.
pub(crate) struct StdinLines {
    terminal: bool,
    lines: Option<Receiver<(Instant, InputLine)>>,
    /// Lines that were typed before a question, so they are not the answer to it.
    early: VecDeque<InputLine>,
    /// While a turn runs.
    steer: Arc<Mutex<Option<Steer>>>,
}

impl StdinLines {
    pub(crate) fn new(terminal: bool) -> Self {
        StdinLines {
            terminal,
            lines: None,
            early: VecDeque::new(),
            steer: Arc::default(),
        }
    }

    /// Passes lines that begin with [`STEER`] to `steer` from now on; `None` ends that.
    pub(crate) fn steer_with(&self, steer: Option<Steer>) {
        *lock(&self.steer) = steer;
    }

    /// Whether stdin is a terminal, so that the user can be asked.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The next message of the user.
    pub(crate) fn next(&mut self) -> InputLine {
        let early = self.early.pop_front();
        if self.terminal {
            let shown = match &early {
                Some(InputLine::Text(line)) => format!("> {}\n", strip_invisible(line)),
                _ => "> ".to_owned(),
            };
            // A closed stderr is not an error.
            let _ = io::stderr().write_all(shown.as_bytes());
        }
        if let Some(line) = early {
            return line;
        }
        match self.lines().recv() {
            Ok((_, line)) => line,
            Err(_) => InputLine::End,
        }
    }

    /// The answer to the current question; `None` if stdin ends or `cancel` fires.
    pub(crate) fn answer(&mut self, cancel: &Cancel) -> Option<String> {
        let asked = Instant::now();
        loop {
            match cancel.receive(self.lines(), Duration::MAX).ok()? {
                (when, line) if when < asked => self.early.push_back(line),
                (_, InputLine::Text(line)) => return Some(line),
                (_, InputLine::Cut) => crate::note::print_note(CUT),
                (_, end) => {
                    self.early.push_back(end);
                    return None;
                }
            }
        }
    }

    fn lines(&mut self) -> &Receiver<(Instant, InputLine)> {
        self.lines.get_or_insert_with(|| {
            let (send, lines) = bounded(MAX_READ_AHEAD);
            let (terminal, steer) = (self.terminal, self.steer.clone());
            let reader = move || read(&mut io::stdin().lock(), terminal, &steer, &send);
            // If the thread cannot be started, the channel is closed, and the input ends.
            let _ = sys::spawn("stdin".to_owned(), None, reader);
            lines
        })
    }
}

fn read(
    from: &mut impl BufRead,
    terminal: bool,
    steer: &Mutex<Option<Steer>>,
    to: &Sender<(Instant, InputLine)>,
) {
    loop {
        let line = line(from, terminal);
        if let InputLine::Text(line) = &line
            && let Some(text) = line.strip_prefix(STEER)
            && lock(steer).as_ref().is_some_and(|steer| steer(text))
        {
            continue;
        }
        let last = matches!(line, InputLine::End | InputLine::Unreadable(_));
        if to.send((Instant::now(), line)).is_err() || last {
            return;
        }
    }
}

fn line(from: &mut impl BufRead, terminal: bool) -> InputLine {
    let mut bytes = Vec::new();
    match from.take(MAX_LINE + 1).read_until(b'\n', &mut bytes) {
        Err(error) => InputLine::Unreadable(format!("cannot read stdin: {error}")),
        Ok(0) => InputLine::End,
        Ok(_) if bytes.len() as u64 > MAX_LINE => {
            InputLine::Unreadable("a line of stdin is longer than 4 MiB".to_owned())
        }
        Ok(_) if terminal && is_cut(&bytes) => InputLine::Cut,
        Ok(_) => {
            while bytes.last().is_some_and(|byte| b"\r\n".contains(byte)) {
                bytes.pop();
            }
            InputLine::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}

fn is_cut(line: &[u8]) -> bool {
    line.strip_suffix(b"\n").unwrap_or(line).len() >= TERMINAL_LINE
}

#[cfg(test)]
mod tests;
