//! The ends of calls, whose records wait for the next record.

use crate::draft::Draft;

/// The records of ends that are written with the next record.
#[derive(Default)]
pub(crate) struct Deferred {
    /// Ends may be deferred: somebody is going to write them.
    is_open: bool,
    members: Vec<u8>,
    /// The end of the members of each.
    ends: Vec<usize>,
}

impl Deferred {
    /// Defers the record of an end, if that may be.
    pub(crate) fn push(&mut self, draft: &Draft) -> bool {
        if self.is_open {
            self.members.extend_from_slice(&draft.members);
            self.ends.push(self.members.len());
        }
        self.is_open
    }

    /// Moves what was deferred into `taken`, which is emptied before. `is_open`: more may be deferred.
    pub(crate) fn take(&mut self, taken: &mut Deferred, is_open: bool) {
        taken.members.clear();
        taken.ends.clear();
        std::mem::swap(self, taken);
        self.is_open = is_open;
    }

    /// The members of each record.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut begin = 0;
        self.ends.iter().map(move |end| {
            let members = &self.members[begin..*end];
            begin = *end;
            members
        })
    }
}
