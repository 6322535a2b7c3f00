//! The fuzz target of the audit log.

use crate::activity::{Caller, Entry};
use crate::draft::{Draft, told, write_line};
use crate::record::{NO_HASH, Record, sealed};
use crate::text::fuzz_input::Target;
#[cfg(test)]
use crate::text::fuzz_input::check_seeds;

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("audit_record", audit_record, 1000)];

/// The line of a record. An entry with the texts of one is written so that it is read, with what it is about in it.
fn audit_record(line: &[u8]) {
    let _ = Record::read(line);
    // No input of chance has the right hash.
    let Ok((record, _)) = Record::read(&sealed(line)) else {
        return;
    };
    let entry = Entry {
        of: record.of,
        extension: &record.extension,
        subject: &record.subject,
        request: &record.request,
        arguments: line,
        outcome: &record.outcome,
        detail: &record.detail,
        bytes: record.bytes,
        ..Entry::new("tool_call", &record.session)
    };
    let draft = Draft::of(&Caller::default(), &entry, true);
    let mut again = Vec::new();
    let hash = write_line(&mut again, 1, NO_HASH, Some(1), &draft.members);
    let Ok((read, read_hash)) = Record::read(again.trim_ascii_end()) else {
        panic!("it is no record: {}", String::from_utf8_lossy(&again));
    };
    assert_eq!(
        (read.of, read.bytes, read_hash),
        (record.of, record.bytes, hash)
    );
    assert_eq!(read.subject, told(&record.subject, 300));
}

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}
