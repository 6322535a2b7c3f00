use super::{Key, KeyFile, check_name, check_own_sessions, read_end, read_entries};
use crate::key_text::hash;
use crate::roles::Role;
use crate::store::{Error, Paths, Result, files};
use crate::sys::clock::{Utc, unix_seconds};
use crate::sys::to_hex;
use std::path::PathBuf;
use std::{env, fs, process};
use yaml_serde::Mapping;

/// A folder of a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        Folder(env::temp_dir().join(format!("gosling-keys-{test}-{}", process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const NOW: i64 = 1_800_000_000;

fn key(name: &str) -> Key {
    Key {
        name: name.to_owned(),
        role: Role::Chat,
        hash: hash(name),
        created: "2026-11-27T08:00:00Z".to_owned(),
        expires: None,
        own_sessions: true,
    }
}

/// Shows a key.
fn shown(_: &Key) -> Result<()> {
    Ok(())
}

/// What is wrong with the only entry of this file; `HASH` stands for one.
fn flaw(content: &str) -> String {
    let content = content.replace("HASH", &to_hex(&hash("")));
    let mapping: Mapping = yaml_serde::from_str(&content).unwrap();
    let [entry] = &read_entries(&mapping)[..] else {
        panic!("{content}");
    };
    entry.as_ref().unwrap_err().1.clone()
}

#[test]
fn keys_are_added_rotated_and_removed_and_the_file_is_read_again() {
    let dir = Folder::new("changed");
    let paths = Paths::under(&dir.0);
    let (file, reader) = (KeyFile::of(&paths), KeyFile::of(&paths));
    assert!(reader.valid().is_empty());
    let (one, mut other) = (key("one"), key("other"));
    other.expires = Some(Utc::from_unix(unix_seconds() + 100));
    file.add(&one, shown).unwrap();
    file.add(&other, shown).unwrap();
    assert_eq!(reader.valid(), [one.clone(), other.clone()]);
    let error = file.add(&one, shown).unwrap_err().to_string();
    assert_eq!(error, "there is a key one; rotate or revoke it");

    let later = Utc::from_unix(unix_seconds() + 200);
    file.rotate("other", hash("new"), Some(later), shown)
        .unwrap();
    let rotated = reader.valid()[1].clone();
    assert_eq!((rotated.hash, rotated.expires), (hash("new"), Some(later)));
    assert_eq!(
        (rotated.role, rotated.own_sessions),
        (other.role, other.own_sessions)
    );
    file.rotate("other", hash("newer"), None, shown).unwrap();
    assert_eq!(reader.valid()[1].expires, Some(later));
    let error = file
        .rotate("none", hash(""), None, shown)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "the key none does not exist");

    // What cannot be shown changes nothing.
    let unshown = |_: &Key| Err(Error::Denied("nobody sees it".to_owned()));
    let error = file.rotate("other", hash("newest"), None, unshown);
    assert!(error.unwrap_err().to_string().contains("nobody sees it"));
    assert!(file.add(&key("third"), unshown).is_err());
    assert_eq!(reader.valid().len(), 2);
    assert_eq!(reader.valid()[1].hash, hash("newer"));

    file.remove("one").unwrap();
    let error = file.remove("one").unwrap_err().to_string();
    assert!(error.starts_with("there is no key \"one\""), "{error}");
    file.remove(files::FORMAT).unwrap_err();
    assert_eq!(reader.valid().len(), 1);
}

#[test]
fn a_key_whose_time_is_over_is_invalid_and_can_be_rotated_with_another_end_only() {
    let dir = Folder::new("expired");
    let file = KeyFile::of(&Paths::under(&dir.0));
    let mut expired = key("old");
    expired.expires = Some(Utc::from_unix(unix_seconds()));
    file.add(&expired, shown).unwrap();
    assert!(file.valid().is_empty());
    assert_eq!(file.entries().unwrap().len(), 1);
    let error = file
        .rotate("old", hash("new"), None, shown)
        .unwrap_err()
        .to_string();
    assert!(error.contains("has expired"), "{error}");
    assert_eq!(file.entries().unwrap()[0], Ok(expired));
    let later = Utc::from_unix(unix_seconds() + 100);
    file.rotate("old", hash("new"), Some(later), shown).unwrap();
    assert_eq!(file.valid().len(), 1);
}

#[test]
fn no_key_is_valid_while_the_file_cannot_be_read() {
    let dir = Folder::new("broken");
    let paths = Paths::under(&dir.0);
    let file = KeyFile::of(&paths);
    file.add(&key("one"), shown).unwrap();
    fs::write(paths.config.join("keys.yaml"), "one: [").unwrap();
    assert!(file.valid().is_empty());
    assert!(file.add(&key("two"), shown).is_err());
}

#[test]
fn what_is_not_understood_makes_a_key_invalid() {
    let good = "one: {role: read, sha256: HASH}";
    let mapping = good.replace("HASH", &to_hex(&hash("")));
    assert!(read_entries(&yaml_serde::from_str(&mapping).unwrap())[0].is_ok());
    for (content, expected) in [
        (
            "one: {role: read, sha256: HASH, hosts: [a]}",
            "unknown field `hosts`",
        ),
        ("one: {role: Read, sha256: HASH}", "`role`"),
        ("one: {sha256: HASH}", "`role`"),
        ("one: {role: read}", "64 hexadecimal digits"),
        ("one: {role: read, sha256: abc}", "64 hexadecimal digits"),
        ("one: {role: read, sha256: 12}", "`sha256` is not text"),
        (
            "one: {role: read, sha256: HASH, expires: soon}",
            "`expires` is not a time",
        ),
        (
            "one: {role: read, sha256: HASH, expires: 2027}",
            "`expires` is not text",
        ),
        (
            "one: {role: read, sha256: HASH, sessions: mine}",
            "`sessions`",
        ),
        (
            "one: {role: configure, sha256: HASH, sessions: own}",
            "reaches every session",
        ),
        ("one: text", "not a mapping"),
        ("1: {role: read, sha256: HASH}", "name is not text"),
        ("server: {role: read, sha256: HASH}", "the server's own key"),
        ("\"a\\nb\": {role: read, sha256: HASH}", "letters, digits"),
    ] {
        let flaw = flaw(content);
        assert!(flaw.contains(expected), "{content}: {flaw}");
    }
}

#[test]
fn names_are_plain() {
    for name in ["a", "Z9", "grafana", "team-1.ci_2", &"x".repeat(64)] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    for name in [
        "",
        "-a",
        ".",
        "_x",
        "a b",
        "a\nb",
        "\u{1b}[31mred",
        "é",
        "a/b",
        &"x".repeat(65),
        "server",
    ] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn an_end_is_a_moment_or_a_span() {
    let at = |seconds: i64| Ok(Utc::from_unix(NOW + seconds));
    assert_eq!(read_end("1m", NOW), at(60));
    assert_eq!(read_end("12h", NOW), at(12 * 3_600));
    assert_eq!(read_end("30d", NOW), at(30 * 86_400));
    assert_eq!(read_end("4w", NOW), at(28 * 86_400));
    let moment = "2027-01-31T12:00:00+01:00";
    assert_eq!(
        read_end(moment, NOW).unwrap().to_string(),
        "2027-01-31T11:00:00Z"
    );
    assert_eq!(
        read_end("2027-01-31", NOW).unwrap().to_string(),
        "2027-01-31T00:00:00Z"
    );
    let wrong = [
        "",
        "d",
        "30",
        "+3d",
        "-1d",
        "3 d",
        "3y",
        "0d",
        "1.5h",
        "4294967296m",
        "99999999w",
        "2026-01-01",
        "2027-13-01",
        "\u{1b}[31m",
        "٣d",
    ];
    for text in wrong {
        let flaw = read_end(text, NOW).unwrap_err();
        assert!(!flaw.contains('\u{1b}'), "{flaw}");
    }
}

#[test]
fn those_who_configure_see_all_sessions() {
    for role in Role::ALL {
        assert_eq!(
            check_own_sessions(role).is_ok(),
            role <= Role::Chat,
            "{role}"
        );
    }
}
