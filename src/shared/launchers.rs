//! How launchers read their command lines: `npx`, `uvx`, `docker` and other programs that fetch something and run
//! it at once.
//!
//! [`Launch::read`] takes each word once, in the way of the launcher itself, and stops at the first word that it
//! does not understand: no word is passed over. [`Line::read`] takes off what stands before a launcher, such as `env`
//! and `sh -c`. Nothing here reads a file or asks a registry.

#[rustfmt::skip]
mod known_launchers;

pub use known_launchers::is_interpreter;

use crate::extension::wrappers::{
    Given, Line, Meaning, Row, Syntax, Words, has, parts, program_name, runner_name,
};
use crate::packages::{Package, normalized_pypi, requirements};
use known_launchers::{Choice, Launcher, PROGRAMS};

/// How many launchers are read where it is not known whether they start.
const MAX_MENTIONS: usize = 8;

/// What a command line fetches and runs.
#[derive(Debug, Default)]
pub struct Launch<'a> {
    /// The packages that it fetches.
    pub packages: Vec<Package>,
    /// The options of the launcher, in their order.
    pub options: Vec<Given<'a>>,
    /// The program and its arguments, or the package of the program.
    pub operands: Vec<&'a str>,
    /// The name of the program, without its folder or version; `None` if nothing runs, or an image.
    pub program: Option<String>,
    /// Whether the program may be another than that of the package, because options name the package.
    pub is_foreign: bool,
    /// The first word that is not understood. The other fields hold what was read before it.
    pub unclear: Option<&'a str>,
    /// What could be packages from there on.
    pub candidates: Vec<Package>,
}

/// A word that is not understood.
struct Unclear<'a>(&'a str);

impl<'a> Launch<'a> {
    /// Reads a command line; `None` if the program is not a launcher.
    pub fn read(cmd: &str, args: &'a [String]) -> Option<Self> {
        let name = program_name(cmd);
        let mut programs = PROGRAMS.iter();
        let (_, choice) = programs.find(|(names, _)| has(names, &name))?;
        let mut launch = Launch::default();
        if let Err(Unclear(word)) = launch.choose(choice, &mut args.iter()) {
            launch.unclear = Some(word);
        }
        Some(launch)
    }

    /// What a line fetches and runs. It is unclear if its arguments name a launcher, which may start, too.
    pub fn of(line: &'a Line) -> Self {
        let read = line.words.split_first();
        let read = read.and_then(|(cmd, args)| Launch::read(cmd, args));
        let words = match &read {
            Some(launch) => {
                // What a container runs in place of the program of its image.
                let entrypoint = launch.options.iter().filter(|it| it.name == "entrypoint");
                let entrypoint = entrypoint.filter_map(|it| it.value);
                entrypoint.chain(launch.operands.iter().copied()).collect()
            }
            None => line.words.iter().map(String::as_str).collect::<Vec<_>>(),
        };
        let mut launch = read.unwrap_or_default();
        let mut named = words.clone();
        if let (Some(first), Some(program)) = (named.first_mut(), &launch.program) {
            *first = program;
        }
        if let Some((at, candidates)) = mentioned(&named) {
            launch.unclear.get_or_insert(words[at]);
            launch.candidates.extend(candidates);
        }
        launch
    }

    fn choose(
        &mut self,
        choice: &'static Choice,
        words: &mut Words<'a>,
    ) -> Result<(), Unclear<'a>> {
        match choice {
            Choice::Nothing => {
                self.operands.extend(words.map(String::as_str));
                Ok(())
            }
            Choice::Unclear => Err(Unclear("")),
            Choice::Package(launcher) => self.operands(launcher, words, true),
            Choice::Program(launcher) => self.operands(launcher, words, false),
            Choice::Command(launcher, commands, others) => {
                let Some(word) = self.options(launcher, words)? else {
                    return Ok(());
                };
                if word == "--" {
                    return Err(Unclear(word));
                }
                let mut commands = commands.iter();
                let named = commands.find(|(names, _)| has(names, word));
                let chosen = named.map_or(*others, |(_, chosen)| chosen);
                match chosen {
                    Choice::Nothing => self.operands.push(word),
                    Choice::Unclear => self.guess_arguments(launcher, word, words),
                    _ => {}
                }
                let chosen = self.choose(chosen, words);
                chosen.map_err(|Unclear(at)| Unclear(if at.is_empty() { word } else { at }))
            }
        }
    }

    /// Reads options, and the word after them.
    fn options(
        &mut self,
        launcher: &'static Launcher,
        words: &mut Words<'a>,
    ) -> Result<Option<&'a str>, Unclear<'a>> {
        while let Some(word) = words.next() {
            if word == "--" || !word.starts_with('-') {
                return Ok(Some(word));
            }
            if self.option(launcher, word, words).is_none() {
                self.guess(launcher, word, words);
                return Err(Unclear(word));
            }
        }
        Ok(None)
    }

    /// Reads the options of a launcher, and what it runs. The first operand is a package if
    /// `runs_package`, unless an option names the package.
    fn operands(
        &mut self,
        launcher: &'static Launcher,
        words: &mut Words<'a>,
        runs_package: bool,
    ) -> Result<(), Unclear<'a>> {
        while let Some(word) = self.options(launcher, words)? {
            let is_end = word == "--";
            self.operands.extend((!is_end).then_some(word));
            if is_end || launcher.syntax != Syntax::NpmExec {
                self.operands.extend(words.by_ref().map(String::as_str));
            }
        }
        let Some(first) = self.operands.first().copied() else {
            return Ok(());
        };
        let provided = self
            .options
            .iter()
            .filter(|it| it.meaning == Meaning::Provides);
        let provided: Vec<&str> = provided.filter_map(|it| it.value).collect();
        if runs_package && provided.is_empty() {
            let named = launcher.program.unwrap_or(launcher.package)(first);
            let program = || own_program(named.as_ref(), first);
            self.program = launcher.program.is_some().then(program);
            self.packages.extend(named);
            return Ok(());
        }
        self.program = Some(program_name(first));
        let read = launcher.program.unwrap_or(launcher.package);
        let mut provided = provided.into_iter().filter_map(read);
        self.is_foreign = !provided.any(|package| provides(&package, first));
        if first.contains("://") {
            self.packages.push(Package::elsewhere(first));
        }
        Ok(())
    }

    /// Reads an option, as [`Options::read`](crate::extension::wrappers::Options::read).
    fn option(
        &mut self,
        launcher: &'static Launcher,
        word: &'a str,
        words: &mut Words<'a>,
    ) -> Option<()> {
        let mut add = |given| self.given(launcher, given);
        launcher.options().read(word, words, &mut add)
    }

    /// Adds an option with the packages that it names.
    fn given(&mut self, launcher: &'static Launcher, given: Given<'a>) -> Option<()> {
        let Given { meaning, value, .. } = given;
        let is_again = |it: &Given<'_>| it.meaning == Meaning::Provides && meaning == it.meaning;
        let read = match meaning {
            Meaning::Provides => launcher.program.unwrap_or(launcher.package),
            Meaning::Adds => launcher.package,
            Meaning::Requirements => |value: &str| Some(Package::elsewhere(value)),
            _ => |_: &str| None,
        };
        let text = value.unwrap_or_default();
        if meaning == Meaning::Provides {
            self.packages.extend(read(text));
        } else {
            self.packages.extend(requirements(text).filter_map(read));
        }
        // Launchers differ in which one counts.
        if !launcher.syntax.is_npm() && self.options.iter().any(is_again) {
            return None;
        }
        self.options.push(given);
        Some(())
    }

    /// Notes what the operands, and the words from one that is not understood, could mean.
    fn guess(&mut self, launcher: &'static Launcher, word: &'a str, words: &mut Words<'a>) {
        let earlier = std::mem::take(&mut self.operands).into_iter();
        let words = earlier
            .chain([word])
            .chain(words.by_ref().map(String::as_str));
        for word in words {
            let mut parts = word.split('=').peekable();
            let name = parts
                .next_if(|part| part.starts_with('-'))
                .map(|it| it.trim_start_matches('-'));
            let found = name.and_then(|name| launcher.options().find(name, false));
            if let Some((&Row(_, meaning @ (Meaning::Code | Meaning::Power), _), name)) = found {
                let value = word.split_once('=').map(|(_, value)| value);
                self.options.push(Given {
                    name,
                    meaning,
                    value,
                    word,
                });
            }
            let parts = parts.filter(|part| !part.starts_with('-'));
            let published = |text: &str| {
                let package = (launcher.package)(text);
                package.filter(|it| matches!(it, Package::Published { .. }))
            };
            // What has no version that is understood may have any.
            let named = |part| {
                published(part).or_else(|| published(part.split('@').next().unwrap_or_default()))
            };
            self.candidates.extend(parts.filter_map(named));
        }
    }

    /// Notes what the arguments of a command that is not understood could mean. `npm create NAME` and its like fetch
    /// `create-NAME`.
    fn guess_arguments(
        &mut self,
        launcher: &'static Launcher,
        command: &str,
        words: &mut Words<'a>,
    ) {
        let args = words.as_slice().iter();
        if has("create c init innit", command) {
            let names = args.filter(|word| !word.starts_with('-'));
            let packages = names.filter_map(|word| (launcher.package)(&initializer(word)));
            self.candidates.extend(packages);
        }
        if let Some(first) = words.next() {
            self.guess(launcher, first, words);
        }
    }
}

/// The package that `npm create` fetches for this name, with its version.
fn initializer(specifier: &str) -> String {
    let version = specifier.get(1..).and_then(|rest| rest.find('@'));
    let (name, version) = specifier.split_at(version.map_or(specifier.len(), |at| at + 1));
    match name.split_once('/') {
        Some((scope, bare)) if scope.starts_with('@') => format!("{scope}/create-{bare}{version}"),
        None if name.starts_with('@') => format!("{name}/create{version}"),
        _ => format!("create-{specifier}"),
    }
}

/// The name of the program that a package brings.
fn own_program(package: Option<&Package>, specifier: &str) -> String {
    if let Some(Package::Published { name, .. }) = package {
        return name.clone();
    }
    let is_name = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    let name = specifier.trim_start().chars().take_while(is_name);
    name.collect::<String>().to_ascii_lowercase()
}

/// Whether a program has the name of a package, so that the package probably brings it.
fn provides(package: &Package, program: &str) -> bool {
    let Package::Published { name, .. } = package else {
        return false;
    };
    let bare = name.rsplit('/').next().unwrap_or_default();
    bare == program || package.pypi_name() == Some(&normalized_pypi(program))
}

/// The launcher that a word names: alone, as a file in a folder of programs, or with a suffix of programs. A folder
/// can have such a name, too.
fn launcher(word: &str) -> Option<String> {
    let name = runner_name(word);
    let folder = word.rsplit(['/', '\\']).nth(1);
    let has_suffix = !word.to_ascii_lowercase().ends_with(&name);
    let name = name.split('@').next().unwrap_or_default();
    let is_place = |folder: &str| folder.ends_with("bin") || folder == "shims";
    let is_program =
        has_suffix || folder.is_none_or(is_place) || has("npx uvx bunx pnpx pipx", name);
    let mut launchers = PROGRAMS.iter();
    let is_launcher = is_program && launchers.any(|(names, _)| has(names, name));
    is_launcher.then(|| name.to_owned())
}

/// The first of the words that names a launcher with anything behind it, and the packages that could be meant.
fn mentioned(words: &[&str]) -> Option<(usize, Vec<Package>)> {
    let each = words
        .iter()
        .enumerate()
        .flat_map(|(at, word)| parts(word).map(move |part| (at, part)));
    let each = each.filter(|(_, part)| !part.is_empty());
    let (places, parts): (Vec<usize>, Vec<String>) =
        each.map(|(at, part)| (at, part.to_owned())).unzip();
    let named = parts
        .iter()
        .enumerate()
        .filter(|(n, _)| n + 1 < parts.len());
    let named = named.filter_map(|(n, part)| Some((n, launcher(part)?)));
    let mut first = None;
    let mut packages = Vec::new();
    for (n, name) in named.take(MAX_MENTIONS) {
        first.get_or_insert(places[n]);
        let launch = Launch::read(&name, &parts[n + 1..]).unwrap_or_default();
        packages.extend(launch.packages.into_iter().chain(launch.candidates));
    }
    first.map(|first| (first, packages))
}

#[cfg(test)]
mod tests;
