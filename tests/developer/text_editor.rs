//! `text_editor`.

use crate::support::server::Session;
use crate::support::system::{canonicalize, has_mode, mode, set_mode, shown, symlink};
use crate::{model_text, user_text, with_developer};
use serde_json::{Value, json};
#[cfg(target_os = "linux")]
use std::ffi::{CStr, CString};
use std::fs;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

struct Editor<'a> {
    session: &'a Session<'a>,
    dir: PathBuf,
}

impl Editor<'_> {
    #[track_caller]
    fn call(&self, arguments: Value) -> crate::support::client::Answer {
        self.session.call("developer__text_editor", arguments)
    }

    /// Runs a command that succeeds, and returns the text for the model.
    #[track_caller]
    fn does(&self, command: &str, path: &str, more: Value) -> String {
        model_text(&self.call(self.arguments(command, path, more)).is(200)).to_owned()
    }

    #[track_caller]
    fn refuses(&self, command: &str, path: &str, more: Value) -> String {
        let answer = self.call(self.arguments(command, path, more)).is(500);
        answer.body["message"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn undoes(&self, path: &str) -> String {
        let answer = self
            .call(self.arguments("undo_edit", path, json!({})))
            .is(200);
        answer.content().to_owned()
    }

    fn arguments(&self, command: &str, path: &str, mut more: Value) -> Value {
        more["command"] = command.into();
        more["path"] = path.into();
        more
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn get(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).unwrap()
    }
}

fn editor(test: impl FnOnce(Editor<'_>)) {
    with_developer(|session| {
        let dir = canonicalize(session.server.work()).unwrap();
        test(Editor { session, dir });
    });
}

#[test]
fn a_file_is_shown_with_its_line_numbers() {
    editor(|e| {
        let path = e.put("a.rs", "one\ntwo\nthree\n");
        let all = e.call(json!({"command": "view", "path": "a.rs"})).is(200);
        let expected = format!(
            "### {}\n```rust\n1: one\n2: two\n3: three\n```\n",
            path.display()
        );
        assert_eq!(
            (model_text(&all), user_text(&all)),
            (&*expected, &*expected)
        );
        let part = e.does(
            "view",
            path.to_str().unwrap(),
            json!({"view_range": [2, -1]}),
        );
        assert!(
            part.contains("(lines 2-3)") && part.contains("\n2: two\n3: three\n"),
            "{part}"
        );
        assert!(!part.contains("1: one"), "{part}");
        for bad in [json!([0, 2]), json!([3, 2]), json!([4, 5]), json!([1])] {
            let error = e.refuses("view", "a.rs", json!({ "view_range": bad }));
            assert!(error.contains("view_range"), "{error}");
        }
        assert!(
            e.refuses("view", "absent.txt", json!({}))
                .contains("no file")
        );
        let long: String = (0..2_001).map(|n| format!("{n}\n")).collect();
        e.put("long", &long);
        let error = e.refuses("view", "long", json!({}));
        assert!(
            error.contains("2001 lines") && error.contains("view_range"),
            "{error}"
        );
        e.does("view", "long", json!({"view_range": [1, 2000]}));
        e.put("large", "x".repeat(400_001));
        assert!(
            e.refuses("view", "large", json!({}))
                .contains("400001 bytes")
        );
        e.put("binary", b"a\0b");
        e.put("latin", b"caf\xe9");
        let images = if cfg!(feature = "image") {
            "image_processor"
        } else {
            "only text"
        };
        for (name, says) in [("binary", images), ("latin", "iconv")] {
            let error = e.refuses("view", name, json!({}));
            assert!(error.contains(says), "{error}");
        }
        e.put("empty", "");
        e.does("view", "empty", json!({"view_range": [1, -1]}));
        // Some clients write integers as floats, and send null for unused parameters.
        let part = e.does("view", "a.rs", json!({"view_range": [2.0, 3.0]}));
        assert!(part.contains("(lines 2-3)"), "{part}");
        e.does("view", "a.rs", json!({"view_range": []}));
        let answer = e.call(json!({"command": "view", "path": "a.rs", "view_range": [1.5, 2.0]}));
        let why = answer.is(200).content().to_owned();
        assert!(
            why.contains("`view_range[0]` is a number, not integer"),
            "{why}"
        );
        assert!(!why.contains("view_range[1]"), "{why}");
        let listing = e.does("view", ".", json!({}));
        assert!(
            listing.contains("\na.rs\n") && listing.contains("\nlong\n"),
            "{listing}"
        );
    });
}

#[test]
fn what_is_written_is_there_and_can_be_taken_back() {
    editor(|e| {
        let answer = e
            .call(json!({"command": "write", "path": "new/a.txt", "file_text": "a\nb\n"}))
            .is(200);
        assert!(model_text(&answer).contains(&shown("new/a.txt")));
        assert!(
            user_text(&answer).ends_with("```\na\nb\n\n```\n"),
            "{}",
            user_text(&answer)
        );
        assert_eq!(e.get("new/a.txt"), "a\nb\n");
        e.does("write", "new/a.txt", json!({"file_text": "c"}));
        e.undoes("new/a.txt");
        assert_eq!(e.get("new/a.txt"), "a\nb\n");
        e.undoes("new/a.txt");
        assert!(!e.dir.join("new/a.txt").exists());
        assert!(
            e.refuses("undo_edit", "new/a.txt", json!({}))
                .contains("left to undo")
        );
        for command in ["write", "str_replace", "insert"] {
            let error = e.refuses(command, "x", json!({}));
            assert!(error.contains("needs"), "{error}");
        }
        assert!(e.refuses("destroy", "x", json!({})).contains("destroy"));
    });
}

#[test]
fn one_place_is_replaced_and_only_one() {
    editor(|e| {
        e.put("a.txt", "alpha\nbeta\ngamma\nbeta\n");
        let error = e.refuses(
            "str_replace",
            "a.txt",
            json!({"old_str": "beta", "new_str": "x"}),
        );
        assert!(error.contains("2 times, from line 2, 4 on"), "{error}");
        let error = e.refuses(
            "str_replace",
            "a.txt",
            json!({"old_str": "gamm a", "new_str": "x"}),
        );
        assert!(error.contains("line 3, \"gamma\""), "{error}");
        let more = json!({"old_str": "gamma\nbeta", "new_str": "GAMMA\nDELTA\nBETA"});
        let told = e.does("str_replace", "a.txt", more);
        assert!(told.contains("beta\nGAMMA\nDELTA\nBETA\n"), "{told}");
        assert_eq!(e.get("a.txt"), "alpha\nbeta\nGAMMA\nDELTA\nBETA\n");
        assert!(
            e.refuses(
                "str_replace",
                "a.txt",
                json!({"old_str": "", "new_str": "x"})
            )
            .contains("empty")
        );
        e.undoes("a.txt");
        assert_eq!(e.get("a.txt"), "alpha\nbeta\ngamma\nbeta\n");
    });
}

#[test]
fn lines_are_put_in_anywhere() {
    editor(|e| {
        for (line, expected) in [
            (0, "x\na\nb\n"),
            (1, "a\nx\nb\n"),
            (2, "a\nb\nx\n"),
            (-1, "a\nb\nx\n"),
            (-3, "x\na\nb\n"),
        ] {
            e.put("a", "a\nb\n");
            e.does(
                "insert",
                "a",
                json!({"insert_line": line, "new_str": "x\n"}),
            );
            assert_eq!(e.get("a"), expected, "{line}");
        }
        e.put("a", "a\nb");
        e.does("insert", "a", json!({"insert_line": 2, "new_str": "c"}));
        assert_eq!(e.get("a"), "a\nb\nc");
        for line in [4, -5] {
            let error = e.refuses("insert", "a", json!({"insert_line": line, "new_str": "x"}));
            assert!(error.contains("between -4 and 3"), "{error}");
        }
    });
}

#[test]
fn a_file_keeps_what_it_was_apart_from_its_text() {
    editor(|e| {
        let path = e.put("run.sh", "echo a\r\necho b\r\n");
        set_mode(&path, 0o750);
        e.does(
            "str_replace",
            "run.sh",
            json!({"old_str": "echo a\necho", "new_str": "x\ny"}),
        );
        assert_eq!(e.get("run.sh"), "x\r\ny b\r\n");
        assert!(has_mode(&path, 0o750));
        // Both hard links still refer to the same file.
        let other = e.dir.join("other.sh");
        fs::hard_link(&path, &other).unwrap();
        e.does(
            "insert",
            "run.sh",
            json!({"insert_line": 0, "new_str": "first"}),
        );
        assert!(e.get("other.sh").starts_with("first\r\n"));
        // No other file is left.
        let names: Vec<_> = fs::read_dir(&e.dir)
            .unwrap()
            .flatten()
            .map(|f| f.file_name())
            .collect();
        assert!(
            names
                .iter()
                .all(|name| !name.to_string_lossy().starts_with(".run")),
            "{names:?}"
        );
    });
}

/// Sets an extended attribute; false where the file system has none.
#[cfg(target_os = "linux")]
fn set_attribute(path: &Path, name: &CStr, value: &[u8]) -> bool {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let (value, size) = (value.as_ptr().cast(), value.len());
    // SAFETY: both texts end with NUL, and the value has this size.
    let set = unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value, size, 0) };
    let error = std::io::Error::last_os_error();
    assert!(
        set == 0 || error.raw_os_error() == Some(libc::ENOTSUP),
        "{error}"
    );
    set == 0
}

#[cfg(target_os = "linux")]
fn attribute(path: &Path, name: &CStr) -> Vec<u8> {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let mut value = vec![0; 1000];
    let buffer = value.as_mut_ptr().cast();
    // SAFETY: both texts end with NUL, and the buffer has this size.
    let len = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), buffer, 1000) };
    value.truncate(usize::try_from(len).unwrap_or(0));
    value
}

/// An access control list that lets user 1234 read and write, and the group nothing. The bits of the group in the
/// mode are its mask.
#[cfg(target_os = "linux")]
fn access_control_list() -> Vec<u8> {
    const ANY: u32 = u32::MAX;
    let entries = [
        (1, 6, ANY),
        (2, 6, 1234),
        (4, 0, ANY),
        (0x10, 6, ANY),
        (0x20, 0, ANY),
    ];
    let entry = |(tag, rights, id): (u16, u16, u32)| {
        [
            &tag.to_le_bytes()[..],
            &rights.to_le_bytes(),
            &id.to_le_bytes(),
        ]
        .concat()
    };
    let mut list = 2_u32.to_le_bytes().to_vec();
    list.extend(entries.into_iter().flat_map(entry));
    list
}

#[cfg(target_os = "linux")]
#[test]
fn access_control_lists_and_attributes_are_kept() {
    const LIST: &CStr = c"system.posix_acl_access";
    editor(|e| {
        for (name, attribute_name, value) in [
            ("listed", LIST, access_control_list()),
            ("tagged", c"user.origin", b"somewhere".to_vec()),
        ] {
            let path = e.put(name, "one\n");
            if !set_attribute(&path, attribute_name, &value) {
                println!("skipped: the file system has no {attribute_name:?}");
                continue;
            }
            let kept = mode(&path);
            let edit = json!({"old_str": "one", "new_str": "two"});
            e.does("str_replace", name, edit);
            assert_eq!(e.get(name), "two\n");
            assert_eq!(attribute(&path, attribute_name), value, "{name}");
            e.undoes(name);
            e.does("write", name, json!({"file_text": "three\n"}));
            assert_eq!(attribute(&path, attribute_name), value, "{name}");
            assert_eq!(mode(&path), kept, "{name}");
            // A diff that renames or removes it would lose them.
            let removes = format!("--- a/{name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-three\n");
            let renames = format!("diff --git a/{name} b/new\nrename from {name}\nrename to new\n");
            for diff in [removes, renames] {
                let error = e.refuses("str_replace", ".", json!({ "diff": diff }));
                assert!(error.contains("extended attribute"), "{error}");
            }
            assert_eq!(e.get(name), "three\n");
        }
        // A new file in a folder with a default list would get that.
        let path = e.put("folder/plain", "one\n");
        set_mode(&path, 0o660);
        let folder = path.parent().unwrap();
        if set_attribute(folder, c"system.posix_acl_default", &access_control_list()) {
            e.does("write", "folder/plain", json!({"file_text": "two\n"}));
            assert_eq!(attribute(&path, LIST), b"");
            assert!(has_mode(&path, 0o660));
        }
    });
}

#[test]
fn a_diff_that_names_another_file_or_creates_one_that_exists_is_refused() {
    editor(|e| {
        for name in ["a.txt", "b.txt", "sub/a.txt"] {
            e.put(name, "one\n");
        }
        let change = "@@ -1 +1 @@\n-one\n+two\n";
        let add = "@@ -0,0 +1 @@\n+two\n";
        for (path, header, hunk) in [
            ("a.txt", "--- a/b.txt\n+++ b/b.txt\n", change),
            ("a.txt", "--- a/none.txt\n+++ b/none.txt\n", change),
            ("a.txt", "--- b.txt\n+++ b.txt.new\n", change),
            ("a.txt", "--- a/sub/a.txt\n+++ b/sub/a.txt\n", change),
            ("sub/a.txt", "--- a/a.txt\n+++ b/a.txt\n", change),
            (
                "a.txt",
                "--- a/b.txt\n+++ /dev/null\n",
                "@@ -1 +0,0 @@\n-one\n",
            ),
            ("new.txt", "--- /dev/null\n+++ b/other.txt\n", add),
            (
                "a.txt",
                "diff --git a/b.txt b/c.txt\nrename from b.txt\nrename to c.txt\n",
                "",
            ),
        ] {
            let diff = format!("{header}{hunk}");
            let error = e.refuses("str_replace", path, json!({ "diff": diff }));
            assert!(error.contains("another file"), "{diff}: {error}");
        }
        for header in [
            "--- /dev/null\n+++ b/a.txt\n",
            "diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- a/a.txt\n+++ b/a.txt\n",
        ] {
            for path in ["a.txt", "."] {
                let diff = format!("{header}{add}");
                let error = e.refuses("str_replace", path, json!({ "diff": diff }));
                assert!(error.contains("exists already"), "{diff}: {error}");
            }
        }
        for name in ["a.txt", "b.txt", "sub/a.txt"] {
            assert_eq!(e.get(name), "one\n");
        }
        // Two different names of which none is a file are labels.
        for header in [
            "--- original\n+++ modified\n",
            "--- a.txt.orig\n+++ a.txt\n",
            "--- a/work/a.txt\n+++ b/work/a.txt\n",
            "",
        ] {
            let diff = format!("{header}{change}");
            e.does("str_replace", "a.txt", json!({ "diff": diff }));
            e.undoes("a.txt");
        }
        let diff = format!("--- a/a.txt\n+++ b/a.txt\n{change}");
        symlink(e.dir.join("sub"), e.dir.join("link")).unwrap();
        e.does("str_replace", "a.txt", json!({ "diff": diff }));
        let diff = format!("--- a/link/a.txt\n+++ b/link/a.txt\n{change}");
        e.does("str_replace", "sub/a.txt", json!({ "diff": diff }));
    });
}

#[test]
fn links_are_followed_into_the_working_directory_alone() {
    editor(|e| {
        let outside = crate::support::temp_dir();
        let secret = outside.path().join("secret");
        fs::write(&secret, "keep\n").unwrap();
        let inside = e.put("real.txt", "a\n");
        symlink(&inside, e.dir.join("good")).unwrap();
        symlink(&secret, e.dir.join("bad")).unwrap();
        symlink(outside.path(), e.dir.join("folder")).unwrap();
        symlink("loop", e.dir.join("loop")).unwrap();
        e.does("write", "good", json!({"file_text": "b\n"}));
        assert_eq!(e.get("real.txt"), "b\n");
        assert!(e.dir.join("good").is_symlink());
        for name in ["bad", "folder/secret", "folder/new"] {
            let error = e.refuses("write", name, json!({"file_text": "x"}));
            assert!(error.contains("symbolic link"), "{error}");
        }
        e.refuses("write", "loop", json!({"file_text": "x"}));
        // A path that names the target itself is accepted.
        e.does(
            "write",
            secret.to_str().unwrap(),
            json!({"file_text": "changed"}),
        );
        assert_eq!(fs::read_to_string(&secret).unwrap(), "changed");
    });
}

#[test]
#[cfg(unix)] // Named pipes and devices.
fn what_is_no_file_is_refused_at_once() {
    editor(|e| {
        let pipe = e.dir.join("pipe");
        let made = std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap();
        assert!(made.success());
        for path in [
            "pipe",
            "/dev/zero",
            "/dev/tty",
            "/proc/self/mem",
            "/proc/self/environ",
        ] {
            let error = e.refuses("view", path, json!({}));
            assert!(
                error.contains("not a regular file") || error.contains("cannot be read"),
                "{error}"
            );
            e.refuses("write", path, json!({"file_text": "x"}));
        }
        e.refuses("write", "/proc/gosling", json!({"file_text": "x"}));
        e.refuses("write", ".", json!({"file_text": "x"}));
        e.refuses("view", "", json!({}));
    });
}

#[test]
fn a_diff_is_applied_to_all_of_its_files_or_to_none() {
    editor(|e| {
        e.put("a.txt", "one\ntwo\nthree\n");
        e.put("sub/b.txt", "x\ny\n");
        e.put("old.txt", "bye\n");
        let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n\
                    --- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1,2 +1,2 @@\n-x\n+X\n y\n\
                    --- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+new\n\
                    --- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n";
        let broken = diff.replace("-x\n", "-z\n");
        let error = e.refuses("str_replace", ".", json!({ "diff": broken }));
        assert!(
            error.contains(&shown("sub/b.txt")) && error.contains("hunk 1"),
            "{error}"
        );
        assert_eq!(e.get("a.txt"), "one\ntwo\nthree\n");
        let told = e.does("str_replace", ".", json!({ "diff": diff }));
        assert!(told.contains("TWO") && told.contains("Removed"), "{told}");
        assert_eq!(
            (e.get("a.txt"), e.get("sub/b.txt")),
            ("one\nTWO\nthree\n".into(), "X\ny\n".into())
        );
        assert_eq!(e.get("c.txt"), "new\n");
        assert!(!e.dir.join("old.txt").exists());
        e.undoes("old.txt");
        e.undoes("c.txt");
        assert_eq!(e.get("old.txt"), "bye\n");
        assert!(!e.dir.join("c.txt").exists());
        // With one file in the diff, `path` decides, whatever the names in the diff.
        let one = "--- before\n+++ after\n@@ -3 +3 @@\n-three\n+3\n";
        e.does("str_replace", "a.txt", json!({ "diff": one }));
        assert_eq!(e.get("a.txt"), "one\nTWO\n3\n");
    });
}

#[test]
fn lines_that_end_in_different_ways_stay_as_they_are() {
    editor(|e| {
        let bom = "\u{feff}";
        e.put("mixed.cs", format!("{bom}a\r\nb\nc\r\nd\r\n"));
        let shown = e.does("view", "mixed.cs", json!({}));
        assert!(shown.contains("\n1: a\n2: b\n3: c\n"), "{shown:?}");
        e.does(
            "insert",
            "mixed.cs",
            json!({"insert_line": 0, "new_str": "0"}),
        );
        let more = json!({"old_str": "c\nd", "new_str": "C\nD"});
        e.does("str_replace", "mixed.cs", more);
        let diff = "@@ -1,3 +1,3 @@\n 0\n-a\n+A\n b\n";
        // Some clients send empty values for unused parameters.
        let more = json!({"diff": diff, "old_str": "", "new_str": ""});
        e.does("str_replace", "mixed.cs", more);
        assert_eq!(e.get("mixed.cs"), format!("{bom}0\r\nA\r\nb\nC\r\nD\r\n"));
        let more = json!({"diff": "", "old_str": "A", "new_str": "a"});
        e.does("str_replace", "mixed.cs", more);
        e.does("write", "mixed.cs", json!({"file_text": "new\n"}));
        assert_eq!(e.get("mixed.cs"), format!("{bom}new\n"));
    });
}

#[test]
fn undoing_loses_nothing_that_others_did_since() {
    editor(|e| {
        let path = e.put("a.txt", "1\n");
        e.does(
            "str_replace",
            "a.txt",
            json!({"old_str": "1", "new_str": "2"}),
        );
        fs::write(&path, "2\nwork of the user\n").unwrap();
        let error = e.refuses("undo_edit", "a.txt", json!({}));
        assert!(error.contains("has been changed since"), "{error}");
        assert_eq!(e.get("a.txt"), "2\nwork of the user\n");
        fs::write(&path, "2\n").unwrap();
        e.undoes("a.txt");
        assert_eq!(e.get("a.txt"), "1\n");
        // The edit created the file, and a command changed it.
        e.does("write", "b.txt", json!({"file_text": "b"}));
        e.put("b.txt", "bb");
        e.refuses("undo_edit", "b.txt", json!({}));
        assert_eq!(e.get("b.txt"), "bb");
        // The diff removed a file; the new file of the same name is larger than any that an edit leaves.
        let path_of_large = e.put("c.txt", "c\n");
        let diff = "--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n";
        e.does("str_replace", ".", json!({ "diff": diff }));
        let large = fs::File::create(&path_of_large).unwrap();
        large.set_len((64 << 20) + 1).unwrap();
        let error = e.refuses("undo_edit", "c.txt", json!({}));
        assert!(error.contains("has been changed since"), "{error}");
        assert_eq!(fs::metadata(&path_of_large).unwrap().len(), (64 << 20) + 1);
        drop(large);
        fs::remove_file(&path_of_large).unwrap();
        e.undoes("c.txt");
        assert_eq!(e.get("c.txt"), "c\n");
        // A file that does not exist has no content to lose.
        e.does("write", "a.txt", json!({"file_text": "2\n"}));
        fs::remove_file(&path).unwrap();
        e.undoes("a.txt");
        assert_eq!(e.get("a.txt"), "1\n");
    });
}

#[test]
fn a_diff_of_git_makes_moves_and_removes_files() {
    editor(|e| {
        let has_mode = |name: &str, wanted| has_mode(e.dir.join(name), wanted);
        let moved = e.put("tools/old.sh", "echo 1\necho 2\n");
        let gone = e.put("gone.sh", "bye\n");
        for path in [&moved, &gone] {
            set_mode(path, 0o750);
        }
        e.put("b/inner.txt", "x\n");
        let diff = "diff --git a/tools/old.sh b/tools/new.sh\nsimilarity index 50%\n\
                    rename from tools/old.sh\nrename to tools/new.sh\nindex 1..2 100755\n\
                    --- a/tools/old.sh\n+++ b/tools/new.sh\n@@ -1,2 +1,2 @@\n echo 1\n-echo 2\n+echo 3\n\
                    diff --git a/pkg/__init__.py b/pkg/__init__.py\nnew file mode 100644\nindex 0000000..e69de29\n\
                    diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+ls\n\
                    diff --git a/gone.sh b/gone.sh\ndeleted file mode 100755\n--- a/gone.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\
                    diff --git b/inner.txt b/inner.txt\n--- b/inner.txt\n+++ b/inner.txt\n@@ -1 +1 @@\n-x\n+y\n";
        e.put("tools/new.sh", "in the way\n");
        let error = e.refuses("str_replace", ".", json!({ "diff": diff }));
        assert!(error.contains("exists already"), "{error}");
        fs::remove_file(e.dir.join("tools/new.sh")).unwrap();
        e.does("str_replace", ".", json!({ "diff": diff }));
        assert!(!moved.exists() && !gone.exists());
        assert_eq!(e.get("tools/new.sh"), "echo 1\necho 3\n");
        assert!(has_mode("tools/new.sh", 0o750));
        assert_eq!(
            (e.get("pkg/__init__.py"), e.get("run")),
            (String::new(), "ls\n".into())
        );
        assert!(mode(e.dir.join("run")).is_none_or(|mode| mode & 0o100 != 0));
        assert_eq!(e.get("b/inner.txt"), "y\n");
        for name in ["gone.sh", "tools/new.sh", "tools/old.sh", "pkg/__init__.py"] {
            e.undoes(name);
        }
        assert_eq!(e.get("gone.sh"), "bye\n");
        assert!(has_mode("gone.sh", 0o750));
        assert_eq!(e.get("tools/old.sh"), "echo 1\necho 2\n");
        assert!(has_mode("tools/old.sh", 0o750));
        assert!(!e.dir.join("tools/new.sh").exists());
        // Without an error, a diff would be applied only in part.
        let diff = "diff --git a/run b/run\nold mode 100755\nnew mode 100644\n";
        assert!(
            e.refuses("str_replace", ".", json!({ "diff": diff }))
                .contains("chmod")
        );
    });
}

#[test]
fn edits_at_the_same_time_lose_nothing() {
    editor(|e| {
        e.put("a.txt", "");
        std::thread::scope(|scope| {
            for n in 0..16 {
                let e = &e;
                scope.spawn(move || {
                    e.does(
                        "insert",
                        "a.txt",
                        json!({"insert_line": 0, "new_str": format!("line {n}")}),
                    );
                });
            }
        });
        assert_eq!(e.get("a.txt").lines().count(), 16);
    });
}
