//! Resolves paths of tool calls, and reads the text files that the editor works on.

use super::Developer;
pub(super) use super::undo_history::FileState;
use super::undo_history::Fingerprint;
use crate::mcp::server::MAX_LINE;
use crate::sys;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The largest file that is read, in bytes.
pub(super) const MAX_FILE: u64 = 400_000;
/// The largest file that an edit can leave, in bytes: its text comes in one message.
const MAX_FINGERPRINTED: u64 = MAX_LINE as u64;
/// The longest path, in bytes.
pub(super) const MAX_PATH: usize = 4_096;
/// The longest chain of symbolic links.
const MAX_LINKS: usize = 40;
/// Folders whose files are not ordinary ones.
const SPECIAL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The absolute path that a tool call means by `path`.
///
/// # Errors
/// When it is not a path.
pub(super) fn resolve(path: &str, dir: &Path) -> Result<PathBuf, String> {
    let path = path.trim();
    if path.is_empty() || path.contains('\0') {
        return Err("`path` is empty; name a file".to_owned());
    }
    // The system accepts no longer one, and the rules of `.gooseignore` are checked for each of its parts.
    if path.len() > MAX_PATH {
        return Err(format!("`path` is longer than {MAX_PATH} bytes"));
    }
    let home = path
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = match (home, std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => dir.join(path),
    };
    let path = normalize(&path);
    match sys::paths::refusal(&path, dir) {
        Some(why) => Err(why.to_owned()),
        None => Ok(path),
    }
}

/// Removes `.` and `..` from the path as it is written.
fn normalize(path: &Path) -> PathBuf {
    let mut normalize = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normalize.pop()),
            part => normalize.push(part),
        }
    }
    normalize
}

/// The root folder of an absolute path, of which Windows has one for each drive, and the path in it.
pub(super) fn split_root(path: &Path) -> (PathBuf, &Path) {
    let mut root = PathBuf::new();
    let mut parts = path.components();
    while let Some(part @ (Component::Prefix(_) | Component::RootDir)) = parts.clone().next() {
        root.push(part);
        parts.next();
    }
    (root, parts.as_path())
}

/// The content of a file.
pub(super) enum Content {
    Text(String),
    Other(NotText),
}

/// Why a file cannot be edited; displayed as a property of the file.
#[derive(Clone, Copy)]
pub(super) enum NotText {
    /// It has NUL bytes, as images and programs have.
    Binary,
    /// It has more bytes than [`MAX_FILE`].
    Large(u64),
    /// It is not in UTF-8.
    NotUtf8,
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotText::Binary => f.write_str("binary"),
            NotText::Large(len) => write!(f, "{len} bytes long"),
            NotText::NotUtf8 => f.write_str("not in UTF-8"),
        }
    }
}

/// Reads the content of a file.
///
/// # Errors
/// When it does not exist or is not a regular file.
pub(super) fn content(path: &Path) -> Result<Content, String> {
    let (mut file, len) = open_regular(path)?;
    let mut bytes = Vec::new();
    let read = Read::by_ref(&mut file)
        .take(MAX_FILE + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| unreadable(path, &error))?;
    Ok(match bytes {
        bytes if bytes.contains(&0) => Content::Other(NotText::Binary),
        bytes if len.max(bytes.len() as u64) > MAX_FILE => Content::Other(NotText::Large(len)),
        bytes => String::from_utf8(bytes).map_or(Content::Other(NotText::NotUtf8), Content::Text),
    })
}

impl Content {
    /// The content of a file with this text.
    pub(super) fn of_text(text: String) -> Self {
        let len = text.len() as u64;
        if text.contains('\0') {
            Content::Other(NotText::Binary)
        } else if len > MAX_FILE {
            Content::Other(NotText::Large(len))
        } else {
            Content::Text(text)
        }
    }
}

/// The current state of a file, to be compared with the result of an edit.
pub(super) fn current_state(canonical: &Path) -> FileState {
    if let Err(error) = fs::symlink_metadata(canonical)
        && let io::ErrorKind::NotFound | io::ErrorKind::NotADirectory = error.kind()
    {
        return FileState::Missing;
    }
    let mut bytes = Vec::new();
    let Ok((file, len)) = open_regular(canonical) else {
        return FileState::Other;
    };
    if len > MAX_FINGERPRINTED {
        return FileState::Other;
    }
    match file.take(MAX_FINGERPRINTED + 1).read_to_end(&mut bytes) {
        Ok(read) if read as u64 <= MAX_FINGERPRINTED => FileState::Content(Fingerprint::of(&bytes)),
        _ => FileState::Other,
    }
}

/// The text of a file with this content.
///
/// # Errors
/// When it is too large or not text.
pub(super) fn text_in(path: &Path, content: Content) -> Result<String, String> {
    let what = match content {
        Content::Text(text) => return Ok(text),
        Content::Other(what) => what,
    };
    let advice = match what {
        NotText::Binary if super::PICTURE_TOOLS.is_empty() => "only text can be shown and edited",
        NotText::Binary => "only text can be shown and edited (`image_processor` shows images)",
        NotText::Large(_) => &format!(
            "at most {MAX_FILE} are read at once; look at parts of it with the shell (`sed -n 1,200p`, `rg`)"
        ),
        NotText::NotUtf8 => {
            "only that can be shown and edited; find out with the shell what it is (`file`), and convert \
             text with `iconv`"
        }
    };
    Err(format!("{} is {what}; {advice}", path.display()))
}

/// Opens a file for reading and returns its size in bytes.
///
/// # Errors
/// When it does not exist or is not a regular file.
pub(super) fn open_regular(path: &Path) -> Result<(File, u64), String> {
    let why = |error: io::Error| unreadable(path, &error);
    let canonical = real_path(path).map_err(why)?;
    regular(path, &canonical, &fs::metadata(&canonical).map_err(why)?)?;
    let file = sys::fs::open_regular(&canonical).map_err(why)?;
    let len = file.metadata().map_err(why)?.len();
    Ok((file, len))
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no file {}", path.display()),
        _ => format!("{} cannot be read: {error}", path.display()),
    }
}

/// Whether the path is in one of [`SPECIAL_FOLDERS`].
fn is_special(canonical: &Path) -> bool {
    let mut folders = SPECIAL_FOLDERS.iter();
    folders.any(|folder| canonical.starts_with(folder))
}

fn regular(path: &Path, canonical: &Path, metadata: &Metadata) -> Result<(), String> {
    if metadata.is_dir() {
        return Err(format!("{} is a directory", path.display()));
    }
    if metadata.is_file() && !is_special(canonical) {
        Ok(())
    } else {
        Err(format!("{} is not a regular file", path.display()))
    }
}

/// The real path that a write to `path` changes. Symbolic links are followed only within the working directory.
///
/// # Errors
/// When a link leads elsewhere, or the path is not that of a regular file.
pub(super) fn write_target(path: &Path, dir: &Path) -> Result<PathBuf, String> {
    let why = |error: io::Error| format!("{} cannot be written: {error}", path.display());
    let dir_real = real_path(dir).unwrap_or_else(|_| dir.to_owned());
    let mut links = MAX_LINKS;
    let (canonical, linked) = resolve_links(path, &mut links).map_err(why)?;
    // A path in the working directory has to stay in it, whether links are part of it or not. Any other path
    // may lead through folders that are links, as systems have them, but must not end in one.
    let meant_within = path.starts_with(normalize(dir)) || path.starts_with(&dir_real);
    if (linked || meant_within) && !canonical.starts_with(&dir_real) {
        return Err(format!(
            "{} leads to {} by a symbolic link, outside of the working directory; name that file itself to change it",
            path.display(),
            canonical.display()
        ));
    }
    match fs::symlink_metadata(&canonical) {
        Ok(metadata) => regular(path, &canonical, &metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if is_special(&canonical) {
                return Err(format!("{} cannot contain files", path.display()));
            }
        }
        Err(error) => return Err(why(error)),
    }
    Ok(canonical)
}

/// The path of a file that exists, without symbolic links.
///
/// # Errors
/// When it cannot be reached.
pub(super) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path)?;
    // Windows writes it in a form that not all programs know.
    let plain = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    Ok(match plain {
        Some(plain) if !plain.starts_with(r"UNC\") => plain.into(),
        _ => path,
    })
}

/// The real path of a file that need not exist: its symbolic links are followed as far as the system would follow
/// them to create it. Components that do not exist are kept.
///
/// # Errors
/// When the links form a loop, or a folder cannot be read.
pub(super) fn canonical(path: &Path) -> io::Result<PathBuf> {
    match real_path(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut links = MAX_LINKS;
            resolve_links(path, &mut links).map(|(path, _)| path)
        }
        canonical => canonical,
    }
}

/// As [`canonical`], and whether the last component is a symbolic link. `links` is how many may be followed.
fn resolve_links(path: &Path, links: &mut usize) -> io::Result<(PathBuf, bool)> {
    let mut path = path.to_owned();
    let mut linked = false;
    loop {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok((normalize(&path), linked));
        };
        let parent = match real_path(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                resolve_links(parent, links)?.0
            }
            canonical => canonical?,
        };
        path = parent.join(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                let circle = || io::Error::other("its symbolic links form a loop");
                *links = links.checked_sub(1).ok_or_else(circle)?;
                linked = true;
                path = parent.join(fs::read_link(&path)?);
            }
            _ => return Ok((path, linked)),
        }
    }
}

impl Developer {
    /// Lists the files and folders of a directory, one a line.
    pub(super) fn list(&self, folder: &Path) -> Result<String, String> {
        const MOST: usize = 1_000;
        let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
        let mut names = Vec::new();
        for entry in entries.flatten().take(100_000) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().ok();
            names.push(match kind {
                Some(kind) if kind.is_dir() => format!("{name}/"),
                Some(kind) if kind.is_symlink() => format!("{name}@"),
                _ => name,
            });
        }
        names.sort();
        let left_out = names.len().saturating_sub(MOST);
        names.truncate(MOST);
        let mut text = format!("### {}\n{}\n", folder.display(), names.join("\n"));
        if left_out > 0 {
            text.push_str(&format!("({left_out} more are not shown)\n"));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
