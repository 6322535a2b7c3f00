//! `text_editor` when files cannot be written, or only in part: no content is lost.

use crate::stdio_server::StdioServer;
use crate::support::server::gosling;
use crate::support::temp_dir;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// More bytes than fit on the disk of these tests.
const LARGE: usize = 300_000;

/// A server whose files cannot grow beyond some kilobytes, as on a full disk.
fn on_full_disk() -> StdioServer {
    let mut command = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    command
        .args(["-c", script, "sh"])
        .arg(gosling().get_program());
    StdioServer::start_by(command)
}

/// The result for the model.
fn edit(server: &mut StdioServer, arguments: Value) -> Result<String, String> {
    server.call(1, "text_editor", arguments);
    let answer = server.next();
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().expect("a text");
    if result["isError"] == true {
        Err(text.to_owned())
    } else {
        Ok(text.to_owned())
    }
}

fn write(server: &mut StdioServer, path: &Path, text: &str) -> Result<String, String> {
    let arguments = json!({"command": "write", "path": path, "file_text": text});
    edit(server, arguments)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A file with two hard links and a symbolic link.
fn with_links(dir: &Path, text: &str) {
    fs::write(dir.join("a.txt"), text).unwrap();
    fs::hard_link(dir.join("a.txt"), dir.join("b.txt")).unwrap();
    symlink(dir.join("a.txt"), dir.join("link")).unwrap();
}

#[test]
fn a_file_keeps_its_text_where_there_is_no_room_for_another() {
    let dir = temp_dir();
    with_links(dir.path(), "one\ntwo\n");
    fs::write(dir.path().join("single.txt"), "one\n").unwrap();
    let before = names(dir.path());
    let mut server = on_full_disk();
    let large = "x".repeat(LARGE);
    for name in ["a.txt", "b.txt", "single.txt", "new.txt"] {
        let error = write(&mut server, &dir.path().join(name), &large).unwrap_err();
        assert!(error.contains("cannot be written"), "{error}");
        let change = json!({"command": "str_replace", "path": dir.path().join(name),
            "old_str": "one", "new_str": large});
        edit(&mut server, change).unwrap_err();
    }
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(
        (read("a.txt"), read("b.txt"), read("single.txt")),
        ("one\ntwo\n".into(), "one\ntwo\n".into(), "one\n".into())
    );
    assert_eq!(names(dir.path()), before, "nothing is left behind");
    // The second file of the diff cannot be written.
    let lines: String = (0..LARGE / 10).map(|n| format!("+line {n}\n")).collect();
    let diff = format!(
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\
         --- a/single.txt\n+++ b/single.txt\n@@ -1 +1,{} @@\n one\n{lines}",
        LARGE / 10 + 1
    );
    let arguments = json!({"command": "str_replace", "path": dir.path(), "diff": diff});
    edit(&mut server, arguments).unwrap_err();
    assert_eq!(
        (read("a.txt"), read("single.txt")),
        ("one\ntwo\n".into(), "one\n".into())
    );
    // A failed edit cannot be undone, and smaller edits still succeed.
    let undo = json!({"command": "undo_edit", "path": dir.path().join("a.txt")});
    let error = edit(&mut server, undo.clone()).unwrap_err();
    assert!(error.contains("no change"), "{error}");
    write(&mut server, &dir.path().join("b.txt"), "three\n").unwrap();
    assert_eq!(read("a.txt"), "three\n", "it is the same file still");
    let undo_b = json!({"command": "undo_edit", "path": dir.path().join("b.txt")});
    edit(&mut server, undo_b).unwrap();
    assert_eq!(read("a.txt"), "one\ntwo\n");
    assert_eq!(names(dir.path()), before);
}

#[test]
fn a_file_that_cannot_be_moved_stays() {
    let dir = temp_dir();
    let text: String = (0..LARGE / 10).map(|n| format!("line {n}\n")).collect();
    fs::write(dir.path().join("old.txt"), &text).unwrap();
    let diff = "diff --git a/old.txt b/new.txt\nsimilarity index 99%\n\
                rename from old.txt\nrename to new.txt\n\
                --- a/old.txt\n+++ b/new.txt\n@@ -1,2 +1,2 @@\n-line 0\n+line zero\n line 1\n";
    let mut server = on_full_disk();
    let arguments = json!({"command": "str_replace", "path": dir.path(), "diff": diff});
    let error = edit(&mut server, arguments.clone()).unwrap_err();
    assert!(error.contains("cannot be written"), "{error}");
    assert_eq!(names(dir.path()), ["old.txt"]);
    let kept = fs::read_to_string(dir.path().join("old.txt")).unwrap();
    assert!(kept == text, "the file has another text");
    edit(&mut StdioServer::start(), arguments).unwrap();
    assert_eq!(names(dir.path()), ["new.txt"]);
}

/// A server that runs as another user than the owner of the test's files; `None` if the test may not do that.
fn as_other_user() -> Option<StdioServer> {
    const OTHER_USER: u32 = 65_534;
    let mut command = gosling();
    command.uid(OTHER_USER).gid(OTHER_USER);
    let can_run = Command::new(command.get_program())
        .arg("--version")
        .uid(OTHER_USER)
        .gid(OTHER_USER)
        .output();
    can_run.is_ok().then(|| StdioServer::start_by(command))
}

#[test]
fn a_file_of_another_user_stays_theirs() {
    let dir = temp_dir();
    let make = |name: &str, mode: u32| {
        let path = dir.path().join(name);
        fs::write(&path, "old\n").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path
    };
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let open = make("open", 0o666);
    let closed = make("closed", 0o644);
    let read_only = make("read_only", 0o444);
    let Some(mut server) = as_other_user() else {
        eprintln!("not run: it takes root, and a program that all users can read");
        return;
    };
    let state = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        let text = fs::read_to_string(path).unwrap();
        (text, metadata.uid(), metadata.mode() & 0o777)
    };
    let owner = fs::metadata(&open).unwrap().uid();
    write(&mut server, &open, "new\n").unwrap();
    assert_eq!(state(&open), ("new\n".to_owned(), owner, 0o666));
    for (path, mode) in [(&closed, 0o644), (&read_only, 0o444)] {
        let error = write(&mut server, path, "new\n").unwrap_err();
        assert!(error.contains("cannot be written"), "{error}");
        assert_eq!(state(path), ("old\n".to_owned(), owner, mode));
    }
    // In a folder where other users cannot create files.
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    write(&mut server, &open, "newer\n").unwrap();
    assert_eq!(state(&open), ("newer\n".to_owned(), owner, 0o666));
    write(&mut server, &dir.path().join("more"), "x").unwrap_err();
    assert_eq!(names(dir.path()), ["closed", "open", "read_only"]);
}

#[test]
fn any_file_can_be_replaced_and_which_cannot_be_undone_is_told() {
    let dir = temp_dir();
    let mut server = StdioServer::start();
    for (name, content, what) in [
        ("large", "x".repeat(LARGE * 2).into_bytes(), "600000 bytes"),
        ("latin1", b"caf\xe9\n".to_vec(), "not in UTF-8"),
        ("image", b"\x89PNG\0".to_vec(), "binary"),
    ] {
        let path = dir.path().join(name);
        fs::write(&path, "1\n").unwrap();
        write(&mut server, &path, "2\n").unwrap();
        fs::write(&path, &content).unwrap();
        let view = json!({"command": "view", "path": path});
        edit(&mut server, view).unwrap_err();
        let said = write(&mut server, &path, "text\n").unwrap();
        assert!(said.contains(what), "{said}");
        assert!(said.contains("cannot undo that"), "{said}");
        let undo = json!({"command": "undo_edit", "path": path});
        let error = edit(&mut server, undo.clone()).unwrap_err();
        assert!(error.contains("no change"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "text\n");
        // An edit can be undone if the old text could be shown, whatever the length of the new one.
        write(&mut server, &path, &"y".repeat(LARGE * 2)).unwrap();
        edit(&mut server, undo).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text\n");
    }
}
