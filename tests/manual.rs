//! The manual and the README: what they say is complete, fits the terminal, and runs.
// Some tests, and what only they use, need features that the build may leave out.
#![cfg(feature = "manual")]
#![cfg_attr(
    not(all(feature = "chat", feature = "developer", feature = "memory")),
    allow(dead_code, unused_imports)
)]

#[cfg(unix)] // The lines are for a Unix shell.
#[path = "manual/shell_lines.rs"]
mod shell_lines;
mod support;

use gosling::extension::ExtensionConfig;
use gosling::features::is_left_out;
use gosling::manual::TOPICS;
use gosling::store::settings;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use support::server::gosling;

const README: &str = include_str!("../README.md");
/// The widest line of a page, in columns.
const COLUMNS: usize = 80;

/// Strings in the code that look like variables and are not read from the environment or from settings.
const NOT_VARIABLES: &[&str] = &[
    // A kind of token and of its signature, and an argument.
    "JWT",
    "PS256",
    "RS256",
    "RECIPE",
    // How names of devices begin on Windows.
    "AUX",
    "COM",
    "CON",
    "LPT",
    "PRN",
    // What cargo tells the compiler, and build scripts.
    "CARGO",
    "CARGO_FEATURE_",
    "CARGO_MANIFEST_DIR",
    "CARGO_PKG_VERSION",
    "DEP_GOSLING_CORE_FEATURES",
    "OUT_DIR",
    "PROFILE",
    "RUSTC",
    "TARGET",
    // What gosling tells programs and scripts of its own that it starts.
    "GOSLING_DISPLAY",
    "GOSLING_IN",
    "GOSLING_OUT",
    "GOSLING_QUALITY",
    "GOSLING_SIDE",
    "GOSLING_WINDOW",
    "MAGICK_TEMPORARY_PATH",
    // Words of formats, languages, protocols and programs.
    "API_KEY",
    "BEGIN",
    "CERTIFICATE",
    "FAILED",
    "FINISH_REASON_UNSPECIFIED",
    "GOOSE_",
    "HEAD",
    "HEIGHT",
    "IDAT",
    "IEND",
    "IHDR",
    "MALFORMED_FUNCTION_CALL",
    "MALFORMED_RESPONSE",
    "MAX_TOKENS",
    "MISSING_THOUGHT_SIGNATURE",
    "RESOURCE_EXHAUSTED",
    "RIFF",
    "RUST_BACKTRACE",
    "STOP",
    "TOO_MANY_TOOL_CALLS",
    "UNEXPECTED_TOOL_CALL",
    "VP8L",
    "VP8X",
    "WEBP",
    "WIDTH",
    "__END__",
];
/// Names in the manual that stand for the user's own, and other words in capitals.
const EXAMPLES: &[&str] = &[
    // What a program in C uses.
    "AF_INET",
    "INADDR_LOOPBACK",
    "O_CLOEXEC",
    "SOCK_CLOEXEC",
    "SOCK_STREAM",
    "_GNU_SOURCE",
    "TICKETS_TOKEN",
    "LOG_LEVEL",
    // What Goose Desktop reads, and a test.
    "GOOSED_BINARY",
    "GOOSE_EXTERNAL_BACKEND",
    "GOOSE_EXTERNAL_BACKEND_URL",
    "GOSLING_SOAK_SECS",
    // What uv reads.
    "UV_FIND_LINKS",
    "UV_INDEX_URL",
];

/// Every page by name, README too.
fn pages() -> BTreeMap<String, &'static str> {
    let topics = TOPICS
        .iter()
        .map(|topic| (topic.name.to_owned(), topic.text));
    topics.chain([("README".to_owned(), README)]).collect()
}

/// The standard output of `gosling help NAME`.
#[track_caller]
fn help(name: &str) -> String {
    let output = gosling().args(["help", name]).output().unwrap();
    assert!(output.status.success(), "gosling help {name}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn assert_fits(what: &str, text: &str) {
    for (number, line) in text.lines().enumerate() {
        let width = |c: char| if c == '\t' { 8 } else { 1 };
        let (number, width) = (number + 1, line.chars().map(width).sum::<usize>());
        assert!(
            width <= COLUMNS,
            "{what}, line {number}: {width} columns: {line}"
        );
        // Programs in Go are indented with tabs.
        let plain = |c: char| !c.is_control() || c == '\t';
        assert!(line.chars().all(plain), "{what}, line {number}: {line:?}");
    }
}

/// The commands of this build.
fn commands() -> impl Iterator<Item = &'static str> {
    [
        ("agent", true),
        ("chat", cfg!(feature = "chat")),
        ("demo", cfg!(feature = "demo")),
        ("call", cfg!(feature = "chat")),
        ("schedule", cfg!(feature = "schedules")),
        ("mcp", cfg!(feature = "builtin")),
        ("recipe", cfg!(feature = "recipes")),
        ("help", true),
    ]
    .into_iter()
    .filter_map(|(name, is_built)| is_built.then_some(name))
}

#[test]
fn every_page_and_every_help_fits_80_columns() {
    for (name, text) in pages() {
        assert_fits(&name, text);
    }
    for command in commands() {
        assert_fits(command, &help(command));
    }
    let output = gosling().arg("help").output().unwrap();
    assert_fits("gosling help", &String::from_utf8(output.stdout).unwrap());
}

#[cfg(feature = "chat")]
#[test]
fn help_prints_a_page_as_it_is() {
    let security = help("security");
    assert!(security.starts_with("# Security\n"), "{security}");
    assert_fits("gosling help security", &security);
    for topic in TOPICS {
        let text = help(topic.name);
        assert!(text.ends_with(topic.text), "{}: {text}", topic.name);
        // A command of this name has its options before the page.
        let is_command = match topic.name {
            "chat" | "extensions" => !is_left_out("chat"),
            name @ ("acp" | "audit" | "backup" | "check" | "info" | "keys" | "policy"
            | "service") => !is_left_out(name),
            "models" => true,
            _ => false,
        };
        assert_eq!(text.starts_with("usage:"), is_command, "{text}");
    }
}

#[test]
fn help_lists_commands_and_topics() {
    for arguments in [&["help"][..], &["--help"], &["-h"]] {
        let output = gosling().args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{arguments:?}: {text}");
        for name in commands() {
            assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
        }
        for topic in TOPICS {
            let line = format!("\n  {:<13}  {}\n", topic.name, topic.summary);
            assert!(text.contains(&line), "{}: {text}", topic.name);
        }
    }
    assert!(help("agent").starts_with("usage: gosling agent"));
}

#[test]
fn help_for_an_unknown_topic_names_them_all() {
    let output = gosling().args(["help", "nonsense"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(output.stdout.is_empty(), "{text}");
    assert!(text.contains("\"nonsense\""), "{text}");
    for topic in TOPICS {
        assert!(text.contains(topic.name), "{}: {text}", topic.name);
    }
    let output = gosling().args(["help", "api", "more"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn every_page_is_registered() {
    let folder = root().join("src/manual");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let pages: BTreeSet<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let topics: BTreeSet<String> = TOPICS.iter().map(|topic| topic.name.to_owned()).collect();
    assert_eq!(pages, topics);
}

#[test]
fn the_readme_is_short() {
    assert!(
        README.len() <= 9 << 10,
        "README.md has {} bytes",
        README.len()
    );
}

#[test]
fn the_manual_names_every_variable_and_setting_of_the_code_and_no_other() {
    let code = code_names();
    let pages = pages();
    let written: BTreeSet<String> = pages
        .iter()
        // Its rows may quote anything.
        .filter(|(name, _)| *name != "contract")
        .flat_map(|(_, text)| names_in(text))
        .collect();
    let mut wrong = Vec::new();
    for (name, file) in &code.names {
        if !written.contains(name) && !NOT_VARIABLES.contains(&name.as_str()) {
            wrong.push(format!("{}: {name} is not in the manual", file.display()));
        }
    }
    let limits: Vec<_> = places_in(pages["limits"]);
    let limits: BTreeSet<_> = limits.into_iter().map(|(_, name)| name).collect();
    for name in written.difference(&limits) {
        let is_variable = name.chars().all(|c| !c.is_ascii_lowercase()) && name.contains('_');
        let known = code.literals.contains(name) || EXAMPLES.contains(&name.as_str());
        if is_variable && !known {
            wrong.push(format!("the manual names {name}, which the code does not"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_manual_has_every_setting_of_the_table_with_its_default_and_no_other() {
    let pages = pages();
    let mut items = Vec::new();
    for page in ["audit", "configuration", "models", "screening"] {
        // Each item of a list, up to the next one or the end of the paragraph.
        let paragraphs = pages[page].split("\n\n");
        items.extend(paragraphs.flat_map(|paragraph| paragraph.split("\n- ")));
    }
    for setting in settings::ALL {
        let mut named = items
            .iter()
            .filter(|item| names_in(item).contains(setting.name));
        let is_word = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        let words: Vec<&str> = setting.default.split(|c| !is_word(c)).collect();
        let has_default = |item: &&str| words.iter().all(|word| item.contains(word));
        assert!(named.any(has_default), "{setting:?}");
    }
    for (page, text) in pages.iter().filter(|(page, _)| *page != "contract") {
        for name in names_in(text) {
            // What `developer` tells programs that it starts, and the beginning of all names.
            let is_other = ["GOOSE_TERMINAL", "GOOSE_"].contains(&name.as_str());
            let is_known = settings::find(&name).is_some() || EXAMPLES.contains(&name.as_str());
            assert!(
                !name.starts_with("GOOSE_") || is_other || is_known,
                "{page}: {name}"
            );
        }
    }
}

#[test]
fn the_manual_names_every_route_of_the_api_and_no_other() {
    let mut routes = BTreeSet::new();
    for file in rust_files(&root().join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        // Programs that the manual shows have routes of their own.
        if file.starts_with(root().join("src/manual/embedding")) {
            continue;
        }
        if !text.contains("Access::") && !text.contains("&[Route]") {
            continue;
        }
        let is_route = |text: &String| {
            let is_path = |c: char| c.is_ascii_lowercase() || "/_-{}.".contains(c);
            text.len() > 1 && text.starts_with('/') && text.chars().all(is_path)
        };
        routes.extend(code_of(&file).literals.into_iter().filter(is_route));
    }
    // That of `gosling mcp NAME --http`.
    routes.remove("/mcp");
    let (_, listed) = pages()["api"]
        .split_once("\n## Routes\n")
        .expect("a list of routes");
    let (listed, _) = listed.split_once("\n## ").expect("a section after it");
    let listed: BTreeSet<String> = listed
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| Some(code[code.find('/')?..].to_owned()))
        .collect();
    assert_eq!(listed, routes);
}

/// Names that the code reads, each with a file that has it, and all string literals.
struct Code {
    names: BTreeMap<String, PathBuf>,
    literals: BTreeSet<String>,
}

/// The page about limits says of each which setting changes it, or where it is in the source.
#[test]
fn the_limits_of_the_manual_are_where_it_says() {
    let items = items_of(pages()["limits"]);
    assert!(items.len() > 40, "{} items", items.len());
    for item in items {
        let places = places_in(&item);
        for (file, name) in &places {
            let source = fs::read_to_string(root().join("src").join(file)).expect(file);
            assert!(defines(&source, name), "{file} does not define {name:?}");
        }
        let has_setting = names_in(&item)
            .iter()
            .any(|name| settings::find(name).is_some());
        assert!(has_setting || !places.is_empty(), "no place: {item:?}");
    }
}

/// The items of the lists of a page. The lines of an item after its first one are indented.
fn items_of(page: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in page.lines() {
        if let Some(begin) = line.strip_prefix("- ") {
            items.push(begin.to_owned());
        } else if let (Some(more), Some(item)) = (line.strip_prefix("  "), items.last_mut()) {
            item.push(' ');
            item.push_str(more);
        }
    }
    items
}

/// Whether a source defines a constant, a static or a function of this name, or gives a field its default.
fn defines(source: &str, name: &str) -> bool {
    let is_default = |text: &str| {
        let (value, _) = text.split_once("\n}").unwrap_or((text, ""));
        value.contains(&format!(" {name}: "))
    };
    let (_, defaults) = source.split_once("\nimpl Default for ").unwrap_or_default();
    let forms = ["const NAME:", "static NAME:", "fn NAME("].map(|form| form.replace("NAME", name));
    let is_item = |line: &str| {
        let line = line.trim_start();
        let visibility = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ").map(|(_, rest)| rest),
            None => line.strip_prefix("pub "),
        };
        let item = visibility.unwrap_or(line);
        let item = item
            .strip_prefix("const fn")
            .map_or(item, |_| &item["const ".len()..]);
        forms.iter().any(|form| item.starts_with(form))
    };
    source.lines().any(is_item) || is_default(defaults)
}

/// A name that is only used, or is that of a field without a value, is not defined.
#[test]
fn a_definition_is_told_from_a_use() {
    let source = "\
const LIMIT: usize = 3;
pub(super) static TABLE: [u8; 1] = [0];
pub const fn twice() {}
struct Limits {
    pub wait: u64,
    pub size: u64,
}
impl Default for Limits {
    fn default() -> Limits {
        Limits { wait: 5 }
    }
}
fn use_it(given: u64, size: u64) {
    // const FORMER: usize = 3;
    let _ = Limits { size: given, ..Limits::default() };
}
";
    for name in ["LIMIT", "TABLE", "twice", "wait", "use_it"] {
        assert!(defines(source, name), "{name}");
    }
    for name in ["size", "given", "FORMER", "IMIT", "Limits"] {
        assert!(!defines(source, name), "{name}");
    }
}

/// The names in the source that a text gives as `(FILE: NAME, NAME; FILE: NAME)`, each with its file.
fn places_in(text: &str) -> Vec<(String, String)> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let groups = text.split('(').filter_map(|rest| rest.split_once(')'));
    let places = groups.flat_map(|(group, _)| group.split("; "));
    let places = places.filter_map(|place| place.split_once(".rs: "));
    let names = places.flat_map(|(file, names)| {
        let names = names.split(", ");
        names.map(move |name| (format!("{file}.rs"), name.to_owned()))
    });
    names.collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the sources of the program read: string literals that are spelled like variables, and the names
/// of settings that the code looks up in the configuration.
fn code_names() -> Code {
    let (mut names, mut literals) = (BTreeMap::new(), BTreeSet::new());
    for file in rust_files(&root().join("src")) {
        let code = code_of(&file);
        let short = file.strip_prefix(root()).unwrap().to_owned();
        let variables = code.literals.iter().filter(|text| is_variable(text));
        for name in variables.chain(&code.looked_up) {
            names.insert(name.clone(), short.clone());
        }
        literals.extend(code.literals);
    }
    // The settings of providers that are data.
    let hosts = "src/providers/catalog/provider_rows.json";
    let text = fs::read_to_string(root().join(hosts)).unwrap();
    let names_there = text.split('"').filter(|text| text.contains('_'));
    for name in names_there.filter(|text| is_variable(text)) {
        names.insert(name.to_owned(), hosts.into());
        literals.insert(name.to_owned());
    }
    Code { names, literals }
}

/// `GOOSE_PORT`, `PATH`, `_JAVA_OPTIONS`, `LD_*`: how variables are spelled.
fn is_variable(text: &str) -> bool {
    let name = text.strip_suffix('*').unwrap_or(text);
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.len() > 2 && name.chars().all(plain) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// The words of a page that may be variables or settings.
fn names_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '*';
    let words = text.split(|c| !is_part(c)).filter(|word| !word.is_empty());
    words
        // Bold type.
        .map(|word| word.trim_start_matches('*'))
        .map(|word| word.strip_suffix("**").unwrap_or(word).to_owned())
        .collect()
}

/// All sources below a folder, but those of modules that only some builds have, such as tests.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                left_out.extend(modules_for_tests(&path));
                files.push(path);
            }
        }
    }
    files.retain(|file| {
        !left_out
            .iter()
            .any(|module| file.with_extension("").starts_with(module))
    });
    files.sort();
    files
}

/// The modules, as files without an extension or as folders, that this file declares for tests and fuzzing.
fn modules_for_tests(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap();
    let is_root = ["lib", "main", "mod"]
        .iter()
        .any(|name| file.file_stem().unwrap() == *name);
    let folder = if is_root {
        file.parent().unwrap().to_owned()
    } else {
        file.with_extension("")
    };
    let (mut modules, mut for_tests, mut named) = (Vec::new(), false, None);
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[cfg(") {
            for_tests |= ["test", "fuzzing", "(model)"]
                .iter()
                .any(|word| line.contains(word));
        } else if let Some(path) = line.strip_prefix("#[path = \"") {
            let path = path.split('.').next().unwrap_or_default();
            named = Some(file.parent().unwrap().join(path));
        } else if !line.starts_with("#[") {
            let name = line
                .split_once("mod ")
                .and_then(|(_, name)| name.strip_suffix(';'));
            let module = name.map(|name| named.take().unwrap_or_else(|| folder.join(name)));
            modules.extend(module.filter(|_| for_tests));
            for_tests = false;
        }
    }
    modules
}

/// What one source file holds.
#[derive(Default)]
struct Source {
    literals: BTreeSet<String>,
    /// Settings that it looks up by name.
    looked_up: BTreeSet<String>,
}

fn code_of(file: &Path) -> Source {
    let text = fs::read_to_string(file).unwrap();
    // By convention the tests of a module come last.
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let mut source = Source::default();
    // The code without white space and comments, each literal replaced by its number in quotes.
    let (mut code, mut literals) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
            // A character that is a quote, or an escape.
            let end = rest[2..].find('\'').map_or(rest.len(), |at| at + 3);
            rest = &rest[end..];
        } else if let Some((literal, end)) = literal(rest) {
            code.push_str(&format!("\"{}\"", literals.len()));
            literals.push(literal.to_owned());
            rest = &rest[end..];
        } else {
            if !c.is_whitespace() {
                code.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    for lookup in ["config.get(", ".setting("] {
        for (at, _) in code.match_indices(lookup) {
            let argument = &code[at + lookup.len()..];
            let argument = argument.split([')', ',']).next().unwrap_or_default();
            let constant = format!("const{argument}:&str=");
            let value = match code.split_once(&constant) {
                Some((_, value)) => value,
                None => argument,
            };
            let number = value
                .strip_prefix('"')
                .and_then(|value| value.split('"').next());
            let number = number.and_then(|number| number.parse::<usize>().ok());
            source
                .looked_up
                .extend(number.map(|number| literals[number].clone()));
        }
    }
    source
        .literals
        .extend(literals.iter().flat_map(|text| listed_in(text)));
    source.literals.extend(literals);
    source
}

/// The variables of a literal that is a list of them.
fn listed_in(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_*".contains(c);
    let is_list = words.iter().all(|word| word.chars().all(plain)) && words.len() > 4;
    let words = words.into_iter().filter(|_| is_list);
    words.map(str::to_owned).collect()
}

/// The text of the string literal that `code` begins with, and where it ends.
fn literal(code: &str) -> Option<(&str, usize)> {
    if let Some(raw) = code.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&close)?;
        let end = code.len() - body.len() + length + close.len();
        return Some((&body[..length], end));
    }
    let body = code.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some((&body[..at], at + 2)),
            _ => {}
        }
    }
    None
}

/// A block of a page between two fences.
struct Block {
    /// For example `sh`.
    kind: String,
    /// What follows the kind: why a `console` block is not run.
    reason: String,
    /// Its lines, with their numbers in the page.
    lines: Vec<(usize, String)>,
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut open) = (Vec::new(), None::<Block>);
    for (number, line) in (1..).zip(text.lines()) {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                let (kind, reason) = info.split_once(' ').unwrap_or((info, ""));
                open = Some(Block {
                    kind: kind.to_owned(),
                    reason: reason.to_owned(),
                    lines: Vec::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push((number, line.to_owned())),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

#[test]
fn every_block_is_of_a_known_kind_and_says_why_it_is_not_run() {
    for (page, text) in pages() {
        for block in blocks(text) {
            let at = block.lines.first().map_or(0, |(number, _)| *number);
            match block.kind.as_str() {
                "sh" | "json" | "yaml" | "markdown" | "rust" | "text" => {
                    assert_eq!(block.reason, "", "{page}, line {at}");
                }
                "console" => assert!(!block.reason.is_empty(), "{page}, line {at}: no reason"),
                // Programs, which tests/interop/run and tests/c_api/run start.
                kind @ ("c" | "go" | "js" | "python") => {
                    let lines = block.lines.iter().map(|(_, line)| line.as_str());
                    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
                    let folders =
                        ["hosts", "embedding"].map(|it| root().join("src/manual").join(it));
                    let programs = folders.iter().flat_map(|it| fs::read_dir(it).unwrap());
                    let mut programs = programs.map(|it| fs::read_to_string(it.unwrap().path()));
                    let is_file = programs.any(|it| it.unwrap() == text);
                    assert!(is_file, "{page}, line {at}: {kind}");
                }
                kind => panic!("{page}, line {at}: a block of kind {kind:?}"),
            }
        }
    }
}

#[cfg(all(feature = "chat", feature = "developer", feature = "memory"))]
#[test]
fn every_example_of_a_file_is_read() {
    let mut extensions = 0;
    for (page, text) in pages() {
        for block in blocks(text) {
            let lines: Vec<&str> = block.lines.iter().map(|(_, line)| line.as_str()).collect();
            let (text, at) = (lines.join("\n"), block.lines.first().map_or(0, |it| it.0));
            let value: serde_json::Value = match block.kind.as_str() {
                "json" => serde_json::from_str(&text).map_err(|e| e.to_string()),
                "yaml" => yaml_serde::from_str(&text).map_err(|e| e.to_string()),
                _ => continue,
            }
            .unwrap_or_else(|error| panic!("{page}, line {at}: {error}"));
            for (name, entry) in value["extensions"].as_object().into_iter().flatten() {
                let read = ExtensionConfig::from_value(entry.clone());
                read.unwrap_or_else(|error| panic!("{page}, {name}: {error}"));
                extensions += 1;
            }
        }
    }
    assert!(extensions > 0, "the manual shows no extension");
}
