//! Writes what `gosling version` says of this build: nothing of it is read at run time, and nothing of it depends on
//! where or when the build is made.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The commit, for builds of sources without a repository.
const COMMIT: &str = "GOSLING_COMMIT";

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let manifest = read(&root, "Cargo.toml");
    let lock = read(&root, "Cargo.lock");
    let own: BTreeSet<String> = list(&manifest, "members = ")
        .map(|member| read(&root, &format!("{member}/Cargo.toml")))
        .chain([manifest.clone()])
        .filter_map(|manifest| Some(list(&manifest, "name = ").next()?.to_owned()))
        .collect();
    let version = output(Command::new(variable("RUSTC")).arg("--version"));
    let target = variable("TARGET");
    let profile = variable("PROFILE");
    let crates = crates(&root, &manifest, &target);
    if crates.is_none() {
        println!("cargo::warning=`gosling version` will not name the crates: cargo tree failed");
    }
    let commit = commit(&root, &profile);
    let mut out = String::new();
    for (name, value) in [
        ("commit", commit.as_deref().unwrap_or("unknown")),
        ("target", &target),
        ("toolchain", version.as_deref().unwrap_or("unknown").trim()),
        ("profile", &profile),
    ] {
        let name = name.to_ascii_uppercase();
        let _ = writeln!(out, "pub(crate) const {name}: &str = {value:?};");
    }
    let _ = writeln!(out, "pub(crate) const CRATES: &[Crate] = &[");
    let checksums = checksums(&lock);
    for name_and_version in crates.unwrap_or_default() {
        let (name, version) = &name_and_version;
        let sha256 = checksums.get(&name_and_version);
        let _ = writeln!(
            out,
            "    Crate {{ name: {name:?}, version: {version:?}, sha256: {sha256:?}, is_own: {} }},",
            own.contains(name)
        );
    }
    out.push_str("];\n");
    let file = PathBuf::from(variable("OUT_DIR")).join("build_facts.rs");
    fs::write(&file, out).expect("the folder for generated files can be written");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// A file of the workspace; when it changes, this runs again.
fn read(root: &Path, name: &str) -> String {
    let path = root.join(name);
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    fs::read_to_string(&path).unwrap_or_default()
}

/// The texts in the list on the line with this beginning.
fn list<'a>(manifest: &'a str, start: &str) -> impl Iterator<Item = &'a str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix(start));
    let texts = line.unwrap_or_default().split('"');
    texts.skip(1).step_by(2)
}

/// What a command prints; nothing if it fails.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

/// The given commit, else the last one of the checkout. Builds for tests do not ask for it: each commit would compile
/// them again.
fn commit(root: &Path, profile: &str) -> Option<String> {
    if let Ok(given) = env::var(COMMIT) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if given.is_empty() || given.len() > 100 || !given.chars().all(is_plain) {
            panic!("{COMMIT} has to be 1 to 100 letters, digits, dots, hyphens and underscores");
        }
        return Some(given);
    }
    if profile != "release" || !root.join(".git").exists() {
        return None;
    }
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        output(command.current_dir(root).args(arguments))
    };
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        let path = root.join(path.trim());
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    Some(git(&["rev-parse", "HEAD"])?.trim().to_owned())
}

/// The names and versions of the crates that are compiled for this build, with those that only run in it.
fn crates(root: &Path, manifest: &str, target: &str) -> Option<BTreeSet<(String, String)>> {
    // The core has all features of the program, and some of its own.
    let has: Vec<String> = variable("DEP_GOSLING_CORE_FEATURES")
        .split(',')
        .map(str::to_owned)
        .collect();
    let known = list(manifest, "default = ");
    let features: Vec<&str> = known
        .filter(|feature| has.iter().any(|it| it == feature))
        .collect();
    let tree = output(
        Command::new(variable("CARGO"))
            .current_dir(root)
            .args(["tree", "-p", "gosling", "--locked", "--offline"])
            .args(["-e", "normal,build", "--prefix", "none", "--format", "{p}"])
            .args(["--target", target, "--no-default-features", "--features"])
            .arg(features.join(",")),
    )?;
    let crates = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?);
        Some((name.to_owned(), version.strip_prefix('v')?.to_owned()))
    });
    Some(crates.collect())
}

/// The checksums of the crates from a registry, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").skip(1).filter_map(|block| {
        let value = |key: &str| {
            let mut lines = block.lines().filter_map(|line| line.split_once(" = "));
            let (_, value) = lines.find(|(name, _)| *name == key)?;
            Some(value.trim_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    packages.collect()
}
