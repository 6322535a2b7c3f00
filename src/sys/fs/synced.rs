//! What this thread has made durable: only a power failure would show a sync that is missing.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

/// A file or folder: its inode, and its size then, which means nothing for a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synced {
    inode: u64,
    len: u64,
}

thread_local! {
    static SYNCED: RefCell<Vec<Synced>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn note(file: &File) {
    let is = file.metadata().map(|it| Synced::of(&it)).unwrap();
    SYNCED.with_borrow_mut(|synced| synced.push(is));
}

/// What was made durable since the last call, in this order.
pub fn take() -> Vec<Synced> {
    SYNCED.take()
}

/// The present state of these files and folders.
pub fn now(paths: &[&Path]) -> Vec<Synced> {
    let now = |path: &&Path| Synced::of(&std::fs::metadata(path).unwrap());
    paths.iter().map(now).collect()
}

impl Synced {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Synced {
            inode: crate::stamp::Stamp::of(metadata).unwrap().inode,
            len: if metadata.is_dir() { 0 } else { metadata.len() },
        }
    }
}
