//! The contents of files before they were edited, so that edits can be undone.

use std::collections::{HashMap, VecDeque};
use std::fs::Permissions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// How many edits of a file can be undone.
const MAX_EDITS_PER_FILE: usize = 10;
/// The total size of the earlier contents, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// The edits of each file, the oldest first.
#[derive(Default)]
pub(super) struct History {
    edits: HashMap<PathBuf, VecDeque<Edit>>,
    size: usize,
}

/// One edit of a file.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The content before the edit; `None` if the file did not exist.
    pub(super) before: Option<String>,
    /// The mode of a file that the edit removed.
    pub(super) mode: Option<Permissions>,
    /// The state that the edit left.
    result: FileState,
}

/// The length and a hash of a content. The hash need not be collision-resistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(usize, u64);

/// The state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    Missing,
    Content(Fingerprint),
    /// A file that cannot be read or is larger than any that an edit leaves, or not a file.
    Other,
}

impl FileState {
    pub(super) fn of(text: Option<&str>) -> Self {
        text.map_or(FileState::Missing, |text| {
            FileState::Content(Fingerprint::of(text.as_bytes()))
        })
    }
}

impl Fingerprint {
    pub(super) fn of(content: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        Fingerprint(content.len(), hasher.finish())
    }
}

impl Edit {
    pub(super) fn new(before: Option<String>, after: Option<&str>) -> Self {
        Edit {
            before,
            mode: None,
            result: FileState::of(after),
        }
    }

    /// Whether the file has not changed since the edit.
    pub(super) fn is_unchanged_since(&self, now: FileState) -> bool {
        now != FileState::Other && self.result == now
    }

    /// Whether the file is in the state before the edit.
    fn is_undone(&self, now: FileState) -> bool {
        now == FileState::of(self.before.as_deref())
    }

    fn size(&self) -> usize {
        self.before.as_ref().map_or(0, String::len)
    }
}

impl History {
    /// Whether no edit can be undone.
    pub(super) fn is_empty(&self) -> bool {
        self.edits.values().all(VecDeque::is_empty)
    }

    /// Records an edit before it is made. The caller calls [`commit`](Self::commit),
    /// [`edit_failed`](Self::edit_failed) or [`forget_last`](Self::forget_last) next.
    pub(super) fn begin(&mut self, path: &Path, edit: Edit) {
        self.size += edit.size();
        let all = self.edits.entry(path.to_owned()).or_default();
        all.push_back(edit);
    }

    /// Records that the last edit of the file failed and left it in the state `now`. An edit that changed
    /// nothing is removed.
    pub(super) fn edit_failed(&mut self, path: &Path, now: FileState) {
        let last = self.edits.get_mut(path).and_then(VecDeque::back_mut);
        match last {
            Some(edit) if !edit.is_undone(now) => edit.result = now,
            Some(_) => self.forget_last(path),
            None => {}
        }
    }

    /// Records that the last edit of the file was made. Removes the oldest edits beyond the limits.
    pub(super) fn commit(&mut self, path: &Path) {
        let all = self.edits.entry(path.to_owned()).or_default();
        if all.len() > MAX_EDITS_PER_FILE {
            let oldest = all.pop_front();
            self.size -= oldest.map_or(0, |edit| edit.size());
        }
        while self.size > MAX_BYTES {
            let size = |all: &VecDeque<Edit>| all.iter().map(Edit::size).sum::<usize>();
            let largest = self.edits.values_mut().max_by_key(|all| size(all));
            let Some(oldest) = largest.and_then(VecDeque::pop_front) else {
                return;
            };
            self.size -= oldest.size();
        }
    }

    pub(super) fn last(&self, path: &Path) -> Option<&Edit> {
        self.edits.get(path)?.back()
    }

    /// Removes all edits of a file, because its content did not come from one.
    pub(super) fn forget(&mut self, path: &Path) {
        let all = self.edits.remove(path).unwrap_or_default();
        self.size -= all.iter().map(Edit::size).sum::<usize>();
    }

    pub(super) fn forget_last(&mut self, path: &Path) {
        let last = self.edits.get_mut(path).and_then(VecDeque::pop_back);
        self.size -= last.map_or(0, |edit| edit.size());
        if self.edits.get(path).is_some_and(VecDeque::is_empty) {
            self.edits.remove(path);
        }
    }
}

#[cfg(test)]
mod tests;
