//! Backups of the files of a running server, and what a restore refuses.
#![cfg(all(feature = "backup", feature = "scripted", feature = "audit"))]

mod support;

use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use support::server::{RunningServer, Server, gosling};
use support::system::has_mode;
use support::temp_dir;

/// Runs gosling on the files of this root.
fn on(root: &Path, arguments: &[&str]) -> Output {
    let mut command = gosling();
    command.env("GOOSE_PATH_ROOT", root).args(arguments);
    command.output().unwrap()
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn fails(output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said.contains(why), "{said}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The files below a folder, with their content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(tree(&path))
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

fn server() -> Server {
    let script = json!({"repeat": true, "turns": [{"steps": [{"text": "hello again"}]}]});
    Server::scripted(script).secrets("A_KEY: hidden\n")
}

/// A server with a session, and an archive of its files.
fn backed_up(folder: &Path, options: &[&str]) -> (RunningServer, String, PathBuf) {
    let server = server().start();
    let session = server.session([]);
    session.say("hello").says("hello again").finishes();
    let id = session.id.clone();
    let archive = folder.join("a.tar");
    let arguments = [&["backup"], options, &[text(&archive)]].concat();
    succeeds(&on(server.root(), &arguments));
    (server, id, archive)
}

#[test]
fn what_a_running_server_has_is_there_again_elsewhere() {
    let folder = temp_dir();
    let (server, id, archive) = backed_up(folder.path(), &[]);
    assert!(has_mode(&archive, 0o600));
    let again = Server::new();
    fs::remove_dir(again.root().join("config")).unwrap();
    let said = succeeds(&on(again.root(), &["restore", text(&archive)]));
    assert!(said.contains("config/secrets.yaml"), "{said}");
    assert!(!again.root().join("config/secrets.yaml").exists());
    let messages = format!("data/sessions/{id}/messages.jsonl");
    let [was, is] = [server.root(), again.root()].map(|root| fs::read(root.join(&messages)));
    assert_eq!(was.unwrap(), is.unwrap());
    server.terminate();
    succeeds(&on(again.root(), &["audit", "verify"]));
    let shown = succeeds(&on(again.root(), &["audit", "show", "--kind", "backup"]));
    assert!(shown.contains("restored"), "{shown}");
    let again = again.start();
    again.get("/sessions").is(200).says(&id);
    let session = again.known(&id);
    session.resume();
    session.say("and now").says("hello again").finishes();
}

#[test]
fn fifty_turns_go_on() {
    let folder = temp_dir();
    let slow = json!({"repeat": true, "turns": [{"steps": [
        {"text": "one "}, {"wait_ms": 100}, {"text": "two "}, {"wait_ms": 100}, {"text": "three"},
    ]}]});
    let server = Server::scripted(slow).start();
    let sessions: Vec<_> = (0..50).map(|_| server.session([])).collect();
    let turns: Vec<_> = sessions.iter().map(|it| it.begin_turn("go")).collect();
    let archive = folder.path().join("a.tar");
    succeeds(&on(server.root(), &["backup", text(&archive)]));
    turns.into_iter().for_each(|turn| {
        turn.rest().finishes();
    });
    let again = Server::new();
    fs::remove_dir(again.root().join("config")).unwrap();
    succeeds(&on(again.root(), &["restore", text(&archive)]));
    let again = again.start();
    for session in &sessions {
        again.known(&session.id).resume();
    }
}

#[test]
fn a_restore_replaces_nothing_that_is_used_or_wanted() {
    let folder = temp_dir();
    let (server, _, archive) = backed_up(folder.path(), &["--secrets"]);
    let restore = ["restore", "--force", text(&archive)];
    fails(&on(server.root(), &restore), "in use");
    server.kill();
    let before = tree(server.root());
    fails(
        &on(
            server.root(),
            &restore[..1]
                .iter()
                .chain(&restore[2..])
                .copied()
                .collect::<Vec<_>>(),
        ),
        "--force",
    );
    assert_eq!(tree(server.root()), before);
    let said = succeeds(&on(server.root(), &restore));
    assert_eq!(said.matches("moved aside").count(), 2, "{said}");
    let secrets = fs::read_to_string(server.root().join("config/secrets.yaml")).unwrap();
    assert_eq!(secrets, "A_KEY: hidden\n");
}

/// An archive that was changed is refused, and leaves nothing.
#[track_caller]
fn is_refused(archive: &[u8], why: &str) {
    let root = temp_dir();
    let file = root.path().join("changed.tar");
    fs::write(&file, archive).unwrap();
    fails(&on(root.path(), &["restore", text(&file)]), why);
    let names = fs::read_dir(root.path()).unwrap().count();
    assert_eq!(names, 1, "{:?}", tree(root.path()).keys());
}

#[test]
fn what_is_no_archive_is_refused_without_advice_about_the_users_files() {
    let (root, folder) = (temp_dir(), temp_dir());
    let output = on(root.path(), &["restore", text(folder.path())]);
    fails(&output, text(folder.path()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("put a backup in its place"), "{said}");
}

#[test]
fn damaged_and_newer_archives_are_refused() {
    let folder = temp_dir();
    let (_server, _, archive) = backed_up(folder.path(), &[]);
    let whole = fs::read(&archive).unwrap();
    is_refused(&whole[..whole.len() / 2], "cut off");
    is_refused(&whole[..512], "cut off");
    is_refused(b"", "cut off");
    is_refused(&[b'x'; 2048], "not a tar archive");
    let replaced = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = whole
            .windows(from.len())
            .position(|it| it == from.as_bytes());
        let mut changed = whole.clone();
        changed[at.unwrap()..][..to.len()].copy_from_slice(to.as_bytes());
        changed
    };
    is_refused(
        &replaced("\"gosling_format\": 1", "\"gosling_format\": 2"),
        "a newer gosling",
    );
    is_refused(&replaced("hello again", "hello agaim"), "damaged");
}

#[test]
#[cfg(unix)] // A limit of the size of files.
fn a_full_disk_leaves_nothing_behind() {
    let folder = temp_dir();
    let (server, _, archive) = backed_up(folder.path(), &[]);
    server.kill();
    let limited = |root: &Path, arguments: &[&str]| {
        let mut command = std::process::Command::new("sh");
        command.args([
            "-c",
            "ulimit -f 1; exec \"$0\" \"$@\"",
            support::server::GOSLING,
        ]);
        command.env("GOOSE_PATH_ROOT", root).args(arguments);
        command.env("GOOSE_AUDIT", "off").output().unwrap()
    };
    let before = fs::read(&archive).unwrap();
    fails(
        &limited(server.root(), &["backup", text(&archive)]),
        "no backup was made",
    );
    assert_eq!(fs::read(&archive).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let root = temp_dir();
    fails(
        &limited(root.path(), &["restore", text(&archive)]),
        "nothing was restored",
    );
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn keys_pins_and_logs_of_a_newer_version_stay_as_they_are() {
    let root = temp_dir();
    let config = root.path().join("config");
    succeeds(&on(root.path(), &["keys", "add", "one", "--role", "read"]));
    let log = root.path().join("data/audit/1.jsonl");
    let keys = config.join("keys.yaml");
    for (file, from, to) in [
        (&keys, "gosling_format: 1", "gosling_format: 2"),
        (&log, "\"gosling_format\":1", "\"gosling_format\":2"),
    ] {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(file, text.replace(from, to)).unwrap();
    }
    let before = [&keys, &log].map(|file| fs::read(file).unwrap());
    let add = ["keys", "add", "two", "--role", "read"];
    fails(&on(root.path(), &add), "a newer gosling wrote it");
    fails(
        &on(root.path(), &["audit", "verify"]),
        "a newer gosling wrote it",
    );
    assert_eq!([&keys, &log].map(|file| fs::read(file).unwrap()), before);
}

#[test]
fn a_session_of_a_newer_version_stays_as_it_is() {
    let server = server().start();
    let [newer, other] = [(); 2].map(|()| {
        let session = server.session([]);
        session.say("hello").says("hello again").finishes();
        session.id.clone()
    });
    server.terminate();
    let path = server
        .root()
        .join(format!("data/sessions/{newer}/session.json"));
    let changed = fs::read_to_string(&path).unwrap();
    let changed = changed.replace("\"gosling_format\": 1", "\"gosling_format\": 3");
    fs::write(&path, &changed).unwrap();
    let server = server.again();
    server
        .get(&format!("/sessions/{newer}"))
        .is(422)
        .says("a newer gosling wrote it");
    server.get("/sessions").is(200).says(&other);
    server.known(&other).resume();
    assert_eq!(fs::read_to_string(&path).unwrap(), changed);
}

/// Everything belongs to a user who may not write there.
#[test]
#[cfg(unix)] // Another user.
fn a_read_only_root_is_backed_up_and_not_restored_to() {
    use std::os::unix::fs::chown;
    use std::os::unix::process::CommandExt;
    use support::system::{is_root, set_mode};

    const USER: u32 = 65534;
    let (root, folder) = (temp_dir(), temp_dir());
    succeeds(&on(root.path(), &["keys", "add", "one", "--role", "read"]));
    let archive = folder.path().join("a.tar");
    let mut all: Vec<PathBuf> = tree(root.path()).into_keys().collect();
    for folder in ["", "config", "data", "data/audit"] {
        all.push(root.path().join(folder));
    }
    for path in all.iter().chain([&folder.path().to_owned()]) {
        if is_root() {
            chown(path, Some(USER), Some(USER)).unwrap();
        }
    }
    all.iter().for_each(|path| set_mode(path, 0o500));
    let run = |arguments: &[&str]| {
        let mut command = gosling();
        if is_root() {
            command.uid(USER).gid(USER);
        }
        command.env("GOOSE_PATH_ROOT", root.path()).args(arguments);
        command.current_dir("/").output().unwrap()
    };
    let before = tree(root.path());
    succeeds(&run(&["backup", text(&archive)]));
    fails(&run(&["restore", "--force", text(&archive)]), "cannot");
    assert_eq!(tree(root.path()), before);
    all.iter().for_each(|path| set_mode(path, 0o700));
}
