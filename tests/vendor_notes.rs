//! Holds `vendor-notes/` against `Cargo.lock` and `Cargo.toml`, and the tree of crates within its budget.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most crates that the normal dependency tree may have on Linux, gosling with its members counted as one: of the
/// default build and of the smallest.
const BUDGETS: [(usize, &[&str]); 2] = [(50, &[]), (33, &["--no-default-features"])];

/// The arguments of cargo that print that tree.
const TREE: &str =
    "tree -p gosling --locked --offline -e normal --prefix none --target x86_64-unknown-linux-gnu";

/// Crates that would bring an async runtime.
const RUNTIMES: [&str; 5] = ["tokio", "async-std", "smol", "futures-executor", "hyper"];

/// All that gosling takes from `tiny_http`: its vocabulary, neither its server nor its responses.
const TINY_HTTP: [&str; 5] = [
    "HTTPVersion",
    "Header",
    "HeaderField",
    "Method",
    "StatusCode",
];

const COLUMNS: &str =
    "| crate | version | licence | why it is there | build script | `unsafe` | checksum |";

/// The columns of the table of gosling's own members.
const MEMBER_COLUMNS: &str = "| member | what it is for | features | crates |";

/// The members of every build. The rows of others leave their crates out.
const OF_EVERY_BUILD: [&str; 4] = ["src/core", "src/mcp", "src/sys", "src/text"];

/// A package of `Cargo.lock`, or the row of the table that describes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    checksum: String,
}

#[test]
fn table_lists_every_locked_package_exactly_once() {
    let locked: BTreeSet<Package> = locked_packages("Cargo.lock").into_iter().collect();
    let listed = listed_packages("vendor-notes/README.md");
    let missing: Vec<_> = locked.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&locked).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "vendor-notes/README.md differs from Cargo.lock.\n\
         In Cargo.lock and not in the table: {missing:#?}\n\
         In the table and not in Cargo.lock: {stale:#?}\n\
         Audit what changed and correct the table."
    );
}

#[test]
fn fuzzer_has_the_crates_that_ship_and_those_on_its_page() {
    if !root().join("tests/fuzz").exists() {
        // A package of the crate has no fuzzer.
        return;
    }
    let shipped: BTreeSet<Package> = locked_packages("Cargo.lock").into_iter().collect();
    let fuzzer = locked_packages("tests/fuzz/Cargo.lock").into_iter();
    let own = fuzzer.filter(|package| !shipped.contains(package));
    assert_eq!(
        own.collect::<BTreeSet<_>>(),
        listed_packages("vendor-notes/libfuzzer-sys.md"),
        "tests/fuzz/Cargo.lock (left) has other crates of its own than vendor-notes/libfuzzer-sys.md (right). \
         After a change of Cargo.lock, copy it to tests/fuzz and run tests/fuzz/run without `--locked`; \
         after an update of the fuzzer, correct its page."
    );
}

#[test]
fn every_direct_dependency_has_a_page_of_its_version() {
    let titles: BTreeSet<String> = locked_packages("Cargo.lock")
        .into_iter()
        .map(|package| format!("# {} {}", package.name, package.version))
        .collect();
    let direct = direct_dependencies();
    assert!(!direct.is_empty(), "found no dependencies in Cargo.toml");
    for name in direct {
        let page = format!("vendor-notes/{name}.md");
        let text = read(&page);
        let title = text.lines().next().unwrap_or_default();
        assert!(
            title.starts_with(&format!("# {name} ")) && titles.contains(title),
            "{page} is titled {title:?}, which is not a version of {name} in Cargo.lock; renew the page"
        );
    }
}

#[test]
fn table_of_members_says_what_their_manifests_say() {
    let is_optional = |(_, line): &(String, String)| line.contains("optional = true");
    let base: BTreeSet<String> = OF_EVERY_BUILD
        .iter()
        .flat_map(|member| foreign_dependencies(member))
        .filter(|dependency| !is_optional(dependency))
        .map(|(name, _)| name)
        .collect();
    let root = read("Cargo.toml");
    let mut rows = table_rows("vendor-notes/README.md", MEMBER_COLUMNS).into_iter();
    for member in members() {
        let manifest = read(&format!("{member}/Cargo.toml"));
        let (name, description) = (quoted(&manifest, "name"), quoted(&manifest, "description"));
        let own = format!("\"dep:{name}\"");
        let features = root.lines().filter(|line| line.contains(&own));
        let features: BTreeSet<&str> = features.map(word).collect();
        let is_of_every_build = OF_EVERY_BUILD.contains(&&*member);
        let crates = foreign_dependencies(&member).into_iter();
        let crates: BTreeSet<String> = crates
            .map(|(name, _)| name)
            .filter(|name| is_of_every_build || !base.contains(name))
            .collect();
        let Some(row) = rows.next() else {
            panic!("vendor-notes/README.md has no row for the member {member}");
        };
        let [path, what, of_features, of_crates] = &row[..] else {
            panic!("a row of the members has four cells: {row:?}");
        };
        assert_eq!(
            *path,
            format!("`{member}`"),
            "the order is that of Cargo.toml"
        );
        assert_eq!(*what, description, "{member}");
        assert_eq!(
            in_backticks(of_crates),
            crates.iter().map(|it| &**it).collect(),
            "{member}"
        );
        if features.is_empty() {
            assert!(!of_features.is_empty(), "who needs {member}?");
        } else {
            assert_eq!(in_backticks(of_features), features, "{member}");
        }
    }
    assert_eq!(rows.next(), None, "this is no member");
}

/// What a text has between backticks.
fn in_backticks(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The normal dependencies of a member from a registry, each with its line in the manifest.
fn foreign_dependencies(member: &str) -> Vec<(String, String)> {
    let manifest = read(&format!("{member}/Cargo.toml"));
    let mut found = Vec::new();
    let mut listing = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            listing = line == "[dependencies]" || line.ends_with(".dependencies]");
        } else if listing
            && !line.is_empty()
            && !line.starts_with('#')
            && !line.starts_with("gosling")
        {
            found.push((word(line).to_owned(), line.to_owned()));
        }
    }
    found
}

/// The name at the beginning of a line of a manifest.
fn word(line: &str) -> &str {
    line.split([' ', '.', '=']).next().unwrap_or_default()
}

#[test]
#[cfg_attr(windows, ignore = "the packages of Linux are not downloaded here")]
fn tree_on_linux_stays_within_the_budget() {
    for (budget, features) in BUDGETS {
        let tree = normal_tree(features);
        let crates: BTreeSet<(&str, &str)> = tree
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let (name, version) = (words.next()?, words.next()?);
                (!name.starts_with("gosling-")).then_some((name, version))
            })
            .collect();
        assert!(
            crates.len() > 1,
            "cargo tree printed no dependencies:\n{tree}"
        );
        assert!(
            crates.len() <= budget,
            "{} crates in the normal tree {features:?}, {budget} are allowed; remove a dependency:\n{tree}",
            crates.len()
        );
    }
}

/// What `cargo tree` prints with these options.
fn normal_tree(features: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(TREE.split(' '))
        .args(features)
        .current_dir(root())
        .output()
        .expect("cannot run cargo, which built this test");
    assert!(
        output.status.success(),
        "cargo tree failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("cargo tree prints UTF-8")
}

#[test]
fn no_async_runtime_is_locked() {
    let found: Vec<_> = locked_packages("Cargo.lock")
        .into_iter()
        .filter(|package| RUNTIMES.contains(&package.name.as_str()))
        .collect();
    assert!(
        found.is_empty(),
        "gosling is synchronous, but Cargo.lock has {found:#?}; `cargo tree -i NAME` says who brings it"
    );
}

#[test]
fn only_the_vocabulary_of_tiny_http_is_used() {
    for file in rust_files(&root().join("src")) {
        let text = fs::read_to_string(&file).expect("source files are UTF-8");
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();
        for name in names_after(&code, "tiny_http::") {
            assert!(
                TINY_HTTP.contains(&name.as_str()),
                "{} uses tiny_http::{name}; vendor-notes/tiny_http.md says why only {TINY_HTTP:?} may be used",
                file.display()
            );
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name))
        .unwrap_or_else(|error| panic!("cannot read {name}: {error}"))
}

/// The packages of a `Cargo.lock` that come from a registry, which is all but gosling's own.
fn locked_packages(file: &str) -> Vec<Package> {
    let lock = read(file);
    let packages: Vec<Package> = lock
        .split("[[package]]")
        .skip(1)
        .map(|block| Package {
            name: quoted(block, "name"),
            version: quoted(block, "version"),
            checksum: quoted(block, "checksum"),
        })
        .filter(|package| !package.checksum.is_empty())
        .collect();
    assert!(!packages.is_empty(), "found no packages in {file}");
    packages
}

/// The value of `key = "value"` in a block of `Cargo.lock`, empty if there is none.
fn quoted(block: &str, key: &str) -> String {
    block
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value.trim_matches('"').to_owned())
        .unwrap_or_default()
}

/// The packages in the table of crates on a page.
fn listed_packages(page: &str) -> BTreeSet<Package> {
    let mut listed = BTreeSet::new();
    for cells in table_rows(page, COLUMNS) {
        let package = Package {
            name: cells[0].clone(),
            version: cells[1].clone(),
            checksum: cells[6].trim_matches('`').to_owned(),
        };
        assert!(
            cells.iter().all(|cell| !cell.is_empty()),
            "the row of {} {} in {page} has an empty cell; fill it in",
            package.name,
            package.version
        );
        assert!(
            listed.insert(package.clone()),
            "{page} has two rows for {} {}; remove one",
            package.name,
            package.version
        );
    }
    listed
}

/// The cells of each row of the table with these columns on a page.
fn table_rows(page: &str, columns: &str) -> Vec<Vec<String>> {
    let text = read(page);
    let mut lines = text.lines().skip_while(|line| *line != columns);
    assert!(
        lines.next().is_some() && lines.next().is_some(),
        "{page} has no table with the columns {columns}"
    );
    let count = columns.matches('|').count() - 1;
    lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<String> = line
                .trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect();
            assert_eq!(
                cells.len(),
                count,
                "a row of {page} has not {count} cells: {line}"
            );
            cells
        })
        .collect()
}

/// The dependencies of gosling and its members from a registry.
fn direct_dependencies() -> BTreeSet<String> {
    let of_members = members().into_iter().flat_map(|member| {
        let manifest = read(&format!("{member}/Cargo.toml"));
        dependencies_in(&manifest)
    });
    let own = dependencies_in(&read("Cargo.toml")).into_iter();
    let all = own.chain(of_members);
    all.filter(|name| name != "gosling" && !name.starts_with("gosling-"))
        .collect()
}

/// The folders of the members.
fn members() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let members = manifest
        .lines()
        .find_map(|line| line.strip_prefix("members = "));
    let members = members.expect("Cargo.toml lists the members").split('"');
    members
        .filter(|part| part.contains('/'))
        .map(str::to_owned)
        .collect()
}

/// The names under the headings of a manifest that list dependencies, those of one platform and of tests included.
fn dependencies_in(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut listing = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(heading) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            listing = heading.ends_with("dependencies");
            names.extend(
                heading
                    .split_once("dependencies.")
                    .map(|(_, name)| name.to_owned()),
            );
        } else if listing && !line.starts_with('#') {
            names.extend(
                line.split_once([' ', '.', '='])
                    .map(|(name, _)| name.to_owned()),
            );
        }
    }
    names
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("src can be listed");
    entries
        .map(|entry| entry.expect("src can be listed").path())
        .flat_map(|path| match path {
            path if path.is_dir() => rust_files(&path),
            path if path.extension().is_some_and(|extension| extension == "rs") => vec![path],
            _ => Vec::new(),
        })
        .collect()
}

/// The first name of each path that begins with `prefix`, from lists in braces too.
fn names_after(code: &str, prefix: &str) -> Vec<String> {
    code.split(prefix)
        .skip(1)
        .flat_map(|rest| {
            let list = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or(list),
                None => rest
                    .split_once(|c: char| !is_word(c))
                    .map_or(rest, |(name, _)| name),
            };
            list.split(',')
                .map(|item| item.trim().chars().take_while(|c| is_word(*c)).collect())
        })
        .filter(|name: &String| !name.is_empty())
        .collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
