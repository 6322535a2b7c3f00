//! Sessions in a store of the program: what looks like folders and files to the core is documents there.
//!
//! A folder is what is before the slash in the name of a document, or was created and is empty. Only this process writes,
//! so the versions of documents are counted here, and locks are a set of paths.
//!
//! A deletion takes no lock of the session. So whoever writes into a folder locks the folder, and fails if it was
//! removed. What was in it besides `session.json` is left over until the store has removed it, also after a new start.

use crate::storage::{Caught, Storage};
use crate::store::disk::{Disk, Handle};
use crate::store::session_file_names::{MESSAGES, SESSION};
use crate::store::{Error, Result, Sessions};
use crate::sys::fs::Stamp;
use crate::sys::lock;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs::TryLockError;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

/// The sessions in a store, for [`Stores::sessions`](crate::agent::Stores::sessions). The large outputs of tools, which
/// these read as files, are cut off instead.
pub fn sessions(storage: impl Storage) -> Sessions {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    // A path for errors and locks, different from that of other stores.
    let root = PathBuf::from(format!("store {}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let disk = StorageDisk(Arc::new(Shared {
        storage: Box::new(Caught(storage)),
        root: root.clone(),
        state: Mutex::default(),
        locks: Mutex::default(),
        removal: Mutex::default(),
    }));
    Sessions::on(Arc::new(disk), root)
}

/// The name and the content of the document in a mark. That is a folder which the core creates to keep the id of a
/// deleted session from being given again; as an empty one, it would end with the process.
const MARK: (&str, &[u8]) = ("mark", b"deleted\n");

/// See the [module](self).
#[derive(Debug)]
struct StorageDisk(Arc<Shared>);

struct Shared {
    storage: Box<dyn Storage>,
    root: PathBuf,
    /// `None` until it is needed.
    state: Mutex<Option<State>>,
    locks: Mutex<BTreeSet<PathBuf>>,
    /// Held while folders are created or removed. It is taken first, then the lock of a folder, then that of the state.
    removal: Mutex<()>,
}

/// Whether a folder still exists; locked while something in it changes.
type Folder = Arc<Mutex<bool>>;

/// What is in the store.
#[derive(Default)]
struct State {
    folders: BTreeMap<String, Folder>,
    /// Increases with each folder that is created or removed.
    folders_version: u64,
    /// Those in folders.
    documents: BTreeMap<String, Document>,
    /// The names of documents of removed folders, which are still to be removed.
    left_over: BTreeSet<String>,
}

/// A version of a document, which never comes back.
#[derive(Clone, Copy, Default)]
struct Document {
    version: u64,
    /// In bytes, if it is known.
    len: Option<u64>,
}

/// What a path means.
enum Place {
    Root,
    Folder(String),
    /// The folder, and the name of the document or lock.
    File(String, String),
}

impl Shared {
    fn place(&self, path: &Path) -> io::Result<Place> {
        let inside = path.strip_prefix(&self.root).ok();
        let parts = inside.and_then(|it| it.iter().map(OsStr::to_str).collect::<Option<Vec<_>>>());
        let parts = parts.ok_or(ErrorKind::NotFound)?;
        // The names of documents are the same on every system.
        Ok(match parts[..] {
            [] => Place::Root,
            [folder] => Place::Folder(folder.to_owned()),
            [folder, ..] => Place::File(folder.to_owned(), parts.join("/")),
        })
    }

    /// The folder and name of a document.
    fn file(&self, path: &Path) -> io::Result<(String, String)> {
        match self.place(path)? {
            Place::File(folder, name) => Ok((folder, name)),
            Place::Root | Place::Folder(_) => Err(ErrorKind::IsADirectory.into()),
        }
    }

    fn state(&self) -> io::Result<Guard<'_>> {
        let mut state = lock(&self.state);
        if state.is_none() {
            let names: BTreeSet<String> = self.storage.names()?.into_iter().collect();
            let mut read = State::default();
            for name in &names {
                if let Some((folder, file)) = name.split_once('/') {
                    if is_of_no_session(folder, file, &names) {
                        read.left_over.insert(name.clone());
                        continue;
                    }
                    read.folders
                        .entry(folder.to_owned())
                        .or_insert_with(new_folder);
                    read.documents.insert(name.clone(), Document::default());
                }
            }
            read.left_over
                .retain(|name| match self.storage.remove(name) {
                    Ok(()) => false,
                    Err(error) => {
                        warn_of_left_over(&error);
                        true
                    }
                });
            *state = Some(read);
        }
        Ok(Guard(state))
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        let place = self.place(path)?;
        let mut state = self.state()?;
        let known = state.get();
        let exists = |folder| (known.folders.contains_key(folder)).then_some(stamp_of(0, 0));
        let name = match &place {
            Place::Root => return Ok(Some(stamp_of(known.folders_version, 0))),
            Place::Folder(folder) => return Ok(exists(folder)),
            Place::File(folder, name) if is_lock(name) => return Ok(exists(folder)),
            Place::File(_, name) => name,
        };
        match known.documents.get(name).copied() {
            None => Ok(None),
            Some(Document {
                version,
                len: Some(len),
            }) => Ok(Some(stamp_of(version, len))),
            Some(_) => {
                drop(state);
                Ok(self.read(name)?.map(|(_, stamp)| stamp))
            }
        }
    }

    /// The content of a document and the state that it had before it was read.
    fn read(&self, name: &str) -> io::Result<Option<(Vec<u8>, Stamp)>> {
        let known = self.state()?.get().documents.get(name).copied();
        let (Some(known), Some(content)) = (known, self.storage.read(name)?) else {
            return Ok(None);
        };
        let len = content.len() as u64;
        if let Some(now) = self.state()?.get().documents.get_mut(name)
            && now.version == known.version
        {
            now.len = Some(len);
        }
        Ok(Some((content, stamp_of(known.version, len))))
    }

    /// Notes a write, after which a document has this length, unless that is not known. Returns its new state.
    fn wrote(&self, name: &str, len: Option<u64>) -> io::Result<Stamp> {
        let mut state = self.state()?;
        let document = state.get().documents.entry(name.to_owned()).or_default();
        document.version += 1;
        document.len = len;
        Ok(stamp_of(document.version, len.unwrap_or_default()))
    }

    /// The folder of this name, if it exists.
    fn folder(&self, name: &str) -> io::Result<Option<Folder>> {
        Ok(self.state()?.get().folders.get(name).cloned())
    }

    /// Replaces a document and returns its new state. Fails if its folder does not exist any more.
    fn replace(&self, folder: &Folder, name: &str, content: &[u8]) -> io::Result<Stamp> {
        let _exists = existing(folder)?;
        let written = self.storage.replace(name, content);
        if let Err(error) = written {
            if self.storage.read(name)?.is_some() {
                self.wrote(name, None)?;
            }
            return Err(error);
        }
        self.wrote(name, Some(content.len() as u64))
    }

    /// Creates a folder, and the document of one that is a mark.
    fn create_dir(&self, folder: String) -> io::Result<()> {
        let _held = lock(&self.removal);
        if let Err(error) = self.remove_left_over() {
            warn_of_left_over(&error);
        }
        let begin = format!("{folder}/");
        {
            let mut state = self.state()?;
            let known = state.get();
            // What is left over must not become part of a new session.
            let is_left_over = known.left_over.iter().any(|name| name.starts_with(&begin));
            if is_left_over || known.folders.contains_key(&folder) {
                return Err(ErrorKind::AlreadyExists.into());
            }
        }
        if folder.starts_with('.') {
            let name = begin + MARK.0;
            self.storage.replace(&name, MARK.1)?;
            self.wrote(&name, Some(MARK.1.len() as u64))?;
        }
        let mut state = self.state()?;
        let state = state.get();
        state.folders.insert(folder, new_folder());
        state.folders_version += 1;
        Ok(())
    }

    /// Removes the `session.json` of a folder, and with that the folder: without it, there is no session. Its other
    /// documents are left over. The lock for removals must be held.
    fn take_away(&self, folder: &str) -> io::Result<()> {
        let known = self.folder(folder)?.ok_or(ErrorKind::NotFound)?;
        let mut exists = existing(&known)?;
        let begin = format!("{folder}/");
        let inside: Vec<String> = {
            let mut state = self.state()?;
            let documents = state.get().documents.range(begin.clone()..);
            let inside = documents.take_while(|(name, _)| name.starts_with(&begin));
            inside.map(|(name, _)| name.clone()).collect()
        };
        let session = begin + SESSION;
        if inside.contains(&session) {
            self.storage.remove(&session)?;
        }
        *exists = false;
        let mut state = self.state()?;
        let state = state.get();
        for name in inside {
            state.documents.remove(&name);
            if name != session {
                state.left_over.insert(name);
            }
        }
        state.folders.remove(folder);
        state.folders_version += 1;
        Ok(())
    }

    /// Removes what is left over, as far as possible. The lock for removals must be held.
    fn remove_left_over(&self) -> io::Result<()> {
        let names = self.state()?.get().left_over.clone();
        let mut outcome = Ok(());
        for name in names {
            match self.storage.remove(&name) {
                Ok(()) => {
                    self.state()?.get().left_over.remove(&name);
                }
                failed => outcome = failed,
            }
        }
        outcome
    }

    /// Removes a folder if it exists, and what is left over.
    fn remove(&self, path: &Path) -> io::Result<()> {
        let Place::Folder(folder) = self.place(path)? else {
            return Err(ErrorKind::NotFound.into());
        };
        let _held = lock(&self.removal);
        if self.folder(&folder)?.is_some() {
            self.take_away(&folder)?;
        }
        self.remove_left_over()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

/// The state, which has been read.
struct Guard<'s>(MutexGuard<'s, Option<State>>);

impl Guard<'_> {
    fn get(&mut self) -> &mut State {
        self.0.get_or_insert_default()
    }
}

/// A folder that exists.
fn new_folder() -> Folder {
    Arc::new(Mutex::new(true))
}

/// Locks a folder for a change in it.
///
/// # Errors
/// [`ErrorKind::NotFound`] if it was removed.
fn existing(folder: &Folder) -> io::Result<MutexGuard<'_, bool>> {
    let exists = lock(folder);
    if *exists {
        Ok(exists)
    } else {
        Err(ErrorKind::NotFound.into())
    }
}

/// Whether a document, one of `names`, has the messages of a session that does not exist: its deletion was interrupted,
/// or its creation. Documents that are not gosling's are kept.
fn is_of_no_session(folder: &str, file: &str, names: &BTreeSet<String>) -> bool {
    let is_digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    let id = folder.split_once('_');
    let is_id = id.is_some_and(|(day, number)| is_digits(day) && is_digits(number));
    is_id && file == MESSAGES && !names.contains(&format!("{folder}/{SESSION}"))
}

fn warn_of_left_over(error: &io::Error) {
    log::warn!("messages of deleted sessions stay in the store for now reason={error}");
}

/// The state of a version of something.
fn stamp_of(version: u64, len: u64) -> Stamp {
    Stamp {
        modified: SystemTime::UNIX_EPOCH,
        len,
        inode: version,
        changed: (0, 0),
    }
}

/// Whether the name is that of a lock, which no document has.
fn is_lock(name: &str) -> bool {
    name.contains("/.")
}

impl Disk for StorageDisk {
    fn stamp(&self, path: &Path) -> Result<Option<Stamp>> {
        self.0.stamp(path).map_err(Error::io("read", path))
    }

    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>> {
        self.open_log(path, false)
    }

    fn open_log(&self, path: &Path, create: bool) -> Result<Option<Box<dyn Handle>>> {
        let open = || -> io::Result<Option<Box<dyn Handle>>> {
            let (folder, name) = self.0.file(path)?;
            let Some(folder) = self.0.folder(&folder)? else {
                return Ok(None);
            };
            let (bytes, stamp) = match self.0.read(&name)? {
                Some(read) => read,
                None if create => (Vec::new(), stamp_of(0, 0)),
                None => return Ok(None),
            };
            let bytes = Cursor::new(bytes);
            Ok(Some(Box::new(OpenDocument {
                disk: self.0.clone(),
                folder,
                path: path.to_owned(),
                name,
                content: Mutex::new(Content { bytes, stamp }),
            })))
        };
        open().map_err(Error::io("open", path))
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        let (folder, name) = self.0.file(path)?;
        let bytes = Cursor::default();
        let stamp = stamp_of(0, 0);
        Ok(Box::new(OpenDocument {
            disk: self.0.clone(),
            folder: self.0.folder(&folder)?.ok_or(ErrorKind::NotFound)?,
            path: path.to_owned(),
            name,
            content: Mutex::new(Content { bytes, stamp }),
        }))
    }

    fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        let replace = || {
            let (folder, name) = self.0.file(path)?;
            let folder = self.0.folder(&folder)?.ok_or(ErrorKind::NotFound)?;
            self.0.replace(&folder, &name, content).map(drop)
        };
        replace().map_err(Error::io("replace", path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        match self.0.place(path)? {
            Place::Folder(folder) => self.0.create_dir(folder),
            Place::Root | Place::File(..) => Err(ErrorKind::Unsupported.into()),
        }
    }

    fn ensure_dir(&self, path: &Path) -> Result<()> {
        match self.0.place(path) {
            Ok(Place::Root) => Ok(()),
            _ => Err(Error::io("make the folder", path)(
                ErrorKind::Unsupported.into(),
            )),
        }
    }

    fn names(&self, _: &Path) -> io::Result<Vec<String>> {
        Ok(self.0.state()?.get().folders.keys().cloned().collect())
    }

    fn rename(&self, from: &Path, _: &Path) -> io::Result<()> {
        // The core renames what it removes then; what is left over needs no name for that.
        let Place::Folder(folder) = self.0.place(from)? else {
            return Err(ErrorKind::NotFound.into());
        };
        let _held = lock(&self.0.removal);
        self.0.take_away(&folder)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn sync_names(&self, _: &Path) -> Result<()> {
        Ok(())
    }
}

/// A document as it was when it was opened, with what was written since; or a lock.
struct OpenDocument {
    disk: Arc<Shared>,
    folder: Folder,
    path: PathBuf,
    name: String,
    content: Mutex<Content>,
}

struct Content {
    bytes: Cursor<Vec<u8>>,
    /// The state that the document had with these bytes.
    stamp: Stamp,
}

impl Handle for OpenDocument {
    fn stamp(&self) -> io::Result<Stamp> {
        if !is_lock(&self.name) {
            return Ok(lock(&self.content).stamp);
        }
        let stamp = self.disk.stamp(&self.path)?;
        Ok(stamp.unwrap_or(stamp_of(0, 0)))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        // An append that has failed has left nothing, unless the store does not keep to its contract.
        let stored = self.disk.storage.read(&self.name)?;
        match stored {
            Some(stored) if stored.len() as u64 > len => {
                let len = usize::try_from(len).unwrap_or(usize::MAX).min(stored.len());
                let kept = &stored[..len];
                let stamp = self.disk.replace(&self.folder, &self.name, kept)?;
                let mut content = lock(&self.content);
                *content.bytes.get_mut() = kept.to_owned();
                content.stamp = stamp;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> std::result::Result<(), TryLockError> {
        if lock(&self.disk.locks).insert(self.path.clone()) {
            Ok(())
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    fn unlock(&self) -> io::Result<()> {
        lock(&self.disk.locks).remove(&self.path);
        Ok(())
    }

    fn describe(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
}

impl Read for OpenDocument {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        lock(&self.content).bytes.read(buffer)
    }
}

impl Seek for OpenDocument {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        lock(&self.content).bytes.seek(to)
    }
}

impl Write for OpenDocument {
    /// Appends all of it at once. Fails if the folder does not exist any more.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let _exists = existing(&self.folder)?;
        let mut content = lock(&self.content);
        let Content { bytes, stamp } = &mut *content;
        let bytes = bytes.get_mut();
        if let Err(error) = self.disk.storage.append(&self.name, lines) {
            if !bytes.is_empty() {
                self.disk.wrote(&self.name, None)?;
            }
            return Err(error);
        }
        bytes.extend_from_slice(lines);
        *stamp = self.disk.wrote(&self.name, Some(bytes.len() as u64))?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for OpenDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenDocument")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
