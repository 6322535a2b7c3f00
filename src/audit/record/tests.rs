use super::*;
use crate::activity::Entry;
use crate::draft::{Draft, write_line};

fn line(record: &Record) -> Vec<u8> {
    let mut line = Vec::new();
    let members = Draft::of(record).members;
    write_line(&mut line, record.seq, &record.prev, None, &members);
    line.pop();
    line
}

fn entry() -> Entry<'static> {
    Entry {
        kind: "tool_call",
        session: "20261127_1",
        extension: "developer",
        subject: "shell",
        arguments: br#"{"command":"curl -H 'Authorization: Bearer abcdefgh12345678'"}"#,
        decision: "allowed",
        by: "mode",
        detail: "line\nbreak \u{1b}[31mred https://me:secret@host/",
        ..Entry::default()
    }
}

#[test]
fn a_record_is_one_line_that_is_read_again() {
    let caller = Caller::default();
    let record = Record::of(&caller, &entry(), false);
    let line = line(&record);
    let text = String::from_utf8(line.clone()).unwrap();
    assert!(!text.contains('\n') && !text.contains('\u{1b}') && !text.contains("me:secret"));
    // Arguments are not told, only what they look like.
    assert!(
        !text.contains("curl") && text.contains("string of"),
        "{text}"
    );
    // Nor is what a server says, which may quote them.
    assert!(!text.contains("break"), "{text}");
    let (read, _) = Record::read(&line).unwrap();
    assert_eq!((&*read.subject, &*read.by), ("shell", "mode"));
    let told = Record::of(&caller, &entry(), true);
    assert!(told.detail.contains("break") && !told.detail.contains("me:secret"));
    let value = told.arguments.unwrap().value.unwrap();
    assert!(
        value.contains("curl") && !value.contains("abcdefgh"),
        "{value}"
    );
}

#[test]
fn a_changed_line_is_found_wherever_it_was_changed() {
    let line = line(&Record::of(&Caller::default(), &entry(), false));
    for at in 0..line.len() {
        let mut changed = line.clone();
        changed[at] ^= 1;
        assert!(Record::read(&changed).is_err(), "byte {at}");
        assert!(Record::read(&line[..at]).is_err(), "cut at {at}");
    }
    assert!(Record::read(b"").is_err());
    assert!(Record::read(&sealed(b"[1")).is_err());
}

#[test]
fn values_of_settings_are_told_unless_they_may_be_secrets() {
    let value = |subject: &str| {
        let entry = Entry {
            subject,
            arguments: b"\"auto\"",
            ..Entry::new("setting", "")
        };
        let caller = Caller::default();
        let record = Record::of(&caller, &entry, true);
        let arguments = record.arguments.unwrap();
        // A short one could be guessed from its hash.
        assert_eq!(arguments.sha256.is_empty(), arguments.value.is_none());
        arguments.value
    };
    assert_eq!(value("GOOSE_MODE").as_deref(), Some("\"auto\""));
    assert_eq!(value("goose_mode").as_deref(), Some("\"auto\""));
    for secret in [
        "GOOSE_SERVER__SECRET_KEY",
        "GOOSE_PROXY_PASS",
        "GOOSE_ALLOWLIST",
        "OPENAI_API_KEY",
        "extensions.x",
    ] {
        assert_eq!(value(secret), None, "{secret}");
    }
}

#[test]
fn times_have_milliseconds() {
    let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_795_766_400_007);
    assert!(time_of(at).ends_with(":00.007Z"), "{}", time_of(at));
    assert!(time_of(SystemTime::UNIX_EPOCH - std::time::Duration::from_secs(9)).ends_with(".000Z"));
}

#[test]
fn digits_are_made_together_as_one_by_one() {
    for number in [0, 9, 10, 0x0123_4567, 0x89ab_cdef, 0xf0e1_d2c3, u32::MAX] {
        let digits = hexadecimal(number);
        assert_eq!(str::from_utf8(&digits), Ok(&*format!("{number:08x}")));
    }
}
