//! Reads and outlines many source files in parallel, within limits.

use super::language::Language;
use super::outline::Outline;
use super::source_walk::TimeLimit;
use crate::sys::fs::read_start;
use crate::sys::threads::share;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The largest file, in bytes.
pub(super) const MAX_SOURCE: u64 = 2 << 20;
/// The most calls that are recorded for all files together.
const MAX_CALLS: usize = 4_000_000;
/// The most threads.
const MAX_THREADS: usize = 8;

/// Why a file has no outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    TooLarge,
    Binary,
    Unreadable,
    OutOfTime,
}

/// What a report says of the files without an outline.
const LEFT_OUT: [(Skipped, &str); 4] = [
    (
        Skipped::TooLarge,
        "are too large (more than 2 MiB) and were not read",
    ),
    (Skipped::Binary, "are not text"),
    (Skipped::Unreadable, "cannot be read"),
    (
        Skipped::OutOfTime,
        "were not analyzed within the time limit; name a smaller part",
    ),
];

/// The outlines of files, in the same order.
#[derive(Debug)]
pub(super) struct Outlines {
    pub(super) files: Vec<Result<Outline, Skipped>>,
    /// Whether some calls were not recorded.
    pub(super) calls_truncated: bool,
}

/// Reads a source file.
pub(super) fn source(path: &Path) -> Result<Vec<u8>, Skipped> {
    let text = read_start(path, MAX_SOURCE + 1).map_err(|_| Skipped::Unreadable)?;
    if text.len() as u64 > MAX_SOURCE {
        return Err(Skipped::TooLarge);
    }
    if text.iter().take(8_000).any(|b| *b == 0) {
        Err(Skipped::Binary)
    } else {
        Ok(text)
    }
}

/// The outline of one file.
pub(super) fn outline(path: &Path, calls: bool) -> Result<Outline, Skipped> {
    let text = source(path)?;
    let language = Language::of(path, &text).ok_or(Skipped::Unreadable)?;
    Ok(Outline::of(&text, language, calls))
}

/// Outlines all files, with a thread for each core.
pub(super) fn outline_all(paths: &[PathBuf], calls: bool, limit: &TimeLimit<'_>) -> Outlines {
    let remembered = AtomicUsize::new(0);
    let outlines: Vec<_> = paths.iter().map(|_| OnceLock::new()).collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MAX_THREADS).min(paths.len() / 16 + 1);
    share(paths.len(), threads, "analyze", &|at| {
        if limit.is_over() {
            return;
        }
        let wanted = calls && remembered.load(Ordering::Relaxed) < MAX_CALLS;
        let outline = outline(&paths[at], wanted);
        if let Ok(outline) = &outline {
            remembered.fetch_add(outline.calls.len(), Ordering::Relaxed);
        }
        let _ = outlines[at].set(outline);
    });
    let outlines = outlines.into_iter().map(OnceLock::into_inner);
    Outlines {
        files: outlines
            .map(|outline| outline.unwrap_or(Err(Skipped::OutOfTime)))
            .collect(),
        calls_truncated: remembered.into_inner() >= MAX_CALLS,
    }
}

impl Outlines {
    /// Notes on what was left out.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (why, text) in LEFT_OUT {
            let is_it = |outline: &&Result<_, _>| outline.as_ref().err() == Some(&why);
            match self.files.iter().filter(is_it).count() {
                0 => {}
                n => notes.push(format!("{n} of the files {text}")),
            }
        }
        if self.calls_truncated {
            let text = "There are too many calls to record all of them; name a smaller part";
            notes.push(text.to_owned());
        }
        notes
    }
}

#[cfg(test)]
mod tests;
