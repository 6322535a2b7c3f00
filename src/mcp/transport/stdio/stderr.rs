//! What a server complains about: the end is kept for errors, the first lines are logged.

use super::StdioOptions;
use super::incoming::Incoming;
use crate::sys::lock;
use crate::sys::pipe::PipeReader;
use crate::sys::process::ExitWatch;
use crate::text::{printable, redact};
use crossbeam_channel::Sender;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex};

/// How much is kept, in bytes.
const TAIL: usize = 8 << 10;
/// How much of it goes into an error, in characters.
const QUOTED: usize = 2_000;
/// How many lines are logged; the rest is only kept.
const LOGGED: usize = 5;

/// The end of what a server wrote.
pub(super) type Tail = Mutex<VecDeque<u8>>;

/// The stderr thread: reads as fast as the server writes. It also has the time to see the server
/// exit, which stdout does not show while a descendant of the server holds it open.
pub(super) struct Keeper {
    pub(super) stderr: PipeReader,
    pub(super) exit: ExitWatch,
    pub(super) incoming: Arc<Incoming>,
    pub(super) tail: Arc<Tail>,
    pub(super) options: Arc<StdioOptions>,
}

impl Keeper {
    /// Reads to the end of stderr, then drops `ended`, and stays until the server has exited, unless
    /// it was told to stop.
    pub(super) fn run(self, ended: Sender<()>) {
        let mut buffer = [0; 4 << 10];
        let (mut logged, mut exited) = (0, false);
        loop {
            if !exited && self.exit.wait(Some(&self.stderr)) {
                exited = true;
                self.incoming.end_soon();
            }
            match (&self.stderr).read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(n) => self.keep(&buffer[..n], &mut logged),
            }
        }
        drop(ended);
        if !exited && !self.stderr.is_stopped() && self.exit.wait(None) {
            self.incoming.end_soon();
        }
    }

    fn keep(&self, bytes: &[u8], logged: &mut usize) {
        if *logged < LOGGED {
            for line in String::from_utf8_lossy(bytes).lines() {
                *logged += 1;
                if *logged <= LOGGED {
                    let line = printable(&redact(line, &self.options.secrets), QUOTED);
                    let name = &self.options.name;
                    log::info!("server wrote to stderr extension={name:?} text={line:?}");
                }
            }
        }
        let mut tail = lock(&self.tail);
        tail.extend(bytes);
        let excess = tail.len().saturating_sub(TAIL);
        tail.drain(..excess);
    }
}

/// The end of stderr, fit for an error.
pub(super) fn last_words(tail: &Tail, secrets: &[String]) -> String {
    let bytes: Vec<u8> = lock(tail).iter().copied().collect();
    let text = redact(&String::from_utf8_lossy(&bytes), secrets);
    let skipped = text.chars().count().saturating_sub(QUOTED);
    let text: String = text.chars().skip(skipped).collect();
    let lines = text.trim().lines().map(|line| printable(line, QUOTED));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_end_without_secrets_and_escapes() {
        let tail = Mutex::new(b"token=hunter2\n\x1b[31mboom\n".iter().copied().collect());
        assert_eq!(
            last_words(&tail, &["hunter2".into()]),
            "token=[secret]\n\\u{1b}[31mboom"
        );
    }
}
