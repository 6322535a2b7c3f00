//! What files were before they were edited, so that edits can be undone.

use std::collections::{HashMap, VecDeque};
use std::fs::Permissions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// How many edits of a file can be undone.
const UNDOS: usize = 10;
/// How much the texts before all of them may take, in bytes.
const MAX_UNDO: usize = 64 << 20;

/// The edits of each file, the oldest first.
#[derive(Default)]
pub(super) struct History {
    edits: HashMap<PathBuf, VecDeque<Edit>>,
    size: usize,
}

/// One edit of a file.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// What the file held; none if there was none.
    pub(super) before: Option<String>,
    /// The mode of a file that the edit removed.
    pub(super) mode: Option<Permissions>,
    /// The text that the edit left, as a number; none if it removed the file.
    left: Option<u64>,
}

impl Edit {
    pub(super) fn new(before: Option<String>, after: Option<&str>) -> Self {
        Edit {
            before,
            mode: None,
            left: after.map(print_of),
        }
    }

    /// Whether the file is still what the edit made of it.
    pub(super) fn is_still(&self, now: Option<&str>) -> bool {
        self.left == now.map(print_of)
    }

    fn size(&self) -> usize {
        self.before.as_ref().map_or(0, String::len)
    }
}

/// Tells texts apart; nobody gains by finding two that look alike.
fn print_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl History {
    pub(super) fn keep(&mut self, path: &Path, edit: Edit) {
        self.size += edit.size();
        let all = self.edits.entry(path.to_owned()).or_default();
        all.push_back(edit);
        if all.len() > UNDOS {
            let oldest = all.pop_front();
            self.size -= oldest.map_or(0, |edit| edit.size());
        }
        while self.size > MAX_UNDO {
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

    pub(super) fn forget_last(&mut self, path: &Path) {
        let last = self.edits.get_mut(path).and_then(VecDeque::pop_back);
        self.size -= last.map_or(0, |edit| edit.size());
        if self.edits.get(path).is_some_and(VecDeque::is_empty) {
            self.edits.remove(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ten_edits_are_kept_and_not_too_much_of_them() {
        let (mut history, path) = (History::default(), Path::new("/a"));
        let edit = |before: String| Edit::new(Some(before), Some(""));
        for n in 0..12 {
            history.keep(path, edit(n.to_string()));
        }
        let mut back = Vec::new();
        while let Some(edit) = history.last(path) {
            back.push(edit.before.clone().unwrap());
            history.forget_last(path);
        }
        assert_eq!(back, ["11", "10", "9", "8", "7", "6", "5", "4", "3", "2"]);
        assert_eq!(history.size, 0);
        for n in 0..5 {
            let path = PathBuf::from(format!("/{n}"));
            history.keep(&path, edit("x".repeat(MAX_UNDO / 3)));
            history.keep(&path, Edit::new(None, Some("")));
        }
        assert!(history.size <= MAX_UNDO);
    }

    #[test]
    fn an_edit_knows_what_it_left() {
        let edit = Edit::new(None, Some("a"));
        assert!(edit.is_still(Some("a")));
        assert!(!edit.is_still(Some("b")) && !edit.is_still(None));
        assert!(Edit::new(Some("a".to_owned()), None).is_still(None));
    }
}
