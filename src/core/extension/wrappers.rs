//! Programs that only start another one: `env`, `nice`, `sh -c`, `python -m`, `corepack` and the like.

mod wrapper_options;
#[rustfmt::skip]
mod known_wrappers;

pub use wrapper_options::{Given, Meaning, Options, Row, Syntax, Takes, Words};

use crate::text::split_command;
use known_wrappers::{Inner, WRAPPERS};

/// How many such programs are taken off a command line.
const MAX_WRAPPERS: usize = 16;

/// Package managers, as scripts of Node have their names and as `corepack` starts them.
const MANAGERS: &str = "npm npx pnpm pnpx yarn yarnpkg";

/// A command line without the programs that only start another one. The first of them that is not understood to its
/// last word stays.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The names of the variables that are set or removed on the way to it.
    pub variables: Vec<String>,
}

impl Line {
    /// Reads a command line.
    pub fn read(cmd: &str, args: &[String]) -> Self {
        let mut words = prefixed(cmd, args);
        let mut variables = Vec::new();
        for _ in 0..MAX_WRAPPERS {
            let Some(inner) = inner(&words, &mut variables) else {
                break;
            };
            words = inner;
        }
        Line { words, variables }
    }
}

/// The name of a program without its folder and without a suffix of Windows, in lower case.
pub fn program_name(cmd: &str) -> String {
    let name = cmd.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    let suffixes = [".cmd", ".exe", ".bat", ".ps1"];
    let bare = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
    bare.map_or(name.clone(), str::to_owned)
}

/// Whether a list of words has this one.
pub fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|it| it == word)
}

/// The parts of a text for a shell that may be words, whatever the shell makes of it.
pub fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| !c.is_alphanumeric() && !"/\\._-@:+".contains(c);
    // `env -S` takes `\_` for a space.
    text.split("\\_").flat_map(move |text| text.split(is_end))
}

/// The name of a program, as [`program_name`]; for `npx-cli.js`, `npm/index.js` and other scripts of package managers,
/// that of the package manager. Node finds a script without its suffix, too.
pub fn runner_name(word: &str) -> String {
    let name = program_name(word);
    let suffixes = [".js", ".cjs", ".mjs"];
    let script = suffixes.iter().find_map(|end| name.strip_suffix(end));
    let script = match script.unwrap_or(&name) {
        "index" => word.rsplit(['/', '\\']).nth(1).unwrap_or_default(),
        script => script,
    };
    let is_version = |c: char| c.is_ascii_digit() || "-.".contains(c);
    let runner = script.trim_end_matches("-cli").trim_end_matches(is_version);
    let runner = Some(runner).filter(|it| is_manager(it));
    runner.unwrap_or(&name).to_owned()
}

fn is_manager(name: &str) -> bool {
    has(MANAGERS, name) || name == "corepack"
}

/// The command line that this one starts; `None` if its program is another one, or not understood.
fn inner(words: &[String], variables: &mut Vec<String>) -> Option<Vec<String>> {
    let (cmd, args) = words.split_first()?;
    let name = program_name(cmd);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut wrappers = WRAPPERS.iter();
    let (_, options, inner) = wrappers.find(|(names, ..)| has(names, name))?;
    let mut read: Vec<Given<'_>> = Vec::new();
    let mut rest = args.iter();
    let is_code = |it: &Given<'_>| it.meaning == Meaning::Code && it.value.is_some();
    while !read.last().is_some_and(is_code)
        && let Some(word) = next_if(&mut rest, |word| word.starts_with('-'))
        && word != "--"
    {
        let mut add = |given| {
            read.push(given);
            Some(())
        };
        options.read(word, &mut rest, &mut add)?;
    }
    let code = read.iter().find(|it| it.meaning == Meaning::Code);
    let text = code.and_then(|it| it.value);
    let inner = match inner {
        Inner::Program(operands) => rest.as_slice().get(*operands..)?.to_vec(),
        Inner::Variables => {
            if let Some(text) = text {
                let mut words = prefixed(cmd, &command(text)?);
                words.extend(rest.cloned());
                return Some(words);
            }
            let removed = read.iter().filter_map(|it| it.value);
            variables.extend(removed.map(str::to_owned));
            while let Some(word) = next_if(&mut rest, |word| word.find('=') > Some(0)) {
                variables.extend(word.split('=').next().map(str::to_owned));
            }
            rest.as_slice().to_vec()
        }
        // Variables may stand before the command of a shell, as with `env`.
        Inner::Shell => code
            .and(rest.next())
            .and_then(|text| Some(prefixed("env", &command(text)?)))?,
        Inner::Batch => batch(rest)?,
        // `uv.__main__` runs what `uv` does.
        Inner::Module => prefixed(text?.split('.').next()?, rest.as_slice()),
        Inner::Script => {
            let script = rest.next()?;
            let runner = Some(runner_name(script)).filter(|it| is_manager(it))?;
            prefixed(&runner, rest.as_slice())
        }
        Inner::Manager => {
            let word = rest.next()?;
            let (manager, version) = word.split_once('@').unwrap_or((word, ""));
            let is_version = |c: char| c.is_ascii_digit() || c == '.';
            let is_known = has(MANAGERS, manager) && version.chars().all(is_version);
            is_known.then(|| prefixed(manager, rest.as_slice()))?
        }
    };
    Some(inner).filter(|words| !words.is_empty())
}

fn next_if<'a>(words: &mut Words<'a>, is_it: impl Fn(&str) -> bool) -> Option<&'a str> {
    let word = words.as_slice().first().filter(|word| is_it(word))?;
    words.next();
    Some(word)
}

fn prefixed(cmd: &str, args: &[String]) -> Vec<String> {
    let cmd = [cmd.to_owned()].into_iter();
    cmd.chain(args.iter().cloned()).collect()
}

/// The words of a text for a shell or for `env -S`, if it is one command and nothing in it is expanded.
fn command(text: &str) -> Option<Vec<String>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " '\"/._-@:=+,".contains(c);
    let is_plain = text.chars().all(is_plain);
    is_plain.then(|| split_command::split(text).ok()).flatten()
}

/// The words behind `/c` of the command interpreter of Windows, if nothing in them is expanded.
fn batch(mut words: Words<'_>) -> Option<Vec<String>> {
    let is_command = |word: &str| matches!(word, "/c" | "/C" | "/k" | "/K");
    while !is_command(words.next().filter(|word| word.starts_with('/'))?) {}
    let is_plain =
        |word: &String| !word.contains(|c: char| c.is_control() || "&|<>^%!\"()".contains(c));
    let inner = words.as_slice();
    let split = || inner.iter().flat_map(|word| word.split_whitespace());
    inner
        .iter()
        .all(is_plain)
        .then(|| split().map(str::to_owned).collect())
}
