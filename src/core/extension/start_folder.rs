//! The folder in which the program of an extension starts: the session's working directory, or a folder of
//! gosling's own.
//!
//! Package runners, build tools and some interpreters run code of the folder that they start in, whatever their
//! arguments are: `npx` the programs in `node_modules/.bin` and what `.npmrc` names, `python -m` the modules,
//! `uv run` the build of the project. In a folder that the user has just cloned, that is the code of others. No
//! option of `npx` prevents all of it, so these programs start elsewhere unless their entry says otherwise.

use super::ExtensionConfig;
use super::program_lookup::is_relative_path;
use super::wrappers::{Line, has, parts, program_name, runner_name};
use crate::store::files;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Package runners, which run code of the folder that they start in. `uvx` is not one of them: it reads the
/// configuration of the user only.
const RUNNERS: &str = "npx npm pnpm pnpx yarn yarnpkg corepack bun bunx deno tsx ts-node volta uv pipx pipenv poetry \
    hatch pdm rye pixi jbang dnx mise asdf direnv";

/// Interpreters and build tools that do the same. Their names are words, so as arguments of an unknown program
/// they do not count.
const TOOLS: &str = "lua luajit r rscript julia mix bundle bundler rake composer mvn mvnw gradle gradlew sbt dotnet \
    go cargo make gmake just task pytest tox nox docker-compose podman-compose devcontainer";

/// Shells, whose arguments contain command lines.
pub(super) const SHELLS: &str =
    "sh bash dash ash zsh ksh mksh fish csh tcsh busybox cmd powershell pwsh nu";

/// Options of Python that have no value and keep what it runs.
const PYTHON_FLAGS: &str = "-u -B -E -s -S -I -P -O -OO -b -q -v -d";

/// The folders in the state folder.
const FOLDER: &str = "extension_folders";

/// The longest key that is part of a folder's name.
const MAX_KEY: usize = 100;

/// Where a program starts.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// In the session's working directory.
    Session,
    /// In the folder of the extension.
    Own,
}

/// The folder in which the command line of an extension starts. It exists, unless it is the session's.
///
/// # Errors
/// The entry names another one, or the folder cannot be created.
pub(super) fn ensure(
    config: &ExtensionConfig,
    line: (&str, &[String]),
    session: &Path,
    state: &Path,
) -> Result<PathBuf, String> {
    let place = place(config, line)?;
    if place == Place::Session {
        return Ok(session.to_owned());
    }
    let key = config.key();
    // No program looks for a folder of such a name, as npm does for `node_modules`.
    let name = format!("{}.d", key.get(..MAX_KEY).unwrap_or(&key));
    let folder = state.join(FOLDER).join(name);
    files::ensure_dir(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Advice for a program that started and ended; empty if it started in the working directory.
pub(super) fn advice(config: &ExtensionConfig) -> &'static str {
    match config {
        ExtensionConfig::Stdio(c) if place(config, (&c.cmd, &c.args)) == Ok(Place::Own) => {
            "; it starts in a folder of its own: if it needs the working directory, see `cwd` in `gosling help \
             extensions`"
        }
        _ => "",
    }
}

/// Where the command line of an extension starts.
///
/// # Errors
/// The entry names another place.
pub(super) fn place(
    config: &ExtensionConfig,
    (cmd, args): (&str, &[String]),
) -> Result<Place, String> {
    match config.cwd() {
        None => Ok(place_of(cmd, args)),
        Some(Value::String(named)) if named == "session" => Ok(Place::Session),
        Some(Value::String(named)) if named == "own" => Ok(Place::Own),
        Some(_) => Err("`cwd` is neither `session` nor `own`; correct or remove it".to_owned()),
    }
}

/// A program that is named by a path relative to the working directory is of that folder anyway. Wherever a
/// runner is named, it may be what starts.
pub(super) fn place_of(cmd: &str, args: &[String]) -> Place {
    let line = Line::read(cmd, args);
    let (inner, inner_args) = line
        .words
        .split_first()
        .map_or((cmd, args), |it| (it.0, it.1));
    if is_relative_path(cmd) || is_relative_path(inner) {
        return Place::Session;
    }
    let is_own = runs_a_folder(cmd, args) || runs_a_folder(inner, inner_args);
    if is_own { Place::Own } else { Place::Session }
}

/// Whether a command line runs code of the folder that it starts in.
fn runs_a_folder(cmd: &str, args: &[String]) -> bool {
    let program = program_name(cmd);
    let is_shell = |word: &str| has(SHELLS, &program_name(word));
    let is_split = |arg: &String| program == "env" && arg.starts_with('-') && arg.contains('S');
    let has_text = is_shell(cmd) || args.iter().any(|arg| is_shell(arg) || is_split(arg));
    let words: Vec<&str> = if has_text {
        args.iter().flat_map(|arg| parts(arg)).collect()
    } else {
        args.iter().map(String::as_str).collect()
    };
    let is_compose =
        matches!(&*program, "docker" | "podman" | "nerdctl") && words.contains(&"compose");
    let mut named = words.iter().enumerate();
    is_compose
        || runs_its_folder(cmd, &words, true)
        || named.any(|(n, word)| runs_its_folder(word, &words[n + 1..], has_text))
}

/// Whether the program `word` runs code of its folder with the arguments that follow it.
fn runs_its_folder(word: &str, arguments: &[&str], is_program: bool) -> bool {
    let name = runner_name(word);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if matches!(
        name,
        "python" | "pythonw" | "pypy" | "graalpy" | "ipython" | "py"
    ) {
        // A script imports from its own folder.
        let mut arguments = arguments.iter().filter(|arg| !has(PYTHON_FLAGS, arg));
        let is_script = |arg: &&str| !arg.is_empty() && !arg.starts_with('-');
        return !arguments.next().is_some_and(is_script);
    }
    has(RUNNERS, name) || (is_program && has(TOOLS, name))
}

#[cfg(test)]
mod tests;
