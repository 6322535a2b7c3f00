//! What a server complains about: the end is kept for errors, the first lines are logged.

use super::StdioOptions;
use crate::mcp::text::{printable, redact};
use crate::sys::lock;
use crate::sys::pipe::PipeReader;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Mutex;

/// How much is kept, in bytes.
const TAIL: usize = 8 << 10;
/// How much of it goes into an error, in characters.
const QUOTED: usize = 2_000;
/// How many lines are logged; the rest is only kept.
const LOGGED: usize = 5;

/// The end of what a server wrote.
pub(super) type Tail = Mutex<VecDeque<u8>>;

/// The stderr thread: reads as fast as the server writes, keeps the end, logs the first lines.
pub(super) fn keep(stderr: &PipeReader, tail: &Tail, options: &StdioOptions) {
    let mut buffer = [0; 4 << 10];
    let mut logged = 0;
    loop {
        let n = match (&mut &*stderr).read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(n) => n,
        };
        if logged < LOGGED {
            for line in String::from_utf8_lossy(&buffer[..n]).lines() {
                logged += 1;
                if logged <= LOGGED {
                    let line = printable(&redact(line, &options.secrets), QUOTED);
                    log::info!(
                        "server wrote to stderr extension={:?} text={line:?}",
                        options.name
                    );
                }
            }
        }
        let mut tail = lock(tail);
        tail.extend(&buffer[..n]);
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
