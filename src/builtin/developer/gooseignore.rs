//! `.gooseignore`: the files that the tools must not touch, in git's pattern syntax.
//!
//! It prevents accidents: a well-meaning model does not read a secret by mistake. It is not a sandbox: a program
//! that the shell starts can open any file.

use super::gitignore::{self, Gitignore, Rule};
use super::shell_words::{self, Word};
use super::{Developer, text_files, user_shell};
use crate::store;
use crate::sys::cancel::Cancel;
use crate::sys::fs::{Stamp, read_start};
use crate::sys::lock;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file, in the working directory and in the configuration folder.
const FILE_NAME: &str = ".gooseignore";
/// The default patterns. A `.gooseignore` file can negate each of them with `!`.
const DEFAULT_RULES: &str = "\
.env
.env.*
!.env.example
!.env.sample
!.env.template
secrets.*
.netrc
.pgpass
**/.ssh/id_*
!**/.ssh/*.pub
**/.aws/credentials
**/.kube/config
**/.docker/config.json
";
/// The largest file, in bytes, and the most patterns in it.
const MAX_FILE: u64 = 64 << 10;
const MAX_PATTERNS: usize = 2_000;
/// The longest pattern, in bytes.
const MAX_LINE: usize = 1_000;
/// The most directory entries that one shell pattern is compared with.
const MAX_GLOB_ENTRIES: usize = 20_000;

/// The rules for one working directory, those with the highest priority first.
pub(super) struct IgnoreRules {
    dir: PathBuf,
    /// The directory with symbolic links resolved.
    real: PathBuf,
    read: [(PathBuf, Option<Stamp>); 2],
    rules: Vec<RuleFile>,
}

/// The rules of one file, with its path.
#[derive(Debug)]
struct RuleFile {
    rules: Gitignore,
    from: PathBuf,
}

impl Developer {
    /// The current rules for a working directory. They are read again if one of the files has changed.
    ///
    /// # Errors
    /// Why one of the files cannot be used: guessing what it means could expose a secret.
    pub(super) fn ignore_rules(&self, dir: &Path) -> Result<Arc<IgnoreRules>, String> {
        let stamp = |folder: &Path| match store::files::stamp(&folder.join(FILE_NAME)) {
            Ok(stamp) => Ok((folder.join(FILE_NAME), stamp)),
            Err(error) => Err(error.to_string()),
        };
        let read = [stamp(dir)?, stamp(&self.config)?];
        let real = text_files::real_path(dir).unwrap_or_else(|_| dir.to_owned());
        let mut known = lock(&self.ignore_rules);
        if let Some(known) = &*known
            && known.dir == dir
            && known.real == real
            && known.read == read
        {
            return Ok(known.clone());
        }
        let ignore_rules = Arc::new(IgnoreRules::new(dir, real, read)?);
        Ok(known.insert(ignore_rules).clone())
    }
}

impl IgnoreRules {
    fn new(dir: &Path, real: PathBuf, read: [(PathBuf, Option<Stamp>); 2]) -> Result<Self, String> {
        let mut rules = Vec::new();
        for (n, (file, stamp)) in read.iter().enumerate() {
            if stamp.is_some() {
                let text = read_rules(file).map_err(|why| format!("{} {why}", file.display()))?;
                rules.push(parse_rules(Some(dir), &text, file)?);
                // The same files may be named by the real path of the directory.
                if real != dir {
                    rules.push(parse_rules(Some(&real), &text, file)?);
                }
                // The user's own patterns hold in every folder.
                if n > 0 {
                    rules.push(parse_rules(None, &text, file)?);
                }
            }
        }
        let defaults = Path::new("the defaults");
        rules.push(parse_rules(None, DEFAULT_RULES.as_bytes(), defaults)?);
        Ok(IgnoreRules {
            dir: dir.to_owned(),
            real,
            read,
            rules,
        })
    }

    /// Checks whether tools may touch this absolute path.
    ///
    /// # Errors
    /// The pattern that forbids it.
    pub(super) fn allows(&self, path: &Path) -> Result<(), String> {
        self.check(path)?;
        // The rules hold for the target of a link, too.
        match text_files::canonical(path) {
            Ok(real) if real != path => self.check(&real),
            _ => Ok(()),
        }
    }

    fn check(&self, path: &Path) -> Result<(), String> {
        self.check_names(path, path.is_dir())
    }

    /// As with git, a pattern cannot re-include an entry of an excluded folder. The path is not looked at.
    fn check_names(&self, path: &Path, is_dir: bool) -> Result<(), String> {
        let ways: Vec<&Path> = path.ancestors().collect();
        for way in ways.into_iter().rev() {
            let is_dir = is_dir || way != path;
            if let Some((rule, from)) = self.rule(way, is_dir) {
                return Err(format!(
                    "{} is not accessible to tools because of {:?} in {}; ask the user if you need it",
                    path.display(),
                    rule.line(),
                    from.display()
                ));
            }
        }
        Ok(())
    }

    /// The rule that excludes this file or folder itself, and the file that it is from. Without one, tools may touch an
    /// entry of an allowed folder that is not a symbolic link.
    pub(super) fn rule(&self, path: &Path, is_dir: bool) -> Option<(&Rule, &Path)> {
        for RuleFile { rules, from } in &self.rules {
            let Some(relative) = rules.relative(path) else {
                continue;
            };
            if relative.as_os_str().is_empty() {
                continue;
            }
            match rules.matched(relative, is_dir) {
                None => {}
                Some(rule) if rule.negated => return None,
                Some(rule) => return Some((rule, from)),
            }
        }
        None
    }

    /// Checks whether a command names a file that tools may not touch.
    ///
    /// # Errors
    /// The pattern that forbids it, or that the command is too complex to analyze, or that the call was
    /// cancelled.
    pub(super) fn allows_command(
        &self,
        command: &str,
        dir: &Path,
        cancel: &Cancel,
    ) -> Result<(), String> {
        let variable = |name: &str| match name {
            "PWD" => Some(dir.to_string_lossy().into_owned()),
            name => std::env::var(name).ok(),
        };
        let command = user_shell::as_on_unix(command);
        let words = shell_words::words_of(&command, &variable).ok_or(
            "the command is too complex to find out which files it names; write it to a file with \
             text_editor and run that",
        )?;
        let mut dirs = vec![dir.to_owned()];
        for word in words {
            for dir in dirs.clone() {
                check_cancelled(cancel)?;
                self.allows_word(&word, &dir, cancel)?;
                if word.is_directory_change
                    && dirs.len() < 16
                    && let Ok(entered) = text_files::resolve(&word.text, &dir)
                    && entered.is_dir()
                    && !dirs.contains(&entered)
                {
                    dirs.push(entered);
                }
            }
        }
        Ok(())
    }

    fn allows_word(&self, word: &Word, dir: &Path, cancel: &Cancel) -> Result<(), String> {
        for part in candidate_paths(&word.text) {
            if word.has_wildcards {
                for path in expand(part, dir) {
                    // Many patterns in a large folder take long.
                    check_cancelled(cancel)?;
                    self.allows(&path)?;
                }
            }
            let Ok(path) = text_files::resolve(part, dir) else {
                // Tools must not look there, but the command will, unless it is a URL.
                if part.len() <= text_files::MAX_PATH && !word.text.contains("://") {
                    self.check_names(&dir.join(part), false)?;
                }
                continue;
            };
            // A dangling symbolic link counts as an existing file.
            if fs::symlink_metadata(&path).is_ok() {
                self.allows(&path)?;
            }
        }
        Ok(())
    }
}

fn check_cancelled(cancel: &Cancel) -> Result<(), String> {
    if cancel.is_cancelled() {
        return Err("the call was cancelled".to_owned());
    }
    Ok(())
}

fn read_rules(file: &Path) -> Result<Vec<u8>, String> {
    let text = read_start(file, MAX_FILE + 1);
    let text = text.map_err(|error| format!("cannot be read: {error}"))?;
    if text.len() as u64 > MAX_FILE {
        return Err(format!("is not a file of at most {MAX_FILE} bytes"));
    }
    // Its patterns would match nothing.
    if text.contains(&0) || text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return Err("is not in UTF-8, but in UTF-16 or binary; save it in UTF-8".to_owned());
    }
    Ok(text)
}

/// The rules for the content of `folder`, or of each root folder.
fn parse_rules(folder: Option<&Path>, text: &[u8], from: &Path) -> Result<RuleFile, String> {
    let wrong = |why: String| format!("{}: {why}", from.display());
    if gitignore::lines(text).count() > MAX_PATTERNS {
        return Err(wrong(format!("it has more than {MAX_PATTERNS} lines")));
    }
    let mut rules = Gitignore::new(folder);
    for (n, line) in gitignore::lines(text).enumerate() {
        let n = n + 1;
        if line.len() > MAX_LINE {
            return Err(wrong(format!("line {n} has more than {MAX_LINE} bytes")));
        }
        let added = rules.add(without_trailing_tabs(line));
        added.map_err(|why| wrong(format!("line {n}: {why}")))?;
    }
    Ok(RuleFile {
        rules,
        from: from.to_owned(),
    })
}

/// The line without white space at its end, if that is more than the spaces that git ignores there: as part of the
/// pattern it would match nothing, and the file would protect less than it seems to.
fn without_trailing_tabs(line: &[u8]) -> &[u8] {
    let trimmed = line.trim_ascii_end();
    let is_spaces = line[trimmed.len()..].iter().all(|byte| *byte == b' ');
    if is_spaces { line } else { trimmed }
}

/// The parts of a word that may be paths: the word itself, the text after `=`, `@` or `:`, the text before the first
/// `:`, and the text after the letter of a short option.
fn candidate_paths(word: &str) -> Vec<&str> {
    let behind = word
        .match_indices(['=', '@', ':'])
        .map(|(at, _)| &word[at + 1..]);
    let glued = word.strip_prefix('-').and_then(|option| {
        let mut chars = option.chars();
        chars.next().filter(|letter| letter.is_ascii_alphabetic())?;
        Some(chars.as_str())
    });
    let before = word.split_once(':').map(|(before, _)| before);
    let all = std::iter::once(word).chain(behind.take(8));
    let all = all.chain(before).chain(glued);
    all.filter(|part| !part.is_empty()).collect()
}

/// The existing paths that match a shell pattern, until [`MAX_GLOB_ENTRIES`] entries have been compared.
fn expand(pattern: &str, dir: &Path) -> Vec<PathBuf> {
    let Ok(pattern) = text_files::resolve(pattern, dir) else {
        return Vec::new();
    };
    let (root, parts) = text_files::split_root(&pattern);
    let mut paths = vec![root];
    let mut looked_at = 0;
    for part in parts.components() {
        let part = part.as_os_str();
        let bytes = part.as_encoded_bytes();
        if !bytes.iter().any(|byte| b"*?[".contains(byte)) {
            paths.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for folder in &paths {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                looked_at += 1;
                if looked_at > MAX_GLOB_ENTRIES {
                    return next;
                }
                if matches(bytes, entry.file_name().as_encoded_bytes()) {
                    next.push(entry.path());
                }
            }
        }
        paths = next;
    }
    paths.retain(|path| fs::symlink_metadata(path).is_ok());
    paths
}

/// Whether a file name matches a shell pattern with `*`, `?` and `[…]`. A name that begins with a dot is matched only
/// by a pattern that does so, too.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    (pattern.starts_with(b".") || !name.starts_with(b".")) && gitignore::fits(pattern, name)
}

#[cfg(test)]
mod tests;
