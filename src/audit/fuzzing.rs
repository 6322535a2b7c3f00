//! The fuzz target of the audit log.

use crate::draft::{Draft, write_line};
use crate::record::{Record, sealed};
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("audit_record", audit_record, 1000)];

/// The line of a record. What is read as one is written so that it is read again.
fn audit_record(line: &[u8]) {
    let _ = Record::read(line);
    // No input of chance has the right hash.
    let Ok((record, _)) = Record::read(&sealed(line)) else {
        return;
    };
    let mut again = Vec::new();
    let members = Draft::of(&record).members;
    let hash = write_line(&mut again, record.seq, &record.prev, None, &members);
    let read = Record::read(again.trim_ascii_end());
    assert!(read.is_ok_and(|(_, read)| read == hash));
}

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
