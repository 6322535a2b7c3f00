//! Every file that another program can replace is opened with the checked functions of `sys::fs`, because a named
//! pipe in its place would block and a device may have no end. This reads the sources: a plain read in the
//! product's code needs an entry here, with its reason.
//!
//! Nor are the calls of std made with which Windows does something else than Unix: it does not change the size of a
//! file that was opened to append to it, and lets nobody read what is locked. Wine hides both.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The functions that open a file without a check.
const PLAIN: [&str; 7] = [
    "File::open(",
    "File::options(",
    "fs::read(",
    "fs::read_to_string(",
    "fs::copy(",
    "fs::write(",
    "File::create(",
];

const OPTIONS: &str = "OpenOptions::new(";

/// What must stand in the same function for each `OpenOptions`: it is checked, or it never opens a file that exists.
const CHECKED: [&str; 2] = ["open_regular_with(", "create_new(true)"];

/// The files with plain reads, how many, and why.
const ALLOWED: [(&str, usize, &str); 15] = [
    (
        "src/builtin/demo_server/demo_command/api_client.rs",
        1,
        "a script in the new folder of the server that it starts",
    ),
    (
        "src/check/check_command.rs",
        1,
        "the user names it for the report, and it may be the pipe of a shell",
    ),
    (
        "src/core/command_line/serve.rs",
        1,
        "the user names it for this run, and it may be the pipe of a shell",
    ),
    (
        "src/release/build.rs",
        2,
        "when it is compiled: files of the sources and of cargo",
    ),
    (
        "src/sys/unix/files.rs",
        1,
        "a folder, which O_DIRECTORY checks",
    ),
    (
        "src/sys/parts/hidden_input.rs",
        1,
        "the terminal of the process",
    ),
    (
        "src/sys/memory.rs",
        2,
        "files of the kernel in /proc and /sys",
    ),
    ("src/sys/parts/usage.rs", 3, "files of the kernel in /proc"),
    (
        "src/sys/marked_processes.rs",
        1,
        "files of the kernel in /proc",
    ),
    ("src/sys/unix/table.rs", 2, "files of the kernel in /proc"),
    (
        "src/sys/windows/access_list.rs",
        2,
        "the list of rights alone is read and written",
    ),
    (
        "src/sys/windows/files.rs",
        3,
        "a folder, a file for locks in it, where Windows has no named pipes, and what is not read but for its number",
    ),
    (
        "src/sys/windows/hidden_input.rs",
        1,
        "the console of the process",
    ),
    (
        "src/text/fuzz_input.rs",
        1,
        "a seed of the fuzzer, for tests alone",
    ),
    (
        "src/sys/pipe.rs",
        1,
        "a pipe of this process, by its descriptor in /proc",
    ),
];

/// The calls of std for which there are those of `sys::fs::FileCalls`.
const UNLIKE: [&str; 5] = [
    ".set_len(",
    ".try_lock(",
    ".try_lock_shared(",
    ".lock_shared(",
    ".unlock(",
];

/// The files with such calls, how many, and why.
const ALLOWED_UNLIKE: [(&str, usize, &str); 6] = [
    ("src/acp/web_socket/mod.rs", 1, "a mutex"),
    (
        "src/builtin/developer/atomic_write.rs",
        2,
        "a file that was opened to write anywhere",
    ),
    (
        "src/core/store/file_lock.rs",
        2,
        "the methods of a handle, for which `Disk` makes the calls",
    ),
    ("src/core/tls/encrypted_connection.rs", 1, "a mutex"),
    (
        "src/service/health.rs",
        1,
        "a file that was opened to write anywhere",
    ),
    (
        "src/service/port_file.rs",
        1,
        "a file that was opened to write anywhere",
    ),
];

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}

/// The plain reads in a source text, outside of its tests and comments.
fn plain_reads(source: &str) -> Vec<&'static str> {
    let mut functions = vec![String::new()];
    let code = (source.lines()).take_while(|line| line.trim_start() != "mod tests {");
    for line in code.filter(|line| !line.trim_start().starts_with("//")) {
        if line.trim_start().starts_with("fn ") || line.contains("pub") && line.contains(" fn ") {
            functions.push(String::new());
        }
        functions.last_mut().unwrap().push_str(line);
    }
    let mut found = Vec::new();
    for function in functions {
        let count = |text: &str| {
            let calls = function.match_indices(text).filter(|(at, _)| {
                // `LockFile::open(` is another function.
                let before = function[..*at].chars().next_back();
                !before.is_some_and(|it| it.is_alphanumeric() || it == '_')
            });
            calls.count()
        };
        for plain in PLAIN {
            found.extend(vec![plain; count(plain)]);
        }
        let checked: usize = CHECKED.iter().map(|check| count(check)).sum();
        found.extend(vec![OPTIONS; count(OPTIONS).saturating_sub(checked)]);
    }
    found
}

/// Each source file of the product with what `find` finds in it.
fn found_in_sources(find: fn(&str) -> Vec<&'static str>) -> BTreeMap<String, Vec<&'static str>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    assert!(files.len() > 300, "{}", files.len());
    let found = files.iter().map(|path| {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        let source = fs::read_to_string(path).unwrap();
        (name.replace('\\', "/"), find(&source))
    });
    found.filter(|(_, found)| !found.is_empty()).collect()
}

/// Each of `found` must be in the list, as often as that says, and the other way round.
fn check(found: &BTreeMap<String, Vec<&str>>, allowed: &[(&str, usize, &str)], advice: &str) {
    for (file, calls) in found {
        let allowed = allowed.iter().find(|(name, ..)| name == file);
        let count = allowed.map_or(0, |(_, count, _)| *count);
        assert_eq!(
            calls.len(),
            count,
            "{file} has {calls:?}: {advice}, or say here why not"
        );
    }
    for (file, ..) in allowed {
        assert!(found.contains_key(*file), "{file} has none any more");
    }
}

#[test]
fn plain_reads_have_a_reason() {
    let advice = "use sys::fs::open_regular, open_regular_with or read_start";
    check(&found_in_sources(plain_reads), &ALLOWED, advice);
}

/// The calls in a source text that Windows does otherwise than Unix, outside of its tests and comments.
fn unlike_calls(source: &str) -> Vec<&'static str> {
    let code = (source.lines()).take_while(|line| line.trim_start() != "mod tests {");
    let code = code.filter(|line| !line.trim_start().starts_with("//"));
    let code: Vec<&str> = code.collect();
    let count = |call: &str| code.iter().map(|line| line.matches(call).count()).sum();
    let found = UNLIKE.iter().flat_map(|call| vec![*call; count(call)]);
    found.collect()
}

#[test]
fn sizes_and_locks_are_those_of_this_program() {
    let mut found = found_in_sources(unlike_calls);
    // These make the calls.
    found.retain(|name, _| !name.starts_with("src/sys/"));
    check(&found, &ALLOWED_UNLIKE, "use sys::fs::FileCalls");
}

#[test]
fn a_plain_read_is_found() {
    for source in [
        "fn a() {\n    std::fs::read(path);\n}\n",
        "fn a() {\n    fs::File::open(path)\n}\n",
        "fn a() {\n    OpenOptions::new().read(true).open(path)\n}\nfn b() {\n    create_new(true)\n}\n",
    ] {
        assert_eq!(plain_reads(source).len(), 1, "{source}");
    }
    for source in [
        "fn a() {\n    // std::fs::read(path)\n    LockFile::open(path)\n}\n",
        "fn a() {\n    open_regular_with(OpenOptions::new().read(true), path)\n}\n",
        "#[cfg(test)]\nmod tests {\n    fn a() {\n        fs::read(path)\n    }\n}\n",
    ] {
        assert!(plain_reads(source).is_empty(), "{source}");
    }
}
