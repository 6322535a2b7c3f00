//! Extensions of type `inline_python`: an MCP server as Python code in the configuration. CORE §6, SERVER §9.3.
//!
//! The code is written to a file, and a launcher runs the file as a stdio server: `uvx`, which installs the
//! packages, or the one that a setting names. The file is in a private folder, which exists as long as the
//! server's process. If gosling is killed, the first start of such an extension in a later process removes the
//! folder.
#![forbid(unsafe_code)]

use gosling_core::extension::config::InlinePython;
use gosling_core::extension::inline_python::{PythonLaunch, PythonRunner};
use gosling_core::extension::{Class, Error, Phase};
use gosling_core::part::Part;
use gosling_core::store::Config;
use gosling_core::store::settings::{self, Setting};
use gosling_core::sys;
use gosling_core::sys::file_owner::has_owner_of;
use gosling_core::sys::fs::{FileCalls, lockable_folder, open_regular_with, private, private_dir};
use gosling_core::text::{printable, split_command};
use std::env;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::iter;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The launcher that installs the packages.
const UVX: &str = "uvx";
/// The package of the MCP SDK.
const SDK: &str = "mcp";
/// Stands for the file in the words of a launcher.
const FILE: &str = "{file}";
/// The name of every file. That of the extension is not part of it, because it may be any text.
const FILE_NAME: &str = "inline_extension.py";
/// The names of the folders begin with this.
const PREFIX: &str = "gosling-python-";
/// How often a folder is created again because another process removed it as a leftover.
const ATTEMPTS: usize = 10;
/// How many entries of the folder for temporary files are looked at.
const MAX_ENTRIES: usize = 100_000;

/// What inline Python adds to gosling.
pub const PART: Part = Part {
    inline_python: Some(|config| Arc::new(Settings::read(config))),
    ..Part::new("inline-python")
};

/// The settings for inline Python.
#[derive(Clone, Debug, Default)]
struct Settings {
    /// `GOOSE_INLINE_PYTHON_MCP`: the requirement for the MCP SDK, for example `mcp<2`; `mcp` if absent.
    sdk: Option<String>,
    /// `GOOSE_INLINE_PYTHON_RUNNER`: the command line of another launcher, in which `{file}` stands for the
    /// file. It does not get the dependencies.
    runner: Option<String>,
    /// Why one of them cannot be used; no code runs then.
    fault: Option<String>,
}

impl Settings {
    fn read(config: &Config) -> Self {
        let mut fault = None;
        let mut text = |setting: &Setting<'_>| setting.text_or_fault(config, &mut fault);
        Settings {
            sdk: text(&settings::INLINE_PYTHON_MCP),
            runner: text(&settings::INLINE_PYTHON_RUNNER),
            fault,
        }
    }
}

impl PythonRunner for Settings {
    fn prepare(&self, config: &InlinePython) -> Result<PythonLaunch, Error> {
        let mut words = self.words(config)?.into_iter();
        let failed = |reason| Error::new(&config.name, Phase::Setup, reason);
        let folder = ScriptFolder::new(&config.code).map_err(|error| {
            failed(format!(
                "its code cannot be written to a file in {}: {error}; TMPDIR names another folder",
                env::temp_dir().display()
            ))
        })?;
        let file = folder.path.join(FILE_NAME);
        let file = file.to_str().ok_or_else(|| {
            failed("the path of the folder for temporary files is not valid Unicode".to_owned())
        })?;
        Ok(PythonLaunch {
            cmd: words.next().unwrap_or_default(),
            args: words.map(|word| word.replace(FILE, file)).collect(),
            folder: Box::new(folder),
        })
    }

    fn words(&self, config: &InlinePython) -> Result<Vec<String>, Error> {
        let invalid = |reason| Error::new(&config.name, Phase::Config, reason);
        if let Some(fault) = &self.fault {
            return Err(invalid(fault.clone()));
        }
        let is_set = |text: &&str| !text.trim().is_empty();
        if let Some(runner) = self.runner.as_deref().filter(is_set) {
            let words = split_command::split(runner).and_then(|words| {
                let names_file = words.iter().skip(1).any(|word| word.contains(FILE));
                let fault = format!("no argument contains `{FILE}`, which stands for the file");
                names_file.then_some(words).ok_or(fault)
            });
            return words.map_err(|fault| {
                invalid(format!("the setting GOOSE_INLINE_PYTHON_RUNNER: {fault}"))
            });
        }
        let sdk = self.sdk.as_deref().filter(is_set).unwrap_or(SDK);
        let mut words = vec![UVX.to_owned()];
        let dependencies = config.dependencies.iter().flatten();
        for package in iter::once(sdk).chain(dependencies.map(String::as_str)) {
            check_package(&config.name, package.trim())?;
            words.extend(["--with", package.trim()].map(str::to_owned));
        }
        words.extend(["python", FILE].map(str::to_owned));
        Ok(words)
    }

    fn explain(&self, failed: &mut Error, stderr: &str) {
        let is_missing = |module: &str| stderr.contains(&format!("No module named '{module}"));
        let is_python = stderr.contains("Traceback (most recent call last)");
        let from_launcher = |line: &str| {
            let line = line.trim_start();
            line.starts_with("× ") || line.starts_with("error: ")
        };
        if is_missing("mcp.server.fastmcp") || stderr.contains("cannot import name 'FastMCP'") {
            failed.message += "; version 2 of the MCP SDK for Python has no FastMCP: import MCPServer from \
                           mcp.server.mcpserver, or add `mcp<2` to the extension's `dependencies`, or set \
                           GOOSE_INLINE_PYTHON_MCP to `mcp<2`";
        } else if is_missing("mcp.server.mcpserver") {
            failed.message += "; version 1 of the MCP SDK for Python has no MCPServer: require `mcp>=2` in the \
                           extension's `dependencies` and GOOSE_INLINE_PYTHON_MCP, or import FastMCP from \
                           mcp.server.fastmcp";
        } else if is_missing("") {
            failed.message += "; add the package that has this module to the extension's `dependencies`, or, with \
                           GOOSE_INLINE_PYTHON_RUNNER, install it for that launcher";
        } else if failed.phase == Phase::Initialize
            && !is_python
            && stderr.lines().any(from_launcher)
        {
            failed.phase = Phase::Setup;
            failed.class = Some(Class::Setup);
            failed.message += "; check the extension's `dependencies` and GOOSE_INLINE_PYTHON_MCP, and in a closed \
                           network set UV_INDEX_URL, UV_FIND_LINKS or UV_OFFLINE for gosling";
        } else if failed.phase == Phase::Setup && failed.message.contains("was not found") {
            failed.message += "; uvx is a part of uv (https://docs.astral.sh/uv); \
                           GOOSE_INLINE_PYTHON_RUNNER names another launcher";
        }
    }
}

fn check_package(extension: &str, package: &str) -> Result<(), Error> {
    let fault = format!(
        "{:?} in `dependencies` or GOOSE_INLINE_PYTHON_MCP is not a package",
        printable(package, 100)
    );
    if package.starts_with('-') {
        let reason = format!("{fault}: {UVX} could take it for an option; remove it");
        return Err(Error::forbidden(extension, reason));
    }
    if package.is_empty() || package.contains(char::is_control) || package.contains(FILE) {
        let reason = format!(
            "{fault}; write a name such as `requests`, or a requirement such as `requests>=2,<3`"
        );
        return Err(Error::new(extension, Phase::Config, reason));
    }
    Ok(())
}

/// A private temporary folder with the file of one extension. It is locked, so that no other process takes it
/// for a leftover. Dropping it removes it.
struct ScriptFolder {
    path: PathBuf,
    /// What holds the lock, see [`lock_path`].
    lock: Option<File>,
}

impl ScriptFolder {
    fn new(code: &str) -> io::Result<Self> {
        let root = path::absolute(env::temp_dir())?;
        let folder = Self::within(&root)?;
        let mut options = OpenOptions::new();
        let mut file =
            private(options.write(true).create_new(true)).open(folder.path.join(FILE_NAME))?;
        file.write_all(code.as_bytes())?;
        static SWEPT: AtomicBool = AtomicBool::new(false);
        if !SWEPT.swap(true, Ordering::Relaxed) {
            folder.remove_leftovers(&root);
        }
        Ok(folder)
    }

    fn within(root: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let path = root.join(format!("{PREFIX}{}", sys::random_hex(12)?));
            if !cfg!(windows) {
                private_dir().create(&path)?;
            }
            if let Some(lock) = lock_folder(&path).inspect_err(|_| remove(&path, None))? {
                let lock = Some(lock);
                let folder = ScriptFolder { path, lock };
                if cfg!(windows) {
                    private_dir().create(&folder.path)?;
                }
                return Ok(folder);
            }
        }
        Err(io::Error::other("another process keeps removing it"))
    }

    /// Removes the folders of processes that have ended.
    fn remove_leftovers(&self, root: &Path) {
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        for entry in entries.take(MAX_ENTRIES) {
            let name = entry.file_name();
            if !name.to_str().is_some_and(|name| name.starts_with(PREFIX)) {
                continue;
            }
            let path = entry.path();
            let is_left = |it: fs::Metadata| it.is_dir() || cfg!(windows) && it.is_file();
            if fs::symlink_metadata(&path).is_ok_and(is_left) && has_owner_of(&path, &self.path) {
                // A lock may have no folder: it is gone, or was never made.
                let folder = if cfg!(windows) {
                    path.with_extension("")
                } else {
                    path
                };
                if let Ok(lock) = open_lock(&folder)
                    && FileCalls::try_lock(&lock).is_ok()
                {
                    log::info!("removing the code of a process that has ended folder={folder:?}");
                    remove(&folder, Some(lock));
                }
            }
        }
    }
}

impl Drop for ScriptFolder {
    fn drop(&mut self) {
        remove(&self.path, self.lock.take());
    }
}

/// What is locked for a folder: the folder itself, and on Windows, which has no locks on folders, a file beside it. A
/// file in it would be removed with what else is there, and could then be locked twice. The one beside it exists before
/// its folder, and is locked from then on until the folder is gone.
fn lock_path(folder: &Path) -> PathBuf {
    if cfg!(windows) {
        folder.with_extension("lock")
    } else {
        folder.to_owned()
    }
}

fn open_lock(folder: &Path) -> io::Result<File> {
    if !cfg!(windows) {
        return lockable_folder(folder);
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    open_regular_with(&mut options, &lock_path(folder))
}

/// Opens and locks a folder that was just created, or on Windows is about to be. `None` if another process has taken it
/// for a leftover in the meantime: it takes the lock before it removes anything, so what is locked and in its place
/// stays.
fn lock_folder(path: &Path) -> io::Result<Option<File>> {
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(None),
        // So Windows answers while something is being removed.
        io::ErrorKind::PermissionDenied if cfg!(windows) => Ok(None),
        _ => Err(error),
    };
    let lock = match open_lock(path) {
        Ok(lock) => lock,
        Err(error) => return gone(error),
    };
    // Where there are no locks, no process removes leftovers.
    if let Err(TryLockError::WouldBlock) = FileCalls::try_lock(&lock) {
        return Ok(None);
    }
    match fs::symlink_metadata(lock_path(path)) {
        Ok(_) => Ok(Some(lock)),
        Err(error) => gone(error),
    }
}

/// Removes a folder, which nobody takes while it is locked.
fn remove(folder: &Path, lock: Option<File>) {
    let removed = sys::fs::remove_dir_all(folder);
    if cfg!(windows) {
        // Before the lock is free. If that fails, a later process removes it.
        let _ = fs::remove_file(lock_path(folder));
    }
    drop(lock);
    if let Err(error) = removed
        && error.kind() != io::ErrorKind::NotFound
    {
        log::warn!("a temporary folder cannot be removed folder={folder:?} reason={error}");
    }
}

#[cfg(test)]
mod tests;
