//! Which files of a root belong into an archive, and in which order they are read.

use crate::contents::LeftOut;
use crate::names::FOLDERS;
use crate::store::{Error, Paths, Result, files};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// A file or folder for the archive.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its name in the archive.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) is_folder: bool,
}

/// What is in the archive, and what is not.
#[derive(Debug, Default)]
pub(crate) struct RootFiles {
    pub(crate) found: Vec<Found>,
    pub(crate) left_out: Vec<LeftOut>,
    has_secrets: bool,
}

/// The paths of the folders of a root, in the order of [`FOLDERS`].
pub(crate) fn folders(paths: &Paths) -> [PathBuf; 3] {
    [
        paths.config.clone(),
        paths.data.clone(),
        paths.state.join("tls"),
    ]
}

/// What is done with an entry of a folder.
enum Use {
    Take,
    /// It is worth nothing without the process that has made it.
    Ignore,
    /// It is left out, which the archive says.
    LeaveOut(&'static str),
}

impl RootFiles {
    /// Lists the files of a root.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub(crate) fn list(paths: &Paths, has_secrets: bool) -> Result<Self> {
        let mut all = RootFiles {
            has_secrets,
            ..RootFiles::default()
        };
        for (folder, path) in FOLDERS.into_iter().zip(folders(paths)) {
            all.list_folder(folder, &path)?;
        }
        Ok(all)
    }

    fn list_folder(&mut self, folder: &str, path: &Path) -> Result<()> {
        let entries = files::if_exists(fs::read_dir(path)).map_err(Error::io("list", path))?;
        let Some(entries) = entries else {
            return Ok(());
        };
        self.found.push(Found {
            name: folder.to_owned(),
            path: path.to_owned(),
            is_folder: true,
        });
        let mut entries = entries
            .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))))
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(Error::io("list", path))?;
        // A session before its messages, and these before the outputs that they name: so each that is written while
        // they are read is as it was at some time.
        let place = |name: &OsStr| (name != "session.json", name != "messages.jsonl");
        gosling_core::sorting::sort_by(&mut entries, |(a, _), (b, _)| {
            (place(a), a).cmp(&(place(b), b))
        });
        for (file, kind) in entries {
            let shown = file.to_string_lossy();
            let name = format!("{folder}/{shown}");
            let what = match file.to_str() {
                None => Use::LeaveOut("its name is not Unicode"),
                Some(file) => self.use_of(folder, file, &path.join(file), kind),
            };
            match what {
                Use::Ignore => {}
                Use::LeaveOut(why) => self.left_out.push(LeftOut {
                    name,
                    why: why.to_owned(),
                }),
                Use::Take if kind.is_dir() => self.list_folder(&name, &path.join(&file))?,
                Use::Take => self.found.push(Found {
                    name,
                    path: path.join(&file),
                    is_folder: false,
                }),
            }
        }
        Ok(())
    }

    fn use_of(&self, folder: &str, file: &str, path: &Path, kind: FileType) -> Use {
        let is_secret =
            folder == "state/tls" || folder == "config" && file.starts_with("secrets.yaml");
        match (folder, file) {
            _ if is_passing(folder, file) => Use::Ignore,
            _ if is_secret && !self.has_secrets => {
                Use::LeaveOut("a secret; `--secrets` includes it")
            }
            ("data/sessions", _) if file.starts_with("sessions.db") => {
                Use::LeaveOut("it belongs to Goose, which may be writing it")
            }
            _ if kind.is_dir() || kind.is_file() => Use::Take,
            // As programs make them that manage the files of a user.
            ("config", _) if kind.is_symlink() && path.is_file() => Use::Take,
            _ if kind.is_symlink() => Use::LeaveOut("a link"),
            _ => Use::LeaveOut("it is neither a file nor a folder"),
        }
    }
}

/// Whether it is a lock, or something that a process has not finished or not removed.
fn is_passing(folder: &str, file: &str) -> bool {
    let is_hidden = file.starts_with('.');
    // What is left of a session has a process id behind the id, and a number that is not assigned again has not.
    let is_deleted = |rest: &str| rest.contains('-');
    match folder {
        "data/audit" if matches!(file, "lock" | "waiting") => true,
        "data/sessions" if file.strip_prefix(".deleted-").is_some_and(is_deleted) => true,
        "data/sessions" if file.starts_with(".probe-") => true,
        _ if is_hidden && (file.ends_with(".lock") || file.ends_with(".tmp")) => true,
        _ => folder.starts_with("data/sessions/") && file == ".turn",
    }
}
