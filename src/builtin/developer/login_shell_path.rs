//! The `PATH` of the user's login shell. A server that a desktop starts often has a shorter one.

use super::run_command::{self, End};
use crate::sys::Family;
use crate::sys::cancel::Cancel;
use crate::sys::process::Command;
use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// How long the shell may take: its startup files may wait for something or never end.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Precedes the answer on its line, because the startup files may print anything.
const MARK: &str = "--gosling-path--";

/// This process's `PATH`; on Unix, followed by the folders that only the login shell has. The shell is run once.
pub(super) fn path(shell: &Path) -> &'static OsString {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let own = env::var_os("PATH").unwrap_or_default();
        // A user has one PATH there, whatever starts the server.
        if cfg!(windows) {
            return own;
        }
        join(&own, &query_login_shell(shell).unwrap_or_default())
    })
}

fn query_login_shell(shell: &Path) -> Option<String> {
    let mut command = Command::new(shell);
    let script = format!("printf '\\n%s' '{MARK}'; printenv PATH");
    // Interactive, too: many users set `PATH` in a file that only interactive shells read.
    command.args(["-l", "-i", "-c", &script]);
    let family = Family::new().ok()?;
    let limit = Some(TIMEOUT);
    let ran = run_command::run(&family, command, limit, &Cancel::new(), &mut |_, _| {});
    family.end();
    let (ran, reader) = ran.ok()?;
    reader.end();
    let path = parse_output(&ran.output).map(str::to_owned);
    if path.is_none() {
        let how = match ran.end {
            End::Exited => "it ended".to_owned(),
            End::TimedOut | End::Cancelled => format!("the timeout of {TIMEOUT:?}"),
        };
        log::warn!(
            "the login shell did not print its PATH before {how}, so only the server's own PATH is used"
        );
    }
    path
}

fn parse_output(output: &str) -> Option<&str> {
    let path = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(MARK));
    path.map(str::trim).filter(|path| !path.is_empty())
}

fn join(own: &OsString, login: &str) -> OsString {
    let mut seen = HashSet::new();
    let all = env::split_paths(own).chain(env::split_paths(login));
    let absolute = all.filter(|folder| folder.is_absolute());
    let folders: Vec<PathBuf> = absolute
        .filter(|folder| seen.insert(folder.clone()))
        .collect();
    env::join_paths(folders).unwrap_or_else(|_| own.clone())
}

#[cfg(test)]
mod tests;
