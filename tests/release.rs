//! `gosling version` and `gosling verify-release`, on releases as attackers and bad disks leave them.
#![cfg(feature = "release")]

mod support;

use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use support::server::gosling;
use support::{TempDir, temp_dir};

const CONTENTS: [(&str, &[u8]); 3] = [
    ("gosling-1.2.3-static", b"\x7fELF and so on"),
    ("gosling_1.2.3-1_amd64.deb", b"!<arch>\n"),
    ("licences.txt", b""),
];

fn hash(content: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, content);
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// The record of a release with [`CONTENTS`].
fn record() -> Value {
    let files = CONTENTS.iter().map(|(name, content)| {
        json!({
            "name": name,
            "size": content.len(),
            "sha256": hash(content),
            "what": "a file",
            "target": "x86_64-unknown-linux-musl",
        })
    });
    json!({
        "gosling_release_format": 1,
        "version": "1.2.3",
        "commit": "0123abcd",
        "time": "2026-11-28T20:00:00Z",
        "toolchain": "rustc 1.95.0",
        "files": files.collect::<Vec<_>>(),
    })
}

/// A folder with a release.
fn release() -> TempDir {
    let folder = temp_dir();
    for (name, content) in CONTENTS {
        fs::write(folder.path().join(name), content).unwrap();
    }
    describe(folder.path(), &record().to_string());
    folder
}

/// Writes both lists.
fn describe(folder: &Path, record: &str) {
    fs::write(folder.join("release.json"), record).unwrap();
    let sums = CONTENTS
        .iter()
        .map(|(name, content)| format!("{}  {name}\n", hash(content)));
    let sums: String = sums.collect();
    let sums = sums + &format!("{}  release.json\n", hash(record.as_bytes()));
    fs::write(folder.join("SHA256SUMS"), sums).unwrap();
}

/// Replaces a text in `SHA256SUMS`.
#[track_caller]
fn change_sums(folder: &Path, from: &str, to: &str) {
    let path = folder.join("SHA256SUMS");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

fn verify(folder: &Path) -> Command {
    let mut command = gosling();
    command.arg("verify-release").arg(folder);
    command
}

/// What stderr says when the command ends with this code and prints nothing.
#[track_caller]
fn refusal(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[track_caller]
fn printed(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The command finds exactly this problem, with exit code 1.
#[track_caller]
fn finds(folder: &Path, name: &str, problem: &str) {
    let text = refusal(&mut verify(folder), 1);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "gosling: the release is not whole", "{text}");
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[1].starts_with(&format!("  {name}: ")), "{text}");
    assert!(lines[1].contains(problem), "{problem}: {text}");
    let output = verify(folder).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["problems"][0]["name"], name, "{found}");
    assert_eq!(found["problems"].as_array().unwrap().len(), 1, "{found}");
}

/// The command cannot understand the release, with exit code 2.
#[track_caller]
fn says_nothing(folder: &Path, why: &str) {
    let text = refusal(&mut verify(folder), 2);
    assert!(text.starts_with("gosling: nothing is known: "), "{text}");
    assert!(text.contains(why), "{why}: {text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    // What to do with the files of users is no advice for those of a release.
    assert!(!text.contains("put a backup in its place"), "{text}");
}

#[test]
fn a_whole_release_is_described() {
    let release = release();
    let text = printed(verify(release.path()).output().unwrap());
    let sums = hash(&fs::read(release.path().join("SHA256SUMS")).unwrap());
    let total: usize = CONTENTS.iter().map(|(_, content)| content.len()).sum();
    for line in [
        "gosling 1.2.3 is whole".to_owned(),
        "commit      0123abcd".to_owned(),
        "time        2026-11-28T20:00:00Z".to_owned(),
        format!("SHA256SUMS  {sums}"),
        format!("files       3, {total} bytes"),
        "  gosling_1.2.3-1_amd64.deb, 8 bytes".to_owned(),
        "    a file, for x86_64-unknown-linux-musl".to_owned(),
    ] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    let output = verify(release.path()).arg("--json").output().unwrap();
    let found: Value = serde_json::from_str(&printed(output)).unwrap();
    assert_eq!(found["sums_sha256"], sums);
    assert_eq!(found["release"]["files"], record()["files"]);
    assert_eq!(found["problems"], json!([]));
    for expected in [sums.clone(), sums.to_uppercase()] {
        let mut command = verify(release.path());
        printed(command.args(["--sha256", &expected]).output().unwrap());
    }
    let mut command = verify(release.path());
    let text = refusal(command.args(["--sha256", &hash(b"")]), 1);
    assert!(text.contains("another release"), "{text}");
    assert!(text.contains(&sums), "{text}");
}

#[test]
fn the_program_sha256sum_agrees() {
    let release = release();
    let checked = Command::new("sha256sum")
        .args(["-c", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(release.path())
        .output();
    let Ok(checked) = checked else {
        return;
    };
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn each_byte_counts() {
    let release = release();
    for (name, content) in CONTENTS {
        let path = release.path().join(name);
        for position in 0..content.len() {
            let mut changed = content.to_vec();
            changed[position] ^= 1;
            fs::write(&path, changed).unwrap();
            let text = refusal(&mut verify(release.path()), 1);
            assert!(text.contains("its bytes are not those"), "{text}");
        }
        fs::write(&path, [content, b"\n"].concat()).unwrap();
        finds(release.path(), name, "and should have");
        fs::write(&path, content).unwrap();
    }
    printed(verify(release.path()).output().unwrap());
}

#[test]
fn a_missing_file_and_an_extra_one_are_found() {
    let release = release();
    let name = CONTENTS[0].0;
    fs::remove_file(release.path().join(name)).unwrap();
    finds(release.path(), name, "it is missing");
    fs::write(release.path().join(name), CONTENTS[0].1).unwrap();
    let mut extras = vec!["extra", ".hidden"];
    // Elsewhere it is the other file.
    if cfg!(target_os = "linux") {
        extras.push("sha256sums");
    }
    for extra in extras {
        fs::write(release.path().join(extra), "").unwrap();
        finds(release.path(), extra, "does not belong");
        fs::remove_file(release.path().join(extra)).unwrap();
    }
    fs::create_dir(release.path().join("folder")).unwrap();
    finds(release.path(), "folder", "does not belong");
}

#[test]
#[cfg(unix)] // Windows has no such names.
fn names_of_extra_files_reach_no_terminal_as_they_are() {
    let release = release();
    fs::write(release.path().join("a\x1b[2Jb\u{202e}\nc"), "").unwrap();
    let text = refusal(&mut verify(release.path()), 1);
    let name = "a\\u{1b}[2Jb\\u{202e}\\u{a}c";
    assert!(text.contains(name), "{text:?}");
    let output = verify(release.path()).arg("--json").output().unwrap();
    assert!(output.stdout.is_ascii(), "{output:?}");
}

#[test]
fn many_problems_are_counted() {
    let release = release();
    for number in 0..200 {
        fs::write(release.path().join(format!("extra-{number}")), "").unwrap();
    }
    let text = refusal(&mut verify(release.path()), 1);
    assert!(text.ends_with("\n  and 150 more\n"), "{text}");
    assert_eq!(text.lines().count(), 52, "{text}");
    // Also if it is another release, which comes first.
    let output = verify(release.path())
        .args(["--json", "--sha256", &hash(b"")])
        .output();
    let found: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let problems = found["problems"].as_array().unwrap();
    assert_eq!(
        (problems.len(), &found["further_problems"]),
        (50, &json!(151))
    );
    assert_eq!(problems[0]["name"], "SHA256SUMS");
}

#[test]
fn names_of_devices_are_refused() {
    let release = release();
    for name in ["NUL", "con.txt", "COM1", "aux.tar.gz"] {
        let mut changed = record();
        changed["files"][2]["name"] = name.into();
        describe(release.path(), &changed.to_string());
        says_nothing(release.path(), "a device of Windows");
        describe(release.path(), &record().to_string());
        change_sums(release.path(), "licences.txt", name);
        says_nothing(release.path(), "a device of Windows");
    }
}

#[test]
#[cfg(unix)] // Named pipes.
fn links_and_other_kinds_of_files_are_not_followed() {
    use support::system::symlink;

    let (release, elsewhere) = (release(), temp_dir());
    let (name, content) = CONTENTS[0];
    let path = release.path().join(name);
    let same = elsewhere.path().join("same");
    fs::write(&same, content).unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&same, &path).unwrap();
    finds(release.path(), name, "symbolic link");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    finds(release.path(), name, "not a regular file");
    fs::remove_dir(&path).unwrap();
    // A pipe, at which opening would wait.
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    finds(release.path(), name, "not a regular file");
    fs::remove_file(&path).unwrap();
    fs::write(&path, content).unwrap();
    for manifest in ["release.json", "SHA256SUMS"] {
        let path = release.path().join(manifest);
        let text = fs::read(&path).unwrap();
        fs::write(&same, &text).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&same, &path).unwrap();
        says_nothing(release.path(), "symbolic link");
        fs::remove_file(&path).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        says_nothing(release.path(), "not a regular file");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        says_nothing(release.path(), "not a regular file");
        fs::remove_dir(&path).unwrap();
        fs::write(&path, text).unwrap();
    }
    printed(verify(release.path()).output().unwrap());
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    let release = release();
    let outside = release.path().parent().unwrap().join("outside");
    for name in ["../outside", "/etc/passwd", "a/../../outside", ".."] {
        change_sums(release.path(), "licences.txt", name);
        says_nothing(release.path(), "out of the folder");
        change_sums(release.path(), name, "licences.txt");
        let mut changed = record();
        changed["files"][2]["name"] = name.into();
        describe(release.path(), &changed.to_string());
        says_nothing(release.path(), "out of the folder");
        describe(release.path(), &record().to_string());
    }
    assert!(!outside.exists());
}

#[test]
fn huge_files_are_not_read() {
    let release = release();
    let (name, content) = CONTENTS[0];
    let path = release.path().join(name);
    let grow = |path: &Path, size: u64| {
        let file = File::options().write(true).open(path);
        file.unwrap().set_len(size).unwrap();
    };
    grow(&path, 1 << 40);
    finds(release.path(), name, "should have");
    // Its size is as the record says.
    let mut changed = record();
    changed["files"][0]["size"] = (1_u64 << 40).into();
    describe(release.path(), &changed.to_string());
    finds(release.path(), name, "too large");
    fs::remove_file(&path).unwrap();
    fs::write(&path, content).unwrap();
    for manifest in ["release.json", "SHA256SUMS"] {
        describe(release.path(), &record().to_string());
        grow(&release.path().join(manifest), 1 << 40);
        says_nothing(release.path(), "larger than 1 MiB");
        fs::remove_file(release.path().join(manifest)).unwrap();
    }
}

#[test]
#[cfg(unix)] // Another user.
fn a_file_that_cannot_be_read_is_a_problem() {
    use std::os::unix::process::CommandExt;
    use support::system::{is_root, set_mode};

    const USER: u32 = 65_534;
    if !is_root() {
        return;
    }
    let release = release();
    let name = CONTENTS[0].0;
    // Of root, which the command is not.
    set_mode(release.path(), 0o755);
    let file = release.path().join(name);
    set_mode(&file, 0o600);
    let text = refusal(verify(release.path()).uid(USER), 1);
    assert!(text.contains(&format!("\n  {name}: ")), "{text}");
    assert!(text.contains("Permission denied"), "{text}");
    let sums = release.path().join("SHA256SUMS");
    set_mode(&sums, 0o600);
    let text = refusal(verify(release.path()).uid(USER), 2);
    assert!(text.contains("Permission denied"), "{text}");
    set_mode(release.path(), 0o700);
    let text = refusal(verify(release.path()).uid(USER), 2);
    assert!(text.contains("Permission denied"), "{text}");
}

#[test]
fn lists_that_make_no_sense_are_refused() {
    let release = release();
    let sums = fs::read(release.path().join("SHA256SUMS")).unwrap();
    for (text, why) in [
        (&b""[..], "does not end"),
        (b"\n", "line 1"),
        (b"nonsense\n", "line 1"),
        (b"\xff\xfe\n", "UTF-8"),
        (&sums[..sums.len() - 1], "does not end"),
        (&[&sums[..], &sums[..]].concat(), "before"),
        (&sums[..80], "does not end"),
    ] {
        fs::write(release.path().join("SHA256SUMS"), text).unwrap();
        says_nothing(release.path(), why);
    }
    for (text, why) in [
        ("", "EOF"),
        ("{", "EOF"),
        ("[1]", "invalid type"),
        (r#"{"gosling_release_format": 2}"#, "format 2"),
        (r#"{"gosling_release_format": 1}"#, "version"),
        ("nonsense", "expected"),
    ] {
        describe(release.path(), text);
        says_nothing(release.path(), why);
    }
    let deep = "[".repeat(1 << 19);
    describe(release.path(), &deep);
    says_nothing(release.path(), "release.json");
    describe(release.path(), &record().to_string());
    printed(verify(release.path()).output().unwrap());
    for manifest in ["release.json", "SHA256SUMS"] {
        fs::remove_file(release.path().join(manifest)).unwrap();
        says_nothing(release.path(), "no such file");
        describe(release.path(), &record().to_string());
    }
    says_nothing(&release.path().join("nothing"), "no such file");
}

#[test]
fn a_changed_record_says_nothing_of_the_release() {
    let release = release();
    let mut changed = record();
    changed["commit"] = "other".into();
    let path = release.path().join("release.json");
    fs::write(&path, changed.to_string()).unwrap();
    finds(release.path(), "release.json", "its bytes are not those");
    let text = refusal(&mut verify(release.path()), 1);
    assert!(!text.contains("other"), "{text}");
}

#[test]
fn the_two_lists_have_to_agree() {
    let release = release();
    let name = CONTENTS[2].0;
    let mut fewer = record();
    fewer["files"].as_array_mut().unwrap().pop();
    describe(release.path(), &fewer.to_string());
    finds(release.path(), name, "release.json does not");
    let mut more = record();
    more["files"][2]["name"] = "other".into();
    describe(release.path(), &more.to_string());
    let text = refusal(&mut verify(release.path()), 1);
    assert!(text.contains("\n  other: release.json lists it"), "{text}");
    let mut other = record();
    other["files"][2]["sha256"] = hash(b"other").into();
    describe(release.path(), &other.to_string());
    finds(release.path(), name, "differ in its hash");
}

#[test]
fn a_wrong_command_line_is_refused() {
    let release = release();
    let cases: [(&[&str], &str); 6] = [
        (&[], "no DIR"),
        (&[""], "no DIR"),
        (&["a", "b"], "\"b\""),
        (&["--sha256", "12", "a"], "64 hexadecimal digits"),
        (&["--sha256"], "--sha256"),
        (&["--nonsense"], "--nonsense"),
    ];
    for (arguments, why) in cases {
        let mut command = gosling();
        let text = refusal(command.arg("verify-release").args(arguments), 2);
        assert!(text.contains(why), "{arguments:?}: {text}");
    }
    let text = refusal(gosling().args(["version", "more"]), 2);
    assert!(text.contains("more"), "{text}");
    let file = release.path().join(CONTENTS[0].0);
    let why = if cfg!(unix) {
        "Not a directory"
    } else {
        "there is no such file"
    };
    says_nothing(&file, why);
}

#[test]
fn the_version_names_what_this_build_was_made_of() {
    let plain = printed(gosling().arg("version").output().unwrap());
    let version = concat!("gosling ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(plain, version);
    // Without any file of the build.
    let empty = temp_dir();
    let mut command = gosling();
    command
        .args(["version", "--json"])
        .current_dir(empty.path());
    let found: Value = serde_json::from_str(&printed(command.output().unwrap())).unwrap();
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    let architecture = std::env::consts::ARCH;
    let target = found["target"].as_str().unwrap();
    assert!(target.starts_with(architecture), "{found}");
    assert!(
        found["toolchain"].as_str().unwrap().starts_with("rustc "),
        "{found}"
    );
    let features = gosling::features::FEATURES.iter();
    let features: Vec<&str> = features
        .filter(|it| it.is_built)
        .map(|it| it.name)
        .collect();
    assert_eq!(found["features"], json!(features));
    let lock = include_str!("../Cargo.lock");
    let crates = found["crates"].as_array().unwrap();
    let has = |name: &str| crates.iter().any(|it| it["name"] == name);
    for it in crates {
        let (name, version) = (
            it["name"].as_str().unwrap(),
            it["version"].as_str().unwrap(),
        );
        let mut block = format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
        if let Some(sha256) = it["sha256"].as_str() {
            block += "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
            block += &format!("checksum = \"{sha256}\"\n");
        } else {
            assert!(name.starts_with("gosling"), "{it}");
        }
        assert_eq!(it["own"], it["sha256"].is_null(), "{it}");
        assert!(lock.contains(&block), "{block}");
    }
    assert!(has("gosling") && has("gosling-core") && has("ring"));
    // Only tests have it.
    assert!(!has("arbtest") && !has("gosling-testing"));
    assert_eq!(has("rustls"), cfg!(feature = "tls"));
    assert_eq!(has("gosling-acp"), cfg!(feature = "acp"));
    let text = printed(gosling().args(["version", "--verbose"]).output().unwrap());
    assert!(text.starts_with(version), "{text}");
    assert!(text.contains(&format!("\ntarget     {target}\n")), "{text}");
    assert!(
        text.contains(&format!("\ncrates     {}, with SHA-256\n", crates.len())),
        "{text}"
    );
    let before_crates = text.lines().take_while(|line| !line.starts_with("crates"));
    let widths = before_crates.map(str::len);
    assert!(widths.max() <= Some(80), "{text}");
}
