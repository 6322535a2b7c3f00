//! Sessions in a store of the program: what looks like folders and files to the core is documents there.
//!
//! A folder is what is before the slash in the name of a document, or was created and is empty. Only this process writes,
//! so the versions of documents are counted here, and locks are a set of paths.

use crate::storage::Storage;
use crate::store::disk::{Disk, Handle};
use crate::store::{Error, Result, Sessions};
use crate::sys::fs::Stamp;
use crate::sys::lock;
use std::collections::{BTreeMap, BTreeSet};
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
        storage: Box::new(storage),
        root: root.clone(),
        state: Mutex::default(),
        locks: Mutex::default(),
    }));
    Sessions::on(Arc::new(disk), root)
}

/// See the [module](self).
#[derive(Debug)]
struct StorageDisk(Arc<Shared>);

struct Shared {
    storage: Box<dyn Storage>,
    root: PathBuf,
    /// `None` until it is needed.
    state: Mutex<Option<State>>,
    locks: Mutex<BTreeSet<PathBuf>>,
}

/// What is in the store.
#[derive(Default)]
struct State {
    folders: BTreeSet<String>,
    /// Increases with each folder that is created or removed.
    folders_version: u64,
    documents: BTreeMap<String, Document>,
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
        let inside = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        let inside = inside.ok_or(ErrorKind::NotFound)?;
        Ok(match inside.split_once('/') {
            _ if inside.is_empty() => Place::Root,
            None => Place::Folder(inside.to_owned()),
            Some((folder, _)) => Place::File(folder.to_owned(), inside.to_owned()),
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
            let mut read = State::default();
            for name in self.storage.names()? {
                if let Some((folder, _)) = name.split_once('/') {
                    read.folders.insert(folder.to_owned());
                    read.documents.insert(name, Document::default());
                }
            }
            *state = Some(read);
        }
        Ok(Guard(state))
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        let place = self.place(path)?;
        let mut state = self.state()?;
        let known = state.get();
        let exists = |folder| (known.folders.contains(folder)).then_some(stamp_of(0, 0));
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

    /// Notes a write, after which a document has this length, unless that is not known.
    fn wrote(&self, name: &str, len: Option<u64>) -> io::Result<()> {
        let mut state = self.state()?;
        let document = state.get().documents.entry(name.to_owned()).or_default();
        document.version += 1;
        document.len = len;
        Ok(())
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let written = self.storage.replace(name, content);
        let len = written.is_ok().then_some(content.len() as u64);
        if written.is_ok() || self.storage.read(name)?.is_some() {
            self.wrote(name, len)?;
        }
        written
    }

    /// Removes a folder and its documents, `session.json` first: without it, there is no session.
    fn remove(&self, path: &Path) -> io::Result<()> {
        let Place::Folder(folder) = self.place(path)? else {
            return Err(ErrorKind::NotFound.into());
        };
        let begin = format!("{folder}/");
        let names: Vec<String> = {
            let mut state = self.state()?;
            if !state.get().folders.contains(&folder) {
                return Err(ErrorKind::NotFound.into());
            }
            let documents = state.get().documents.keys();
            let inside = documents.filter(|name| name.starts_with(&begin));
            inside.rev().cloned().collect()
        };
        for name in names {
            self.storage.remove(&name)?;
            self.state()?.get().documents.remove(&name);
        }
        let mut state = self.state()?;
        state.get().folders.remove(&folder);
        state.get().folders_version += 1;
        Ok(())
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
            let content = match self.0.read(&name)? {
                Some((content, _)) => content,
                None if create && self.0.state()?.get().folders.contains(&folder) => Vec::new(),
                None => return Ok(None),
            };
            Ok(Some(Box::new(OpenDocument {
                disk: self.0.clone(),
                path: path.to_owned(),
                name,
                content: Cursor::new(content),
            })))
        };
        open().map_err(Error::io("open", path))
    }

    fn open_lock(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        let (folder, name) = self.0.file(path)?;
        if !self.0.state()?.get().folders.contains(&folder) {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(Box::new(OpenDocument {
            disk: self.0.clone(),
            path: path.to_owned(),
            name,
            content: Cursor::default(),
        }))
    }

    fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        let replaced = (self.0.file(path)).and_then(|(_, name)| self.0.replace(&name, content));
        replaced.map_err(Error::io("replace", path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let Place::Folder(folder) = self.0.place(path)? else {
            return Err(ErrorKind::Unsupported.into());
        };
        let mut state = self.0.state()?;
        let state = state.get();
        if !state.folders.insert(folder) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.folders_version += 1;
        Ok(())
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
        Ok(self.0.state()?.get().folders.iter().cloned().collect())
    }

    fn rename(&self, from: &Path, _: &Path) -> io::Result<()> {
        // The core renames what it removes then.
        self.0.remove(from)
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
    path: PathBuf,
    name: String,
    content: Cursor<Vec<u8>>,
}

impl Handle for OpenDocument {
    fn stamp(&self) -> io::Result<Stamp> {
        let stamp = self.disk.stamp(&self.path)?;
        Ok(stamp.unwrap_or(stamp_of(0, 0)))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        // An append that has failed has left nothing, unless the store does not keep to its contract.
        let stored = self.disk.storage.read(&self.name)?;
        match stored {
            Some(stored) if stored.len() as u64 > len => {
                let len = usize::try_from(len).unwrap_or(usize::MAX).min(stored.len());
                self.disk.replace(&self.name, &stored[..len])
            }
            _ => Ok(()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> std::result::Result<(), TryLockError> {
        match lock(&self.disk.locks).insert(self.path.clone()) {
            true => Ok(()),
            false => Err(TryLockError::WouldBlock),
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
        self.content.read(buffer)
    }
}

impl Seek for OpenDocument {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.content.seek(to)
    }
}

impl Write for OpenDocument {
    /// Appends all of it at once.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let written = self.disk.storage.append(&self.name, lines);
        let content = self.content.get_mut();
        if written.is_ok() {
            content.extend_from_slice(lines);
        }
        let len = written.is_ok().then_some(content.len() as u64);
        if written.is_ok() || !content.is_empty() {
            self.disk.wrote(&self.name, len)?;
        }
        written.map(|()| lines.len())
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
