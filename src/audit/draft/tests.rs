use super::*;
use crate::record::{NO_HASH, Record, sealed};
use std::time::Duration;

fn line(entry: &Entry<'_>, has_values: bool) -> Vec<u8> {
    let mut line = Vec::new();
    let draft = Draft::of(&Caller::default(), entry, has_values);
    write_line(&mut line, 1, NO_HASH, None, &draft.members);
    line.pop();
    line
}

/// An entry as it is read again.
fn record(entry: &Entry<'_>, has_values: bool) -> Record<'static> {
    Record::read(&line(entry, has_values)).unwrap().0
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
    let line = line(&entry(), false);
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
    let told = record(&entry(), true);
    assert!(told.detail.contains("break") && !told.detail.contains("me:secret"));
    let value = told.arguments.unwrap().value.unwrap();
    assert!(
        value.contains("curl") && !value.contains("abcdefgh"),
        "{value}"
    );
}

#[test]
fn a_changed_line_is_found_wherever_it_was_changed() {
    let line = line(&entry(), false);
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
        let arguments = record(&entry, true).arguments.unwrap();
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
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_766_400_007);
    assert!(time_of(at).ends_with(":00.007Z"), "{}", time_of(at));
    assert!(time_of(SystemTime::UNIX_EPOCH - Duration::from_secs(9)).ends_with(".000Z"));
}

#[test]
fn what_the_last_record_was_about_is_not_told_of_another() {
    let of = |session, subject, front, port| {
        let entry = Entry {
            subject,
            ..Entry::new("tool_call", session)
        };
        let caller = Caller {
            front,
            address: Some(SocketAddr::from(([127, 0, 0, 1], port))),
            ..Caller::default()
        };
        let members = Draft::of(&caller, &entry, false).members;
        let text = String::from_utf8(members).unwrap();
        let address = format!("\"address\":\"127.0.0.1:{port}\"");
        for part in [session, subject, front, &address] {
            assert!(text.contains(part), "{text} has no {part}");
        }
    };
    for _ in 0..2 {
        of("one", "shell", "http", 4000);
        of("two", "shell", "http", 4000);
        of("two", "write", "http", 4000);
        of("two", "write", "acp", 4000);
        of("two", "write", "acp", 5000);
    }
    // Nor is a long one kept.
    let long = "a".repeat(2 * MAX_SPARE);
    of(&long[..MAX_NAME - 1], "shell", "http", 4000);
    Draft::of(&Caller::default(), &Entry::new("tool_call", &long), false);
    SUBJECT.with_borrow(|known| assert!(known.members.is_empty()));
}
