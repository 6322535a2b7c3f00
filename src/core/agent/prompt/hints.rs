//! Hints: the files `.goosehints` and `AGENTS.md` of a project and of the user, which go into the system
//! prompt.
//!
//! They are read from the working directory and the folders above it, up to the one that holds `.git`; if
//! there is no such folder, from the working directory only. The user's files, in the configuration folder,
//! come last. A link in a project must point into the project; one of the user may point anywhere, as the
//! links that managers of dotfiles make.

use crate::sys::fs::{Stamp, read_start};
use crate::sys::lock;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// How much of one file is read, in bytes.
pub const MAX_FILE: usize = 32 << 10;

/// How much of all files together is used, in bytes.
pub const MAX_ALL: usize = 128 << 10;

/// A file that changed this recently may change again with the same timestamp, so its text is not cached.
const SETTLED: Duration = Duration::from_millis(50);

/// How many folders, from the working directory up, are searched.
const MAX_LEVELS: usize = 64;

/// What stands before the names of the folders besides the working directory.
const MORE_FOLDERS: &str = "The work of this session includes these folders:";

/// How many files are cached.
const MAX_CACHED: usize = 256;

/// Reads hints, and caches each file until it changes.
#[derive(Debug)]
pub struct Hints {
    config: PathBuf,
    cache: Mutex<HashMap<PathBuf, (Stamp, Arc<str>)>>,
}

impl Hints {
    /// `config` is the folder with the user's hints, which apply to every project.
    pub fn new(config: &Path) -> Self {
        Hints {
            config: config.to_owned(),
            cache: Mutex::default(),
        }
    }

    /// The hints for a session in `working_dir`, from the files called `names`: those of the
    /// project from its root down, then those of the folders `more`, which are named, then the user's. Each has its
    /// path as a heading; a truncated one says so. A file that cannot be read is left out and logged.
    ///
    /// Checks each file with `stat`, and reads only the files that have changed.
    pub fn text(&self, working_dir: &Path, more: &[PathBuf], names: &[String]) -> String {
        let folders = folders(working_dir);
        let root = folders.first().map_or(working_dir, PathBuf::as_path);
        let own = (self.config.as_path(), None);
        let places = folders.iter().map(|folder| (folder.as_path(), Some(root)));
        let more_places = more.iter().map(|dir| (dir.as_path(), Some(dir.as_path())));
        let mut text = match more {
            [] => String::new(),
            more => {
                let more: Vec<String> = more.iter().map(|dir| dir.display().to_string()).collect();
                format!("{MORE_FOLDERS}\n{}\n\n", more.join("\n"))
            }
        };
        for (folder, within) in places.chain(more_places).chain([own]) {
            for name in names {
                let path = folder.join(name);
                let hint = match self.read(&path, within) {
                    Ok(Some(hint)) => hint,
                    Ok(None) => continue,
                    Err(error) => {
                        log::warn!("hints left out path={} error={error}", path.display());
                        continue;
                    }
                };
                if text.len() + hint.len() > MAX_ALL {
                    log::warn!(
                        "hints left out, as they are too long path={}",
                        path.display()
                    );
                    text.push_str(
                        "(There are more hints than fit here; the others were left out.)\n",
                    );
                    return text;
                }
                text.push_str(&hint);
            }
        }
        text
    }

    /// The text of the file `path` under a heading; `None` if there is no such file. A link must not point
    /// out of the folder `within`.
    fn read(&self, path: &Path, within: Option<&Path>) -> io::Result<Option<Arc<str>>> {
        let metadata = match fs::metadata(path) {
            Err(error) if is_absent(&error) => return Ok(None),
            metadata => metadata?,
        };
        if !metadata.is_file() {
            return Ok(None);
        }
        // Checked each time, because the target of a link can change while the file stays the same.
        if let Some(within) = within
            && fs::symlink_metadata(path)?.is_symlink()
        {
            let target = fs::canonicalize(path)?;
            if !target.starts_with(fs::canonicalize(within)?) {
                return Err(io::Error::other(
                    "it is a link that leads out of the project",
                ));
            }
        }
        let stamp = Stamp::of(&metadata)?;
        if let Some((known, hint)) = lock(&self.cache).get(path)
            && *known == stamp
        {
            return Ok(Some(hint.clone()));
        }
        let hint: Arc<str> = heading_and(path, &read_start(path, MAX_FILE as u64 + 1)?).into();
        let age = SystemTime::now().duration_since(stamp.modified);
        if !age.is_ok_and(|age| age > SETTLED) {
            return Ok(Some(hint));
        }
        let mut cache = lock(&self.cache);
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(path.to_owned(), (stamp, hint.clone()));
        Ok(Some(hint))
    }
}

/// The folders to search, the project's root first.
fn folders(working_dir: &Path) -> Vec<PathBuf> {
    let above = working_dir.ancestors().take(MAX_LEVELS);
    let mut folders: Vec<PathBuf> = above.map(Path::to_owned).collect();
    let root = folders
        .iter()
        .position(|folder| folder.join(".git").exists());
    folders.truncate(root.unwrap_or(0) + 1);
    folders.reverse();
    folders
}

/// Whether the file or one of its folders does not exist.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn heading_and(path: &Path, content: &[u8]) -> String {
    let end = content.len().min(MAX_FILE);
    let text = String::from_utf8_lossy(&content[..end]);
    if text.trim().is_empty() {
        return String::new();
    }
    let cut = if content.len() > MAX_FILE {
        "\n(The file goes on; the rest was left out.)"
    } else {
        ""
    };
    format!("From {}:\n{}{cut}\n\n", path.display(), text.trim())
}

#[cfg(test)]
mod tests;
