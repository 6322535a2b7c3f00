//! `/diagnostics`: the archive is read with a parser written from the specification of ZIP (APPNOTE.TXT 6.3),
//! and with other programs where they are installed.

use crate::support::client::{KEY, send};
use crate::support::scripted::Script;
use crate::support::server::{Extension, RunningServer, Server};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::process::Command;

/// The files of an archive.
type Files = BTreeMap<String, Vec<u8>>;

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// CRC-32 bit by bit.
fn crc(bytes: &[u8]) -> usize {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc as usize
}

/// Reads an archive; everything in it must belong to one of its parts.
fn unzip(zip: &[u8]) -> Files {
    let end = zip.len() - 22;
    assert_eq!(&zip[end..end + 4], b"PK\x05\x06", "no end record");
    assert_eq!(
        (u16_at(zip, end + 4), u16_at(zip, end + 6)),
        (0, 0),
        "one disk"
    );
    let count = u16_at(zip, end + 10);
    assert_eq!(u16_at(zip, end + 8), count);
    let (size, start) = (u32_at(zip, end + 12), u32_at(zip, end + 16));
    assert_eq!((start + size, u16_at(zip, end + 20)), (end, 0));
    let mut files = Files::new();
    let (mut at, mut next) = (start, 0);
    for _ in 0..count {
        assert_eq!(&zip[at..at + 4], b"PK\x01\x02");
        let flags = u16_at(zip, at + 8);
        assert_eq!(
            (flags, u16_at(zip, at + 10)),
            (1 << 11, 0),
            "UTF-8 and stored"
        );
        let (sum, packed, size) = (
            u32_at(zip, at + 16),
            u32_at(zip, at + 20),
            u32_at(zip, at + 24),
        );
        let length = u16_at(zip, at + 28);
        assert_eq!((u16_at(zip, at + 30), u16_at(zip, at + 32)), (0, 0));
        let name = &zip[at + 46..at + 46 + length];
        let offset = u32_at(zip, at + 42);
        assert_eq!(offset, next, "no gap");
        assert_eq!(&zip[offset..offset + 4], b"PK\x03\x04");
        assert_eq!(
            &zip[offset + 4..offset + 30],
            &zip[at + 6..at + 32],
            "both heads agree"
        );
        let content = offset + 30 + length;
        assert_eq!(&zip[offset + 30..content], name);
        assert_eq!(packed, size);
        let content = &zip[content..content + size];
        assert_eq!(crc(content), sum);
        next = offset + 30 + length + size;
        let name = String::from_utf8(name.to_vec()).expect("UTF-8");
        assert!(!name.starts_with('/') && !name.contains(".."), "{name}");
        assert!(files.insert(name, content.to_vec()).is_none(), "twice");
        at += 46 + length;
    }
    assert_eq!((at, next), (end, start));
    files
}

/// The head and the body of a response in chunks.
pub fn fetch(server: &RunningServer, id: &str) -> (String, Vec<u8>) {
    let path = format!("/diagnostics/{id}");
    let mut stream = send(server.address(), "GET", &path, Some(KEY), None);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let (mut body, mut at) = (Vec::new(), end + 4);
    loop {
        let line = bytes[at..].windows(2).position(|it| it == b"\r\n").unwrap();
        let size = std::str::from_utf8(&bytes[at..at + line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        at += line + 2;
        if size == 0 {
            assert_eq!(at + 2, bytes.len());
            return (head, body);
        }
        body.extend_from_slice(&bytes[at..at + size]);
        at += size + 2;
    }
}

fn text<'a>(files: &'a Files, name: &str) -> &'a str {
    let names: Vec<&String> = files.keys().collect();
    let content = files
        .get(name)
        .unwrap_or_else(|| panic!("{name} in {names:?}"));
    std::str::from_utf8(content).unwrap()
}

/// Whether these bytes contain the text.
fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|it| it == text.as_bytes())
}

#[test]
fn a_database_of_goose_is_named() {
    let server = Server::new();
    let folder = server.root().join("data/sessions");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("sessions.db"), "SQLite format 3\0").unwrap();
    let server = server.start();
    server.logs("sessions of Goose are not shown");
    let session = server.session([]);
    let files = unzip(&fetch(&server, &session.id).1);
    let line = "Sessions of Goose, which are not read: ";
    let system = text(&files, "system.txt");
    assert!(
        system.contains(line)
            && system
                .replace('\\', "/")
                .contains("data/sessions/sessions.db"),
        "{system}"
    );
}

#[test]
fn the_archive_has_what_a_fault_needs() {
    let server = Server::new()
        .config("GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-4o\nother: [1, two]\n")
        .start();
    let session = server.session([]);
    let logs = server.root().join("state/logs/server/20200101");
    fs::create_dir_all(&logs).unwrap();
    for n in 1..=7 {
        fs::write(logs.join(format!("gosling-{n}.log")), format!("old {n}\n")).unwrap();
    }
    fs::write(
        logs.join("gosling-8.log"),
        "x".repeat(5 << 20) + "\nthe end\n",
    )
    .unwrap();
    fs::write(logs.join("llm_request.jsonl"), "of another program").unwrap();
    let schedule = server.root().join("data/schedule.json");
    fs::write(&schedule, r#"{"jobs": [{"id": "a"}]}"#).unwrap();
    let outputs = server
        .root()
        .join(format!("data/sessions/{}/answers", session.id));
    fs::create_dir_all(&outputs).unwrap();
    fs::write(outputs.join("ö.txt"), "stored output").unwrap();
    crate::support::system::symlink("/etc/passwd", outputs.join("link.txt")).unwrap();

    let (head, zip) = fetch(&server, &session.id);
    let name = format!("filename=\"diagnostics_{}.zip\"", session.id);
    assert!(
        head.contains("Content-Type: application/zip") && head.contains(&name),
        "{head}"
    );
    let files = unzip(&zip);
    let system = text(&files, "system.txt");
    for part in [
        "App version: gosling ",
        "OS version: ",
        "Provider: openai",
        "Model: gpt-4o",
    ] {
        assert!(system.contains(part), "{part} in {system}");
    }
    assert!(
        system.contains("GOOSE_PATH_ROOT") && system.contains(&session.id),
        "{system}"
    );
    assert_eq!(
        text(&files, "config.yaml"),
        "GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-4o\nother:\n- 1\n- two\n"
    );
    assert!(text(&files, "session.json").contains("enabled_extensions.v0"));
    assert_eq!(text(&files, "answers/ö.txt"), "stored output");
    assert!(text(&files, "schedule.json").contains("\"a\""));
    let logs: Vec<&String> = files
        .keys()
        .filter(|name| name.starts_with("logs/"))
        .collect();
    assert_eq!(logs.len(), 5, "{logs:?}");
    let long = text(&files, "logs/20200101/gosling-8.log");
    assert!(long.starts_with("(The first ") && long.ends_with("\nthe end\n"));
    assert!(long.len() <= (4 << 20) + 100);
    assert!(
        !files
            .keys()
            .any(|name| name.contains("link") || name.contains("llm"))
    );
    read_by_others(&server, &zip);
}

/// Other programs read the archive, where they are installed.
fn read_by_others(server: &RunningServer, zip: &[u8]) {
    let path = server.root().join("report.zip");
    fs::write(&path, zip).unwrap();
    let script = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; \
                  assert 'answers/\u{f6}.txt' in z.namelist(), z.namelist()";
    for (program, arguments) in [("python3", &["-c", script][..]), ("unzip", &["-t"])] {
        let ran = Command::new(program).args(arguments).arg(&path).output();
        if let Ok(ran) = ran {
            let error = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(ran.status.success(), "{program}: {error}");
        }
    }
}

#[test]
fn no_secret_is_in_the_archive() {
    const SECRETS: [&str; 9] = [
        "stored-secret-1",
        "of-variable-2",
        "setting-by-name-3",
        "of-envs-4",
        "of-headers-5",
        "in-a-url-6",
        "sk-ant-api03-0123456789",
        "server-env-8",
        "two\\nlines-of-9",
    ];
    let script = Script::new();
    let server =
        Server::scripted(json!({"repeat": true, "turns": [{"steps": [{"text": "Said."}]}]}))
            .secrets("A: stored-secret-1\nnested: {b: [\"two\\nlines-of-9\"]}\n")
            .env("GROQ_API_KEY", "of-variable-2")
            .env("MY_PASSWORD", "server-env-8");
    let path = server.root().join("config/config.yaml");
    let before = fs::read_to_string(&path).unwrap();
    let server = server
        .config(&format!(
            "{before}my_secret: setting-by-name-3\nextensions:\n  web:\n    enabled: false\n    \
             type: streamable_http\n    name: web\n    uri: http://user:in-a-url-6@127.0.0.1:1/\n    \
             headers: {{X: of-headers-5}}\n"
        ))
        .start();
    let one = Extension::scripted("one", &script).with("envs", json!({"V": "of-envs-4"}));
    let session = server.session([one]);
    session
        .say(&SECRETS.join(" and ").replace("\\n", "\n"))
        .finishes();
    let logs = server.root().join("state/logs/server/20200101");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("gosling-1.log"), SECRETS.join("\n")).unwrap();
    let (_, zip) = fetch(&server, &session.id);
    let files = unzip(&zip);
    let messages = text(&files, "messages.jsonl");
    assert!(
        messages.contains("[secret] and [secret]") && messages.contains("Said."),
        "{messages}"
    );
    for secret in SECRETS {
        let last = secret.rsplit('\n').next().unwrap();
        assert!(!has(&zip, last), "{secret}");
    }
    assert!(!has(&zip, "lines-of-9"));
    let config = text(&files, "config.yaml");
    assert!(
        config.contains("X: '[secret]'") && config.contains("http://[secret]@127.0.0.1"),
        "{config}"
    );
    assert!(text(&files, "session.json").contains("\"V\": \"[secret]\""));
}

#[test]
fn a_report_is_made_when_everything_is_broken() {
    let server = Server::new().start();
    let id = server.session([]).id.clone();
    let folder = server.root().join(format!("data/sessions/{id}"));
    fs::write(folder.join("session.json"), "{\"working_dir\": ").unwrap();
    fs::write(
        folder.join("messages.jsonl"),
        "no JSON\nat all, my-secret-value",
    )
    .unwrap();
    fs::write(server.root().join("config/config.yaml"), "a: [\n").unwrap();
    fs::write(
        server.root().join("config/secrets.yaml"),
        "S: \"my-secret-value\"\nb: [\n",
    )
    .unwrap();
    let (_, zip) = fetch(&server, &id);
    let files = unzip(&zip);
    assert!(text(&files, "session.json").contains("is not usable (line 1"));
    assert!(text(&files, "config.yaml").contains("is not usable (line"));
    assert_eq!(text(&files, "messages.jsonl"), "no JSON\nat all, [secret]");
}

#[test]
fn there_is_no_report_on_an_unknown_session() {
    let server = Server::new().start();
    for id in ["20200101_1", "..%2F..%2Fconfig", "x"] {
        server
            .get(&format!("/diagnostics/{id}"))
            .is(404)
            .says("ession");
    }
}

#[test]
fn a_client_that_leaves_harms_nobody() {
    let server = Server::new().start();
    let session = server.session([]);
    let folder = server.root().join(format!("data/sessions/{}", session.id));
    let line = format!("{{\"x\": \"{}\"}}\n", "y".repeat(100_000));
    fs::write(folder.join("messages.jsonl"), line.repeat(80)).unwrap();
    for _ in 0..5 {
        let path = format!("/diagnostics/{}", session.id);
        let mut stream = send(server.address(), "GET", &path, Some(KEY), None);
        stream.read_exact(&mut [0; 100]).unwrap();
    }
    let (_, zip) = fetch(&server, &session.id);
    assert_eq!(unzip(&zip)["messages.jsonl"].len(), line.len() * 80);
}
