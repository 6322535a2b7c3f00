//! Checks `src/manual/contract.md`: every module and test that it names exists, every section that the code
//! cites has a heading in it, and its lines fit a terminal.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../src/manual/contract.md");
const COLUMNS: usize = 80;
const DOCUMENTS: [&str; 3] = ["CORE", "SERVER", "GUIDE"];
const LEVELS: [&str; 6] = [
    "MUST",
    "MUST NOT",
    "SHOULD",
    "SHOULD NOT",
    "MAY",
    "EXPECTED",
];

/// This file has faulty citations in its tests.
const THIS_FILE: &str = "tests/manual_contract.rs";

/// One requirement of the page.
#[derive(Default)]
struct Row {
    /// Number of its first line.
    line: usize,
    level: String,
    text: String,
    /// Modules, or `not yet (REASON)`.
    met: Option<String>,
    /// Tests, or `none`.
    test: Option<String>,
}

#[test]
fn contract_page_agrees_with_the_code() {
    let mut faults = faults_of_page(PAGE);
    for folder in ["src", "tests"] {
        for file in sources(&root().join(folder)) {
            let name = file.strip_prefix(root()).unwrap().display().to_string();
            let name = name.replace('\\', "/");
            if name != THIS_FILE {
                let source = fs::read_to_string(&file).unwrap();
                faults.extend(faults_of_citations(&name, &source, &sections(PAGE)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_kind_of_fault_is_found() {
    let good = "## CORE §1.2 A title\n\n- MUST: text\n  of two lines.\n  - met: http::router, api\n  \
                - test: http_edge\n    limits::\n    a_body_may_have_its_limit,\n    \
                http::router::tests::params_are_decoded_after_splitting\n";
    assert_eq!(faults_of_page(good), [""; 0]);
    for (from, to, fault) in [
        ("text", &*"x".repeat(80), "has 88 columns"),
        ("## CORE §1.2", "## CORES §1.2", "heading"),
        ("§1.2 A", "§1.x A", "heading"),
        ("MUST", "WANTS", "level `WANTS`"),
        ("met: http::router, api", "mets: api", "line 5 is not"),
        ("  - met: http::router, api\n", "", "has no `met`"),
        (
            "met: http::router",
            "met: http::routers",
            "module `http::routers`",
        ),
        ("met: http::router", "met: not yet (), api", "reason"),
        ("http_edge\n", "http_edges\n", "`http_edges limits::"),
        ("a_body_may", "a_body_must", "a_body_must"),
        (
            "tests::params_are_decoded_after_splitting",
            "tests::absent",
            "tests::absent",
        ),
        (
            "tests::params_are_decoded_after_splitting",
            "tests::decode",
            "tests::decode",
        ),
    ] {
        let page = good.replace(from, to);
        let found = faults_of_page(&page);
        assert!(
            found.iter().any(|f| f.contains(fault)),
            "{fault}: {found:?}"
        );
    }

    let page = sections(good);
    for (source, cited) in [
        ("//! CORE §1.2.", None),
        ("//! As CORE\n    /// §1 and §1.2 (3, 4), ask.", None),
        (
            "// RFC 9110 §7.2; CORE §1, §1.2 and §1.3",
            Some("CORE §1.3"),
        ),
        ("// SERVER\n// §1.2", Some("SERVER §1.2")),
        ("// CORE §1.20", Some("CORE §1.20")),
        (
            "// GOOSE_CORE_REQUIREMENTS §1",
            Some("GOOSE_CORE_REQUIREMENTS §1"),
        ),
        ("// guide §1", Some("guide §1")),
    ] {
        let found = faults_of_citations("a.rs", source, &page);
        assert_eq!(found.len(), usize::from(cited.is_some()), "{found:?}");
        assert!(
            found.iter().all(|f| f.contains(cited.unwrap())),
            "{found:?}"
        );
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(sources(&path));
        } else if path
            .extension()
            .is_some_and(|ending| ending == "rs" || ending == "md")
        {
            files.push(path);
        }
    }
    files
}

/// The headings `## DOCUMENT §N.N Title` of a page, as `DOCUMENT §N.N`, and the sections that contain them.
fn sections(page: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for section in page.lines().filter_map(heading) {
        all.insert(section.clone());
        if let Some((outer, _)) = section.rsplit_once('.') {
            all.insert(outer.to_owned());
        }
    }
    all
}

fn heading(line: &str) -> Option<String> {
    let (document, rest) = line.strip_prefix("## ")?.split_once(" §")?;
    let (number, title) = rest.split_once(' ')?;
    let is_number = number.split('.').all(|part| part.parse::<u8>().is_ok());
    let is_sound = DOCUMENTS.contains(&document) && is_number && !title.is_empty();
    is_sound.then(|| format!("{document} §{number}"))
}

fn faults_of_page(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in page.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS {
            faults.push(format!("line {} has {columns} columns", index + 1));
        }
    }
    for row in rows(page, &mut faults) {
        faults.extend(faults_of_row(&row));
    }
    faults
}

/// The rows below the headings of sections. What is before the first heading is not read.
fn rows(page: &str, faults: &mut Vec<String>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let lines = page.lines().enumerate();
    for (index, line) in lines.skip_while(|(_, line)| !line.starts_with("## ")) {
        let number = index + 1;
        if line.starts_with('#') {
            if heading(line).is_none() {
                faults.push(format!("line {number} is not a heading: {line}"));
            }
        } else if let Some(row) = line.strip_prefix("- ") {
            let (level, text) = row.split_once(": ").unwrap_or((row, ""));
            rows.push(Row {
                line: number,
                level: level.to_owned(),
                text: text.to_owned(),
                ..Row::default()
            });
        } else if !line.is_empty() && !rows.last_mut().is_some_and(|row| row.takes(line)) {
            faults.push(format!("line {number} is not part of a row: {line}"));
        }
    }
    rows
}

impl Row {
    /// Adds one of the indented lines below the first. Returns whether it has the form of one.
    fn takes(&mut self, line: &str) -> bool {
        if let Some(met) = line.strip_prefix("  - met: ") {
            return self.met.replace(met.to_owned()).is_none();
        }
        if let Some(test) = line.strip_prefix("  - test: ") {
            return self.test.replace(test.to_owned()).is_none();
        }
        let part = match (&mut self.met, &mut self.test) {
            (_, Some(test)) => test,
            (Some(met), None) => met,
            (None, None) => &mut self.text,
        };
        let trimmed = line.trim_start();
        // A path may go on in the next line behind its `::`.
        if !part.ends_with("::") {
            part.push(' ');
        }
        part.push_str(trimmed);
        line.starts_with("  ") && !trimmed.starts_with('-')
    }
}

fn faults_of_row(row: &Row) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(format!("row of line {}: {text}", row.line));
    if !LEVELS.contains(&&*row.level) {
        fault(format!("unknown level `{}`", row.level));
    }
    if row.text.is_empty() {
        fault("it has no text".to_owned());
    }
    match row
        .met
        .as_deref()
        .map(|met| (met, met.strip_prefix("not yet")))
    {
        None => fault("it has no `met`".to_owned()),
        Some((_, Some(reason))) => {
            let reason = reason.strip_prefix(" (").and_then(|r| r.strip_suffix(')'));
            if reason.is_none_or(str::is_empty) {
                fault("`not yet` needs a reason in parentheses".to_owned());
            }
        }
        Some((modules, None)) => {
            for module in modules.split(", ").filter(|module| !module_exists(module)) {
                fault(format!("there is no module `{module}`"));
            }
        }
    }
    match row.test.as_deref() {
        None => fault("it has no `test`".to_owned()),
        Some("none") => {}
        Some(tests) => {
            for test in tests.split(", ").filter(|test| !test_exists(test)) {
                fault(format!("there is no test `{test}`"));
            }
        }
    }
    faults
}

/// Whether `a::b` is a module of the member `a` or of the core.
fn module_exists(path: &str) -> bool {
    source_files(path).iter().any(|file| file.exists())
}

/// Where the sources of a module may be.
fn source_files(path: &str) -> Vec<PathBuf> {
    let folders = ["src", "src/core"].map(|folder| root().join(folder));
    let files = folders.iter().flat_map(|src| module_files(src, path));
    files.collect()
}

fn module_files(folder: &Path, path: &str) -> [PathBuf; 3] {
    let place = folder.join(path.replace("::", "/"));
    [
        place.with_extension("rs"),
        place.join("mod.rs"),
        place.join("lib.rs"),
    ]
}

/// Whether there is a test `FILE a::name` of `tests/FILE` or `a::tests::name` of the crate.
fn test_exists(test: &str) -> bool {
    let files = match test.split_once(' ') {
        Some((file, path)) => {
            let folder = root().join("tests").join(file);
            match path.rsplit_once("::") {
                Some((modules, _)) => module_files(&folder, modules).to_vec(),
                None => vec![folder.with_extension("rs"), folder.join("main.rs")],
            }
        }
        None => {
            let modules = test.rsplit_once("::").map_or("", |(modules, _)| modules);
            let mut files = source_files(modules);
            if let Some(tested) = modules.strip_suffix("::tests") {
                files.extend(source_files(tested));
                files.extend(source_files(&format!("{tested}_tests")));
            }
            files
        }
    };
    let name = test.rsplit([' ', ':']).next().unwrap_or_default();
    let sources = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    sources.into_iter().any(|source| has_test(&source, name))
}

fn has_test(source: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let mut attributes: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push(line);
        } else if line.starts_with(&head) {
            return attributes.contains(&"#[test]");
        } else if !line.starts_with("//") {
            attributes.clear();
        }
    }
    false
}

/// Citations in `source` of sections that are not in `page`, or whose document has another name than there.
fn faults_of_citations(file: &str, source: &str, page: &BTreeSet<String>) -> Vec<String> {
    let words = without_comment_marks(source);
    let mut faults = Vec::new();
    let mut document = None;
    let mut end_of_last = 0;
    for (at, _) in words.match_indices('§') {
        let before = words[end_of_last..at].trim_end();
        // `§1, §2 (3, 4) and §5` are of one document.
        if end_of_last == 0 || !is_list_separator(before) {
            let word = before
                .rsplit([' ', '(', '`', '\n'])
                .next()
                .unwrap_or_default();
            let name = word.to_ascii_uppercase();
            let is_ours =
                DOCUMENTS.iter().any(|of| name.ends_with(of)) || name.ends_with("REQUIREMENTS");
            document = is_ours.then_some(word);
        }
        let rest = &words[at + '§'.len_utf8()..];
        let number = rest.split(|c: char| c != '.' && !c.is_ascii_digit()).next();
        let number = number.unwrap_or_default();
        end_of_last = at + '§'.len_utf8() + number.len();
        let number = number.trim_end_matches('.');
        if let Some(document) = document {
            let cited = format!("{document} §{number}");
            if !page.contains(&cited) {
                faults.push(format!(
                    "{file} cites {cited}, which the page does not have"
                ));
            }
        }
    }
    faults
}

fn is_list_separator(text: &str) -> bool {
    let text = text.trim();
    let text = match text.split_once(')') {
        Some((points, rest)) if points.starts_with('(') => rest.trim(),
        _ => text,
    };
    [",", "and", ", and", "to", "or"].contains(&text)
}

/// The text with its line breaks and the marks of line comments as single spaces.
fn without_comment_marks(source: &str) -> String {
    let lines = source.lines().map(|line| {
        let line = line.trim();
        let text = line.trim_start_matches('/');
        if line.len() - text.len() >= 2 {
            text.strip_prefix('!').unwrap_or(text).trim_start()
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join(" ")
}
