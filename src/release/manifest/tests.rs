use super::*;
use gosling_testing::property_testing::{any_json, any_text, check, one_of, vec_of};
use serde_json::{Value, json};

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Reads these lines; `#` stands for a hash.
fn sums(lines: &[&str]) -> Result<Sums, String> {
    let lines = lines.iter().map(|line| line.replace('#', HASH) + "\n");
    parse_sums(lines.collect::<String>().as_bytes())
}

fn record(change: impl FnOnce(&mut Value)) -> Result<Record, String> {
    let mut record = json!({
        "gosling_release_format": 1,
        "version": "1.2.3",
        "commit": "abc",
        "time": "2026-11-28T00:00:00Z",
        "toolchain": "rustc 1.95.0",
        "files": [{"name": "gosling", "size": 3, "sha256": HASH, "what": "a program", "target": "t"}],
        "inputs": {"Cargo.lock": HASH},
    });
    change(&mut record);
    parse_record(record.to_string().as_bytes())
}

#[test]
fn sums_as_sha256sum_writes_them_are_read() {
    let read = sums(&[
        "#  gosling_0.1.0~rc1-1_amd64.deb",
        "#  console.com",
        "#  release.json",
    ])
    .unwrap();
    assert_eq!(read.len(), 3);
    assert!(read.values().all(|hash| hash == HASH));
}

#[test]
fn every_other_line_is_refused_with_its_number() {
    let long = format!("#  {}", "a".repeat(201));
    let upper = format!("{}  gosling", HASH.to_uppercase());
    for (line, why) in [
        ("", "two spaces"),
        ("# gosling", "two spaces"),
        ("# *gosling", "two spaces"),
        ("\\#  gosling", "SHA-256"),
        ("#0  gosling", "SHA-256"),
        ("0123  gosling", "SHA-256"),
        (&upper, "lower case"),
        ("#  ../gosling", "out of the folder"),
        ("#  /etc/passwd", "out of the folder"),
        ("#  folder/gosling", "out of the folder"),
        ("#  ..\\gosling", "out of the folder"),
        ("#  ..", "out of the folder"),
        ("#  ", "1 to 200"),
        (&long, "1 to 200"),
        ("#  gos ling", "other characters"),
        ("#  gosling\r", "other characters"),
        ("#  gosling\u{202e}", "other characters"),
        ("#   gosling", "other characters"),
        ("#  -rf", "begins with"),
        ("#  .hidden", "begins with"),
        ("#  SHA256SUMS", "itself"),
        ("#  release.json", "before"),
        ("#  RELEASE.json", "before"),
        ("#  gosling.", "ends with a dot"),
        ("#  NUL", "a device"),
        ("#  con.txt", "a device"),
        ("#  COM1", "a device"),
        ("#  aux.tar.gz", "a device"),
        ("#  lpt9.", "ends with a dot"),
        ("#  LPT\u{b9}", "other characters"),
        ("#  CONIN$", "other characters"),
    ] {
        let error = sums(&["#  release.json", line]).unwrap_err();
        assert!(error.starts_with("line 2: "), "{line:?}: {error}");
        assert!(error.contains(why), "{line:?}: {error}");
    }
    assert!(sums(&["#  gosling"]).unwrap_err().contains(RECORD));
    assert!(parse_sums(b"").unwrap_err().contains("does not end"));
    assert!(parse_sums(b"\xff\n").unwrap_err().contains("UTF-8"));
}

#[test]
fn a_record_is_read_and_its_other_members_are_not() {
    let read = record(|_| ()).unwrap();
    assert_eq!(read.version, "1.2.3");
    assert_eq!(read.files[0].size, 3);
    let read = record(|it| it["files"][0]["target"] = json!("")).unwrap();
    assert_eq!(read.files[0].target, "");
}

#[test]
fn a_record_of_another_form_is_refused() {
    let set = |path: &'static str, value: Value| {
        record(|it| *it.pointer_mut(path).unwrap() = value).unwrap_err()
    };
    for (path, value, why) in [
        ("", json!([]), "invalid type"),
        ("", json!({}), "gosling_release_format"),
        ("/gosling_release_format", json!(2), "format 2"),
        ("/version", json!("1\u{1b}[2J"), "`version`"),
        ("/commit", json!("é"), "`commit`"),
        ("/time", json!("0".repeat(201)), "`time`"),
        ("/toolchain", json!(7), "invalid type"),
        ("/files", json!([]), "no files"),
        ("/files/0/name", json!("../gosling"), "out of the folder"),
        ("/files/0/name", json!("Prn.deb"), "a device"),
        ("/files/0/size", json!(-1), "invalid value"),
        ("/files/0/size", json!("A".repeat(900_000)), "invalid type"),
        ("/files/0/sha256", json!("0"), "sha256"),
        ("/files/0/what", json!("a\nb"), "`what`"),
        ("/files/0/target", json!("\u{202e}"), "`target`"),
    ] {
        let error = set(path, value);
        assert!(error.contains(why), "{path}: {error}");
        assert!(error.len() < 1000, "{path}: {} bytes", error.len());
    }
    let twice = record(|it| {
        let file = it["files"][0].clone();
        it["files"].as_array_mut().unwrap().push(file);
    });
    assert!(twice.unwrap_err().contains("file 2"), "a name twice");
}

#[test]
fn whatever_is_read_can_be_joined_to_a_folder_and_printed() {
    check(|u| {
        let parts = ["/", "..", "\\", ".", "-", "a", "\r", "release.json"];
        let names = vec_of(u, 4, |u| vec_of(u, 4, |u| one_of(u, &parts)))?;
        let lines = names
            .iter()
            .map(|name| format!("{HASH}  {}\n", name.concat()));
        let mut text: String = lines.collect();
        text += &format!("{HASH}  {RECORD}\n");
        for name in parse_sums(text.as_bytes()).unwrap_or_default().keys() {
            assert!(!name.contains(['/', '\\']) && name != "..", "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_graphic()), "{name}");
        }
        let _ = parse_sums(any_text(u)?.as_bytes());
        let words = ["gosling_release_format", "version", "files", "name", "size"];
        let any = any_json(u, &words, 3)?;
        let _ = parse_record(any.to_string().as_bytes());
        Ok(())
    });
}
