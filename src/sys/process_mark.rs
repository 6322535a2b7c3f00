//! The mark that identifies the processes of a server.
//!
//! Every child carries its mark in two places, and its descendants inherit both:
//! - In its environment. A program that cleans its environment loses it.
//! - On Linux with a 64-bit kernel, in the soft value of the resource limit `RLIMIT_LOCKS`, which the kernel has
//!   ignored since 2.4.25. It survives fork, exec, `setsid` and any change of the environment, and every process can
//!   read it. A program loses it only if it sets this limit.
//!
//! This module does no I/O but for the random number of the server: [`descendants`](super::descendants) searches for
//! marks, and [`unix`](super::unix) sets them.

use std::io;
use std::sync::OnceLock;

/// The environment variable that carries the mark.
pub const MARK: &str = "GOSLING_PROCESS_MARK";

/// The bits of a limit with the number of the child; the bits above identify the server.
const CHILD_NUMBER_BITS: u64 = (1 << 24) - 1;
/// Set in every mark, so that it is not mistaken for a limit that was set on purpose.
const MARK_BIT: u64 = 1 << 62;
/// Maximum length of the mark of an enclosing server that children inherit too.
const MAX_INHERITED: usize = 1000;

/// Identifies the processes of one server, or of one of its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessMark {
    pub(super) text: String,
    /// The server's part of the limit, if limits can carry marks on this system.
    server: Option<u64>,
    /// The number of the child or family; `None` for all of the server.
    child: Option<u64>,
    /// Whether this is a member of a family. Members share the limit; only their environments tell them apart.
    pub(super) member: bool,
}

/// The result of comparing a process's limit with a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitMatch {
    /// The limit carries the mark.
    Marked,
    /// The process is not wanted: its limit carries the mark of another child of the same server, or it belongs
    /// to another user.
    Other,
    /// The limit carries no mark of this server.
    Nothing,
}

impl ProcessMark {
    /// The mark of a whole server, from its random name in hexadecimal.
    pub(super) fn of_server(name: &str) -> ProcessMark {
        let number = name.get(..16).and_then(|n| u64::from_str_radix(n, 16).ok());
        ProcessMark {
            text: format!("{name}."),
            // Half of the numbers are not used: negative ones, and the one for "no limit".
            server: number
                .filter(|_| cfg!(target_os = "linux"))
                .map(|n| MARK_BIT | (n & (MARK_BIT - 1) & !CHILD_NUMBER_BITS)),
            child: None,
            member: false,
        }
    }

    /// The mark of the server's child `number`.
    pub(super) fn of_child(&self, number: u64) -> ProcessMark {
        ProcessMark {
            text: format!("{}{number}.", self.text),
            server: self.server,
            child: Some(number),
            member: false,
        }
    }

    /// The value of the environment variable for a child, after the value of the enclosing server.
    pub(super) fn variable(&self, around: Option<&str>) -> String {
        let around = around.filter(|around| around.len() <= MAX_INHERITED);
        format!("{}{}", around.unwrap_or_default(), self.text)
    }

    /// The limit for a child; `None` when its number has too many bits.
    pub(super) fn limit(&self) -> Option<u64> {
        let child = self.child.filter(|child| *child <= CHILD_NUMBER_BITS)?;
        Some(self.server? | child)
    }

    /// Compares a limit with this mark.
    pub(super) fn classify_limit(&self, limit: u64) -> LimitMatch {
        if self.server != Some(limit & !CHILD_NUMBER_BITS) {
            return LimitMatch::Nothing;
        }
        match self.child {
            None => LimitMatch::Marked,
            Some(child) if child != limit & CHILD_NUMBER_BITS => LimitMatch::Other,
            Some(_) if self.member => LimitMatch::Nothing,
            Some(_) => LimitMatch::Marked,
        }
    }

    /// Whether an environment, a sequence of entries that end in NUL, contains the mark.
    pub(super) fn is_in(&self, environment: &[u8]) -> bool {
        let mut values = environment.split(|byte| *byte == 0).filter_map(|entry| {
            let value = entry.strip_prefix(MARK.as_bytes())?;
            value.strip_prefix(b"=")
        });
        let text = self.text.as_bytes();
        values.any(|value| value.windows(text.len()).any(|part| part == text))
    }
}

/// The soft limit in the text of `/proc/PID/limits`.
pub(super) fn limit_in(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max file locks"));
    line?.split_whitespace().next()?.parse().ok()
}

/// The first part of every child's mark. It is random, so that the children of another server are never
/// mistaken for this server's.
pub(super) fn server_mark() -> io::Result<&'static str> {
    static SERVER: OnceLock<String> = OnceLock::new();
    if let Some(mark) = SERVER.get() {
        return Ok(mark);
    }
    let mark = super::random_hex(16)?;
    Ok(SERVER.get_or_init(|| mark))
}

#[cfg(test)]
mod tests;
