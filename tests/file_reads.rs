//! Every file that another program can replace is opened with the checked functions of `sys::fs`, because a named
//! pipe in its place would block and a device may have no end. This reads the sources: a plain read in the
//! product's code needs an entry here, with its reason.

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
    ("src/sys/guardian.rs", 1, "/dev/null"),
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
        "src/sys/windows/files.rs",
        2,
        "a folder, and a file for locks in it, where Windows has no named pipes",
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

#[test]
fn plain_reads_have_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    assert!(files.len() > 300, "{}", files.len());
    let found: BTreeMap<String, Vec<&str>> = files
        .iter()
        .map(|path| {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            (name, plain_reads(&fs::read_to_string(path).unwrap()))
        })
        .filter(|(_, reads)| !reads.is_empty())
        .collect();
    for (file, reads) in &found {
        let allowed = ALLOWED.iter().find(|(name, ..)| name == file);
        let count = allowed.map_or(0, |(_, count, _)| *count);
        assert_eq!(
            reads.len(),
            count,
            "{file} reads with {reads:?}: use sys::fs::open_regular, open_regular_with or read_start, or say here why not"
        );
    }
    for (file, ..) in ALLOWED {
        assert!(
            found.contains_key(file),
            "{file} has no plain read any more"
        );
    }
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
