//! Writes files without losing data. Where a new file replaces the old one, the path has either the old content
//! or the new one, whatever fails. A file that is written in place ([`write`] says which ones) is restored if
//! writing fails; if the process is killed during that, the file has a mixture, and a backup of the old content
//! stays behind as `.NAME.HEX` in the same folder, or in the folder for temporary files where no file can be
//! created in the same one.

use super::client_files::Files;
use super::undo_history::{Edit, History};
use crate::sys;
use std::env;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Gives the file the new text, where `before` was its text. The edit is recorded first, so that it can be undone
/// whatever fails.
///
/// # Errors
/// Why the file cannot be written.
pub(super) fn apply(
    files: &Files<'_>,
    history: &mut History,
    real: &Path,
    before: Option<String>,
    text: &str,
) -> Result<(), String> {
    apply_uncommitted(files, history, real, before, Some(text), None)?;
    history.commit(real);
    Ok(())
}

/// The same for one of several edits: the caller calls [`History::commit`] once all of them are made. Without a text,
/// the file is removed; the mode is that of the file before, for a new one.
///
/// # Errors
/// Why the file cannot be written or removed.
pub(super) fn apply_uncommitted(
    files: &Files<'_>,
    history: &mut History,
    real: &Path,
    before: Option<String>,
    text: Option<&str>,
    mode: Option<&Permissions>,
) -> Result<(), String> {
    let mut edit = Edit::new(before, text);
    edit.mode = mode.filter(|_| text.is_none()).cloned();
    history.begin(real, edit);
    write_or_remove(files, real, text, mode)
        .inspect_err(|_| history.edit_failed(real, files.current_state(real)))
}

/// Undoes the last edit of the file and removes it from the history.
///
/// # Errors
/// Why the file cannot be restored; the edit stays in the history.
pub(super) fn undo(files: &Files<'_>, history: &mut History, real: &Path) -> Result<(), String> {
    if let Some(edit) = history.last(real) {
        let is_there = fs::symlink_metadata(real).is_ok();
        if is_there || edit.before.is_some() {
            write_or_remove(files, real, edit.before.as_deref(), edit.mode.as_ref())?;
        }
        history.forget_last(real);
    }
    Ok(())
}

fn write_or_remove(
    files: &Files<'_>,
    real: &Path,
    text: Option<&str>,
    mode: Option<&Permissions>,
) -> Result<(), String> {
    files.check_not_cancelled()?;
    let Some(text) = text else {
        return fs::remove_file(real)
            .map_err(|error| format!("{} cannot be removed: {error}", real.display()));
    };
    let is_there = real.exists();
    if !files.has_written(real, text)? {
        write(real, text)?;
    }
    match mode.filter(|_| !is_there) {
        Some(mode) => fs::set_permissions(real, mode.clone())
            .map_err(|error| format!("the mode of {} cannot be set: {error}", real.display())),
        None => Ok(()),
    }
}

/// Replaces the content of a file completely or not at all. Keeps mode, owner and extended
/// attributes, and creates missing folders.
/// `real` comes from [`write_target`](super::text_files::write_target).
///
/// Normally a new file replaces the old one. Four kinds of files are written in place, with a backup during that
/// time: those with several hard links, those whose owner a new file could not get, those with an access control
/// list or other extended attributes that a new file in the folder does not have, and those in a folder where no
/// file can be created.
///
/// # Errors
/// Why the file cannot be written. Its content is unchanged, unless the error names a backup.
pub(super) fn write(real: &Path, content: &str) -> Result<(), String> {
    let failed = |error| failed(real, &error);
    let folder = real.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(failed)?;
    let before = match sys::fs::open_regular(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        before => Some(before.map_err(failed)?),
    };
    if before.is_some() {
        // A replacement by a new file would bypass a mode that forbids writing.
        match sys::fs::open_regular_with(OpenOptions::new().write(true), real) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(failed(error));
            }
            _ => {}
        }
    }
    let names = before.as_ref().map(sys::file_owner::has_other_names);
    if names.transpose().map_err(failed)? == Some(true) {
        return write_in_place(real, folder, content.as_bytes());
    }
    match replace(real, folder, content.as_bytes(), before.as_ref()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && before.is_some() => {
            write_in_place(real, folder, content.as_bytes())
        }
        done => done.map_err(failed),
    }
}

fn failed(real: &Path, error: &io::Error) -> String {
    format!("{} cannot be written: {error}", real.display())
}

fn replace(real: &Path, folder: &Path, content: &[u8], before: Option<&File>) -> io::Result<()> {
    let temporary_path = temporary_path(real, folder)?;
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary_path)?;
        if let Some(before) = before {
            let metadata = before.metadata()?;
            if !sys::file_owner::copy_owner(&file, &metadata)
                || sys::file_owner::attributes(&file)? != sys::file_owner::attributes(before)?
            {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            file.set_permissions(metadata.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        sys::fs::rename(&temporary_path, real)
    })();
    written.inspect_err(|_| drop(fs::remove_file(&temporary_path)))
}

/// The path of a file that does not exist yet.
fn temporary_path(real: &Path, folder: &Path) -> io::Result<PathBuf> {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(60).collect();
    Ok(folder.join(format!(".{name}.{}", sys::random_hex(6)?)))
}

fn write_in_place(real: &Path, folder: &Path, content: &[u8]) -> Result<(), String> {
    let failed = |error| failed(real, &error);
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let mut file = sys::fs::open_regular_with(&mut options, real).map_err(failed)?;
    let copy = Backup::of(&mut file, real, folder).map_err(|error| {
        let path = real.display();
        format!("{path} cannot be written, because no backup can be made: {error}")
    })?;
    let Err(error) = overwrite_contents(&mut file, content, copy.len) else {
        return Ok(());
    };
    match copy.restore(&mut file) {
        Ok(()) => Err(failed(error)),
        Err(again) => Err(format!(
            "{} was not written completely ({error}) and cannot be restored ({again}); its old content is in {}",
            real.display(),
            copy.keep().display()
        )),
    }
}

/// Overwrites a file of `len` bytes with `content`. The part beyond `len` is written first: if the disk has no
/// room for it, the rest of the file is untouched.
fn overwrite_contents(file: &mut File, content: &[u8], len: u64) -> io::Result<()> {
    let shared = usize::try_from(len).map_or(content.len(), |len| len.min(content.len()));
    let (beginning, rest) = content.split_at(shared);
    if !rest.is_empty() {
        file.seek(io::SeekFrom::Start(shared as u64))?;
        file.write_all(rest)?;
        file.sync_data()?;
    }
    file.rewind()?;
    file.write_all(beginning)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

/// A copy of the old content while a file is written in place. Dropping it removes the copy.
struct Backup {
    path: PathBuf,
    len: u64,
    is_kept: bool,
}

impl Backup {
    /// A durable copy, in the same folder or in the one for temporary files.
    fn of(file: &mut File, real: &Path, folder: &Path) -> io::Result<Self> {
        Backup::within(folder, file, real).or_else(|first| {
            let second = Backup::within(&env::temp_dir(), file, real);
            second.map_err(|_| first)
        })
    }

    fn within(folder: &Path, file: &mut File, real: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let path = temporary_path(real, folder)?;
        let mut made = sys::fs::private(&mut options).open(&path)?;
        let mut copy = Backup {
            path,
            len: 0,
            is_kept: false,
        };
        sys::file_owner::copy_rights(file, &copy.path)?;
        file.rewind()?;
        copy.len = io::copy(file, &mut made)?;
        made.sync_all()?;
        Ok(copy)
    }

    fn restore(&self, file: &mut File) -> io::Result<()> {
        let mut copy = sys::fs::open_regular(&self.path)?.take(self.len);
        file.rewind()?;
        io::copy(&mut copy, file)?;
        file.set_len(self.len)?;
        file.sync_all()
    }

    fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}
