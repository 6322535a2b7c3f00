//! `analyze`.

use crate::stdio_server::StdioServer;
use crate::support::client::Answer;
use crate::support::server::Session;
use crate::support::system::{canonicalize, shown, symlink};
use crate::support::{TempDir, temp_dir, until};
use crate::{model_text, user_text, with_developer};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::Command;
use std::time::{Duration, Instant};

fn analyze(session: &Session<'_>, arguments: Value) -> Answer {
    session.call("developer__analyze", arguments)
}

/// The result as text; the model and the user get the same.
fn text(session: &Session<'_>, arguments: Value) -> String {
    let answer = analyze(session, arguments).is(200);
    assert_eq!(model_text(&answer), user_text(&answer));
    model_text(&answer).to_owned()
}

fn refuses(session: &Session<'_>, arguments: Value, why: &str) {
    let answer = analyze(session, arguments).is(500);
    let message = answer.body["message"].as_str().unwrap_or_default();
    assert!(message.contains(why), "{message}");
}

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_directory_is_shown_without_what_git_ignores() {
    with_developer(|session| {
        let dir = canonicalize(session.server.work()).unwrap();
        write(
            &dir,
            "p/.gitignore",
            "out/\n/gen.rs\n*.min.js\n!keep.min.js\n{x}.py\n",
        );
        write(&dir, "p/src/a.rs", "fn a() {}\nstruct A;\n");
        write(&dir, "p/src/deep/b.py", "def b(): pass\n");
        write(&dir, "p/src/deep/er/c.go", "package c\n");
        write(&dir, "p/src/deep/er/est/d.c", "int d(void) { return 0; }\n");
        write(&dir, "p/src/.gitignore", "skipped.rb\n");
        write(&dir, "p/keep.min.js", "function k() {}\n");
        write(&dir, "p/src/gen.rs", "fn g() {}\n");
        write(&dir, "p/src/x.py", "\n");
        for hidden in [
            "p/out/no.rs",
            "p/gen.rs",
            "p/no.min.js",
            "p/src/skipped.rb",
            "p/.hidden/no.rs",
            "p/.no.rs",
            "p/{x}.py",
            "p/secret/no.rs",
            "p/notes.txt",
        ] {
            write(&dir, hidden, "fn no() {}\n");
        }
        symlink(dir.join("p/src/a.rs"), dir.join("p/src/link.rs")).unwrap();
        symlink(dir.join("p"), dir.join("p/src/round")).unwrap();
        write(&dir, ".gooseignore", "secret/\n");
        let shown = text(session, json!({"path": "p", "max_depth": 4}));
        let root = dir.join("p");
        assert_eq!(
            shown,
            format!(
                "{}: 6 source files, 7 lines, 4 functions, 1 class\n\
                 \x20 Rust: 2 files, 3 lines (43 %), 2 functions, 1 class\n\
                 \x20 Python: 2 files, 2 lines (29 %), 1 function, 0 classes\n\
                 \x20 JavaScript: 1 file, 1 line (14 %), 1 function, 0 classes\n\
                 \x20 Go: 1 file, 1 line (14 %), 0 functions, 0 classes\n\n\
                 keep.min.js [1L 1F 0C]\n\
                 src/\n\
                 \x20 a.rs [2L 1F 1C]\n\
                 \x20 gen.rs [1L 1F 0C]\n\
                 \x20 x.py [1L 0F 0C]\n\
                 \x20 deep/\n\
                 \x20   b.py [1L 1F 0C]\n\
                 \x20   er/\n\
                 \x20     c.go [1L 0F 0C]\n\n\
                 Deeper than max_depth 4, and not analyzed: src/deep/er/est\n",
                root.display()
            )
        );
    });
}

#[test]
fn depth_is_what_is_asked_for() {
    with_developer(|session| {
        let dir = session.server.work();
        write(&dir, "q/1/2/3/4/deep.rs", "fn deep() {}\n");
        let usual = text(session, json!({"path": "q"}));
        assert!(
            !usual.contains("deep.rs")
                && usual.contains(&format!("not analyzed: {}", shown("1/2/3"))),
            "{usual}"
        );
        let all = text(session, json!({"path": "q", "max_depth": 0}));
        assert!(
            all.contains("deep.rs [1L 1F 0C]") && !all.contains("not looked"),
            "{all}"
        );
    });
}

#[test]
fn the_rules_of_the_repository_around_count_and_are_read_with_bounds() {
    with_developer(|session| {
        let dir = session.server.work();
        write(&dir, "repo/.git/info/exclude", "excluded.rs\n");
        write(
            &dir,
            "repo/.gitignore",
            &format!("{}\n/sub/no.rs\n[z-a\n", "{a,".repeat(100_000)),
        );
        for name in ["no.rs", "excluded.rs", "yes.rs"] {
            write(&dir, &format!("repo/sub/{name}"), "fn f() {}\n");
        }
        let shown = text(session, json!({"path": "repo/sub"}));
        assert!(
            shown.contains("yes.rs") && !shown.contains("excluded.rs"),
            "{shown}"
        );
        // Only the first 64 KiB are read.
        assert!(shown.contains("no.rs"), "{shown}");
        write(
            &dir,
            "repo/.gitignore",
            &format!("{}\n/sub/no.rs\n[z-a\n", "{a,".repeat(10_000)),
        );
        let shown = text(session, json!({"path": "repo/sub"}));
        assert!(
            shown.contains("yes.rs") && !shown.contains("no.rs"),
            "{shown}"
        );
    });
}

#[test]
fn a_file_is_shown_with_what_is_called_often() {
    with_developer(|session| {
        let dir = canonicalize(session.server.work()).unwrap();
        let source = "use std::fmt;\n\nstruct A;\n\nimpl A {\n    fn often(&self) {}\n}\n\n\
                      fn main() {\n    a.often(); a.often();\n    a.often(); a.often(); main2();\n}\n\
                      fn main2() {}\n";
        write(&dir, "main.rs", source);
        assert_eq!(
            text(
                session,
                json!({"path": "main.rs", "ast_recursion_limit": 5})
            ),
            format!(
                "{}: Rust, 13 lines, 3 functions, 1 class\n\nImports:\n  1: use std::fmt\n\nClasses:\n  \
                 3: struct A (1 line)\n  5-7: impl A (3 lines)\n\nFunctions:\n  \
                 6: fn A.often (1 line) •4\n  9-12: fn main (4 lines)\n  13: fn main2 (1 line)\n",
                dir.join("main.rs").display()
            )
        );
    });
}

#[test]
fn a_symbol_is_followed_through_its_callers() {
    with_developer(|session| {
        let dir = canonicalize(session.server.work()).unwrap();
        write(
            &dir,
            "f/a.rs",
            "impl A {\n    fn core(&self) { helper(); }\n}\nfn helper() {}\n",
        );
        write(&dir, "f/b.py", "def middle():\n    x.core()\n\nx.core()\n");
        write(
            &dir,
            "f/c.js",
            "function outer() { middle(); }\n// core()\nconst s = 'core()';\n",
        );
        write(&dir, "f/d.go", "package d\n\nfunc top() { outer() }\n");
        let focus = |arguments: Value| {
            let mut all = json!({"path": "f", "focus": "core"});
            all.as_object_mut()
                .unwrap()
                .extend(arguments.as_object().unwrap().clone());
            let shown = text(session, all);
            let (_, rest) = shown.split_once("\n\n").unwrap();
            rest.to_owned()
        };
        let defined = "Definitions (1):\n  a.rs:2 fn A.core (1 line)\n";
        assert_eq!(focus(json!({"follow_depth": 0})), defined);
        let first = "\nCalls of it (2):\n  b.py:2 in def middle\n  b.py:4 outside of functions\n";
        let calls = "\nCalls of functions that are defined here (1):\n  helper a.rs:4\n";
        assert_eq!(
            focus(json!({"follow_depth": 1})),
            format!("{defined}{first}{calls}")
        );
        let second = "\nCalls of these callers (1):\n  c.js:1 in function outer, calls middle\n";
        assert_eq!(focus(json!({})), format!("{defined}{first}{second}{calls}"));
        let third = "\nCalls of these callers, level 3 (1):\n  d.go:3 in func top, calls outer\n";
        let all = format!("{defined}{first}{second}{third}{calls}");
        assert_eq!(focus(json!({"follow_depth": 9})), all);
        assert_eq!(focus(json!({"focus": "A::core", "follow_depth": 9})), all);
        let none = focus(json!({"focus": "Core"}));
        assert!(none.contains("none here; letter case counts"), "{none}");
        let alone = text(session, json!({"path": "f/b.py", "focus": "middle"}));
        assert!(alone.contains("b.py:1 def middle (2 lines)"), "{alone}");
    });
}

#[test]
fn what_cannot_be_analyzed_is_refused_with_a_reason() {
    with_developer(|session| {
        let dir = session.server.work();
        write(&dir, "notes.txt", "hello\n");
        write(&dir, "secrets.py", "key = 1\n");
        write(&dir, "data.c", "int a;\0\0");
        write(&dir, "large.c", &"int a;\n".repeat(400_000));
        refuses(
            session,
            json!({"path": "notes.txt"}),
            "not in a supported language",
        );
        refuses(
            session,
            json!({"path": "secrets.py"}),
            "not accessible to tools",
        );
        refuses(session, json!({"path": "data.c"}), "binary");
        refuses(session, json!({"path": "large.c"}), "more than the");
        refuses(session, json!({"path": "none.rs"}), "there is no");
        refuses(session, json!({"path": " "}), "empty");
        #[cfg(unix)]
        {
            let made = Command::new("mkfifo").arg(dir.join("pipe.rs")).status();
            assert!(made.unwrap().success());
            refuses(session, json!({"path": "pipe.rs"}), "not a regular file");
        }
        let shown = text(session, json!({"path": "."}));
        assert!(
            shown.contains("1 of the files are too large")
                && shown.contains("1 of the files are not text")
        );
        assert!(!shown.contains("secrets"), "{shown}");
    });
}

#[test]
fn much_is_cut_and_many_files_become_folders() {
    with_developer(|session| {
        let dir = session.server.work();
        let many: String = (0..4_000)
            .map(|n| format!("def function_{n}(): pass\n"))
            .collect();
        write(&dir, "many.py", &many);
        let shown = text(session, json!({"path": "many.py"}));
        assert!(
            shown.contains("\n(cut: ") && shown.chars().count() < 40_400,
            "{}",
            shown.len()
        );
        let forced = text(session, json!({"path": "many.py", "force": true}));
        assert!(forced.contains("def function_3999") && !forced.contains("(cut: "));
        for n in 0..2_500 {
            write(
                &dir,
                &format!("tree/{:02}/a_file_with_a_name_{n}.rs", n % 50),
                "fn f() {}\n",
            );
        }
        let started = Instant::now();
        let shown = text(session, json!({"path": "tree"}));
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?}",
            started.elapsed()
        );
        assert!(shown.contains("2500 source files"), "{shown}");
        assert!(
            shown.contains("\n49/ [50 files 50L 50F 0C]\n") && !shown.contains("a_file"),
            "{shown}"
        );
        assert_eq!(shown, text(session, json!({"path": "tree"})));
    });
}

/// Many directory entries for few files: reading all of them takes minutes, even on many cores.
fn vast() -> TempDir {
    let tree = temp_dir();
    let source = "fn f(a: &str) -> u8 { g(a, \"text\") + h[1].i(2) }\n".repeat(30_000);
    for folder in 0..45 {
        let folder = tree.path().join(format!("{folder:02}"));
        fs::create_dir(&folder).unwrap();
        let first = folder.join("0.rs");
        fs::write(&first, &source).unwrap();
        for n in 1..1_000 {
            fs::hard_link(&first, folder.join(format!("{n}.rs"))).unwrap();
        }
    }
    tree
}

/// Whether this process runs a call of `analyze`.
fn analyzes(pid: u32) -> bool {
    // Linux keeps 15 characters.
    let is_one = |name: String| name.starts_with("mcp developer a") || name == "analyze";
    thread_names(pid).into_iter().any(is_one)
}

#[cfg(unix)]
fn thread_names(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).collect()
}

#[cfg(windows)]
use windows_threads::names as thread_names;
#[cfg(windows)]
#[path = "../support/windows_threads.rs"]
mod windows_threads;

#[test]
fn a_vast_tree_is_left_when_nobody_wants_it_any_more() {
    let tree = vast();
    let mut server = StdioServer::start();
    for (id, focus) in [(1, Value::Null), (2, json!("f"))] {
        server.call(id, "analyze", json!({"path": tree.path(), "focus": focus}));
        until("it begins", || analyzes(server.pid()).then_some(()));
        let begin = Instant::now();
        server.cancel(id);
        until("it ends", || (!analyzes(server.pid())).then_some(()));
        // Without cancellation it takes thirty seconds.
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
    server.call(3, "analyze", json!({"path": tree.path().join("none")}));
    assert_eq!(server.next()["id"], 3, "what is cancelled is not answered");
}
