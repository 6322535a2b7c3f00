//! Sessions: a folder each, with `session.json` (replaced) and `messages.jsonl` (append-only).
//!
//! Creating a session costs one sync, that of the file's content, so that a session is complete or absent. Its
//! folder entry becomes durable with the first message: a power failure may remove a session without messages,
//! and two more syncs would add half to the time of creating one (0.4 to 0.6 ms on ext4). All later writes are
//! fully durable before they are acknowledged.

mod session_json;
mod session_list;

use super::disk::{Disk, Files, Handle};
use super::journal::{self, Count, Journal, JournalEntry};
use super::session_cache::{SessionCache, StoredSession, Summary};
use super::session_file_names::{MESSAGES, SESSION, TOOL_OUTPUTS};
use super::turn_lock::{self, TurnLock};
use super::{Error, Paths, Result, file_lock, files};
use crate::activity::Caller;
use crate::conversation::{
    ExtensionData, ImportReport, Message, RecipeOrigin, Session, SessionType,
};
use crate::extension::sandbox::Level;
use crate::sys::fs::{Stamp, open_regular_with, private};
use crate::sys::{clock, lock};
use serde_json::{Map, Value};
use session_json::{parse, render};
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::{Duration, SystemTime};

const LOCK: &str = ".lock";
const TURN: &str = ".turn";
const DELETED: &str = ".deleted-";

/// Goose's own sessions, which are not read.
const GOOSE_DATABASE: &str = "sessions.db";
/// The numbers of new sessions are higher where that exists: Goose counts the ids of a day in its database alone, and
/// those of its oldest sessions end with their time of day (`HHMMSS`). So neither assigns an id of the other.
const GOOSE_NUMBERS: u32 = 1_000_000;

/// Larger session files are not read. They contain recipes and extensions, but no messages.
const MAX_SIZE: u64 = 64 << 20;

/// How many logs are counted on from where they ended. Those of others are read again.
const MAX_COUNTS: usize = 10_000;

/// The sessions of one folder, shared by threads and with other processes.
///
/// Only ids of the form `YYYYMMDD_N` are valid, whatever other folders exist.
#[derive(Debug)]
pub struct Sessions {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    last: Mutex<Option<LastId>>,
    counts: Mutex<HashMap<String, Count>>,
    cache: SessionCache,
    names: Mutex<Option<Names>>,
    filter: OnceLock<Arc<dyn SessionFilter>>,
    /// What the numbers of new sessions leave when they are divided by the second.
    remainder: OnceLock<(u32, u32)>,
}

/// Which sessions the client that asks in this thread may see in lists.
pub trait SessionFilter: fmt::Debug + Send + Sync {
    /// Whether it may see the sessions that a client with the key `owner` has begun; `None` is that of the server.
    fn is_visible(&self, owner: Option<&str>) -> bool;
}

/// The ids of all sessions, and the folder's state when they were read.
type Names = (Stamp, Arc<[Box<str>]>);

/// The id that was assigned last, and the folder's state then. While that is unchanged, no other process has
/// created a session, and the next number is free.
#[derive(Debug)]
struct LastId {
    day: String,
    number: u32,
    root: Option<Stamp>,
}

/// The initial values of a new session.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// The working directory of tools and extensions.
    pub working_dir: PathBuf,
    /// The name in lists; `New Chat` if `None`.
    pub name: Option<String>,
    /// What kind of session it is.
    pub session_type: SessionType,
    /// The configurations of its extensions.
    pub extensions: Vec<Value>,
    /// The names of those that a client has brought along.
    pub client_extensions: Vec<String>,
    /// The folders that it works in besides its working directory.
    pub additional_dirs: Vec<PathBuf>,
    /// The least that walls around its extensions keep out.
    pub sandbox: Level,
    /// The parts of its recipe that were not imported.
    pub imported: ImportReport,
    /// Its recipe.
    pub recipe: Option<Value>,
    /// The values for the recipe's parameters.
    pub user_recipe_values: Option<Map<String, Value>>,
    /// The schedule that starts the session.
    pub schedule_id: Option<String>,
    /// Where the recipe comes from, if that is to be stored.
    pub recipe_origin: Option<RecipeOrigin>,
}

impl Sessions {
    /// The sessions of `paths`. Does no I/O.
    pub fn new(paths: &Paths) -> Self {
        Self::on(Arc::new(Files), paths.data.join("sessions"))
    }

    /// The sessions in the folder `root` of a disk. Does no I/O.
    pub fn on(disk: Arc<dyn Disk>, root: PathBuf) -> Self {
        Self {
            disk,
            root,
            last: Mutex::new(None),
            counts: Mutex::new(HashMap::new()),
            cache: SessionCache::default(),
            names: Mutex::new(None),
            filter: OnceLock::new(),
            remainder: OnceLock::new(),
        }
    }

    /// Gives new sessions the numbers that leave `remainder` when they are divided by `divisor`. Only the first call has
    /// an effect.
    pub fn number_with(&self, remainder: u32, divisor: u32) {
        let _ = self.remainder.set((remainder, divisor));
    }

    /// The lowest number of a new session that is higher than `number`.
    fn number_after(&self, number: u32) -> u32 {
        let (remainder, divisor) = self.remainder.get().copied().unwrap_or((0, 1));
        let next = number + 1;
        next + (remainder + divisor - next % divisor) % divisor
    }

    /// Leaves out of lists and searches what `filter` says. Only the first call has an effect.
    pub fn filter(&self, filter: Arc<dyn SessionFilter>) {
        let _ = self.filter.set(filter);
    }

    /// Checks that sessions can be created: creates a file beside them and removes it.
    ///
    /// # Errors
    /// [`Error::Io`], except for a full disk, which may get room again while existing sessions can be read.
    pub fn check_writable(&self) -> Result<()> {
        let probe = self.root.join(format!(".probe-{}", std::process::id()));
        let made = files::ensure_dir(&self.root).and_then(|()| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            let made = open_regular_with(private(&mut options), &probe);
            made.map_err(Error::io("write into", &self.root))
        });
        let _ = fs::remove_file(&probe);
        if self.goose_database().is_some() {
            self.warn_of_goose_database();
        }
        match made {
            Err(Error::Io { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                log::warn!(
                    "no room for sessions folder={:?} reason={source}",
                    self.root
                );
                Ok(())
            }
            made => made.map(drop),
        }
    }

    /// The database with sessions of Goose in the same folder, if there is one. It is not read.
    pub fn goose_database(&self) -> Option<PathBuf> {
        let path = self.root.join(GOOSE_DATABASE);
        fs::symlink_metadata(&path).is_ok().then_some(path)
    }

    fn warn_of_goose_database(&self) {
        static WARNED: Once = Once::new();
        let file = self.root.join(GOOSE_DATABASE);
        WARNED.call_once(|| {
            log::warn!(
                "sessions of Goose are not shown, because its database is not read file={file:?}"
            );
        });
    }

    /// Creates a session, whose number follows the highest of today, and is above those of Goose.
    ///
    /// # Errors
    /// [`Error::Io`]. No session exists then.
    pub fn create(&self, new: NewSession) -> Result<Session> {
        let mut extension_data = ExtensionData::default();
        extension_data.set_enabled(new.extensions);
        extension_data.set_client_extensions(&new.client_extensions);
        extension_data.set_additional_dirs(&new.additional_dirs);
        extension_data.set_sandbox(new.sandbox);
        extension_data.set_imported(&new.imported);
        if let Some(origin) = &new.recipe_origin {
            extension_data.set_recipe_origin(origin);
        }
        let session = Session {
            working_dir: new.working_dir,
            name: new.name.unwrap_or_else(|| "New Chat".to_owned()),
            session_type: new.session_type,
            extension_data,
            schedule_id: new.schedule_id,
            recipe: new.recipe,
            user_recipe_values: new.user_recipe_values,
            ..Session::default()
        };
        self.add(session, Vec::new())
    }

    /// Creates a session like `like`, with this conversation and its own id and times.
    ///
    /// # Errors
    /// [`Error::Io`]. No session exists then.
    pub fn add(&self, mut like: Session, conversation: Vec<JournalEntry>) -> Result<Session> {
        let (id, dir) = self.claim_id()?;
        let now = clock::now_rfc3339();
        let caller = Caller::current();
        (like.extension_data).set_owner(caller.key.get().map(String::as_str));
        let session = Session {
            id,
            created_at: now.clone(),
            updated_at: now,
            conversation: None,
            message_count: conversation
                .iter()
                .filter_map(JournalEntry::message)
                .count(),
            ..like
        };
        let path = dir.join(SESSION);
        // Messages first: a folder without `session.json` is not a session.
        let written = (self.write_entries(&session.id, &dir, conversation))
            .and_then(|()| render(&path, Map::new(), &session))
            .and_then(|content| self.disk.replace(&path, &content));
        if let Err(error) = written {
            let _ = self.disk.remove(&dir);
            return Err(error);
        }
        Ok(session)
    }

    /// The session `id` without its messages; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Broken`] when its file does not parse, [`Error::Io`] when it cannot be read.
    pub fn load(&self, id: &str) -> Result<Option<Session>> {
        let loaded = self.load_cached(id)?;
        Ok(loaded.map(|(_, session)| Session::clone(&session)))
    }

    /// As [`Sessions::load`], from the cache if the files have not changed.
    fn load_cached(&self, id: &str) -> Result<Option<(Arc<Summary>, Arc<StoredSession>)>> {
        let Some(dir) = self.dir(id) else {
            return Ok(None);
        };
        let path = dir.join(SESSION);
        let Some(file) = self.disk.stamp(&path)? else {
            return Ok(None);
        };
        let read_at = SystemTime::now();
        let known = self.cache.get(id, file);
        let count = self.count(id)?;
        let messages = count.map(|count| count.stamp());
        let (session, file, is_settled) = match known {
            Some((summary, Some(session))) if summary.messages == messages => {
                return Ok(Some((summary, session)));
            }
            Some((_, Some(session))) => (Session::clone(&session), file, true),
            _ => {
                let Some((content, file)) = self.read_file(&path)? else {
                    return Ok(None);
                };
                (parse(&content, &path)?, file, file.is_settled(read_at))
            }
        };
        let session = StoredSession::new(completed(id, session, count));
        let summary = Summary::new(&session, file, messages);
        if is_settled {
            self.cache.put(Arc::clone(&summary), &session);
        }
        Ok(Some((summary, session)))
    }

    /// The messages of the session `id`; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Broken`] when a line other than an incomplete last one is not JSON, [`Error::Io`].
    pub fn conversation(&self, id: &str) -> Result<Option<Vec<Message>>> {
        let file = self.dir_of_existing(id).map(|dir| dir.join(MESSAGES));
        file.map(|file| journal::read(&*self.disk, &file))
            .transpose()
    }

    /// As [`Sessions::conversation`], with the parts that are not messages.
    ///
    /// # Errors
    /// As [`Sessions::conversation`].
    pub fn entries_of(&self, id: &str) -> Result<Option<Vec<JournalEntry>>> {
        let file = self.dir_of_existing(id).map(|dir| dir.join(MESSAGES));
        file.map(|file| journal::read_entries(&*self.disk, &file))
            .transpose()
    }

    /// Applies `change` to the session `id` and returns it without its messages.
    ///
    /// Keeps the id, sets `updated_at` to now, and ignores changes of the messages. Fields that this version
    /// does not know stay in the file.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Broken`], [`Error::Locked`], [`Error::Io`]. The session is
    /// unchanged then.
    pub fn update(&self, id: &str, change: impl FnOnce(&mut Session)) -> Result<Session> {
        self.change(id, change, |dir| self.disk.sync_names(dir))
    }

    fn change(
        &self,
        id: &str,
        change: impl FnOnce(&mut Session),
        make_durable: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Session> {
        let dir = self.require_dir(id)?;
        let path = dir.join(SESSION);
        let _lock = self.lock(id, &dir)?;
        let read = self.read_file(&path)?;
        let (content, _) = read.ok_or_else(|| Error::not_found(id))?;
        let stored = parse(&content, &path)?;
        let mut session = self.complete(id, parse(&content, &path)?)?;
        change(&mut session);
        session.updated_at = clock::now_rfc3339();
        let new = render(&path, stored, &session)?;
        if new != content {
            self.disk.replace(&path, &new)?;
            make_durable(&dir)?;
        }
        self.complete(id, session)
    }

    /// Opens the message log of the session `id`. Reads the whole file.
    ///
    /// Does not set `updated_at`: the turn calls [`Sessions::update`] for its token counts anyway.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Broken`] when a line other than an incomplete last one is not JSON,
    /// [`Error::Locked`], [`Error::Io`].
    pub fn journal(&self, id: &str) -> Result<Journal> {
        let dir = self.require_dir(id)?;
        self.load_cached(id)?;
        Journal::open(&self.disk, id, &dir, MESSAGES, &dir.join(LOCK))
    }

    /// Ends a turn: makes the messages of `journal` durable and changes its session as [`Sessions::update`]
    /// does, with two content syncs only.
    ///
    /// After a power failure directly afterwards, the session may be in its state before the change, complete
    /// and with all messages.
    ///
    /// # Errors
    /// As [`Sessions::update`].
    pub fn end_turn(
        &self,
        journal: &mut Journal,
        change: impl FnOnce(&mut Session),
    ) -> Result<Session> {
        journal.sync_content()?;
        let session = self.change(journal.id(), change, |_| Ok(()))?;
        journal.sync_names()?;
        Ok(session)
    }

    /// Begins a turn of the session `id`. Until the returned lock is dropped, no other turn can begin, in this
    /// process or another. Waits at most `wait` for the end of another turn.
    ///
    /// # Errors
    /// [`Error::TurnInProgress`] when another turn is running, [`Error::SessionNotFound`], [`Error::Io`].
    pub fn lock_turn(&self, id: &str, wait: Duration) -> Result<TurnLock> {
        let lock = TurnLock::acquire(&*self.disk, self.require_dir(id)?.join(TURN), wait);
        lock.map_err(|error| journal::gone(id, error))
    }

    /// Checks that no other process runs a turn of the session `id`.
    ///
    /// # Errors
    /// [`Error::TurnInProgress`] when one is.
    pub fn check_no_turn_in_other_process(&self, id: &str) -> Result<()> {
        let file = self.dir(id).map(|dir| dir.join(TURN));
        match file.filter(|file| self.exists(file)) {
            Some(file) => turn_lock::check_not_held_elsewhere(&*self.disk, &file),
            None => Ok(()),
        }
    }

    /// Writes the full output of a tool to a new file in the folder of the session `id` and returns its path.
    /// `label` is part of the file's name.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Io`].
    pub fn store_tool_output(&self, id: &str, label: &str, text: &str) -> Result<PathBuf> {
        let dir = self.require_dir(id)?.join(TOOL_OUTPUTS);
        self.disk.ensure_dir(&dir)?;
        let label = label
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c));
        let label: String = label.take(64).collect();
        let unique = crate::sys::random_hex(8).map_err(Error::io("name a file in", &dir))?;
        let path = dir.join(format!("{unique}-{label}.txt"));
        self.disk.replace(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Deletes the session `id` with its messages; returns whether it existed.
    ///
    /// Atomic: the folder is renamed before its files are deleted, and the next creation of a session removes
    /// what a crash left. A marker folder keeps its number from being assigned again, until a higher number
    /// exists.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn delete(&self, id: &str) -> Result<bool> {
        let Some(dir) = self.dir(id).filter(|dir| self.exists(dir)) else {
            return Ok(false);
        };
        // First, so that a process that creates a folder of this name sees the marker: a client that still has
        // the id must not reach another session.
        let mark = self.mark(id);
        if let Err(error) = self.disk.create_dir(&mark)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(Error::io("make the folder", &mark)(error));
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let unique = now.unwrap_or_default().as_nanos();
        let doomed = self
            .root
            .join(format!("{DELETED}{id}-{}-{unique}", std::process::id()));
        let renamed = files::if_exists(self.disk.rename(&dir, &doomed));
        if renamed.map_err(Error::io("remove", &dir))?.is_none() {
            return Ok(false);
        }
        *lock(&self.names) = None;
        lock(&self.counts).remove(id);
        self.cache.forget(id);
        self.disk.sync_names(&self.root)?;
        let removed = files::if_exists(self.disk.remove(&doomed));
        removed.map_err(Error::io("remove", &doomed))?;
        Ok(true)
    }

    /// The marker that keeps the number of a deleted session from being assigned again.
    fn mark(&self, id: &str) -> PathBuf {
        self.root.join(format!("{DELETED}{id}"))
    }

    /// The folder of the session `id`, which may not exist; `None` if no session has such an id.
    pub fn dir(&self, id: &str) -> Option<PathBuf> {
        parse_id(id).map(|_| self.root.join(id))
    }

    fn dir_of_existing(&self, id: &str) -> Option<PathBuf> {
        self.dir(id).filter(|dir| self.exists(&dir.join(SESSION)))
    }

    fn require_dir(&self, id: &str) -> Result<PathBuf> {
        self.dir_of_existing(id).ok_or_else(|| Error::not_found(id))
    }

    fn lock(&self, id: &str, dir: &Path) -> Result<file_lock::FileLock> {
        let lock = file_lock::LockFile::open_on(&*self.disk, &dir.join(LOCK));
        let lock = lock.and_then(|lock| lock.acquire(file_lock::LOCK_TIMEOUT));
        lock.map_err(|error| journal::gone(id, error))
    }

    /// Sets the fields that are not stored.
    fn complete(&self, id: &str, session: Session) -> Result<Session> {
        Ok(completed(id, session, self.count(id)?))
    }

    fn count(&self, id: &str) -> Result<Option<Count>> {
        let known = lock(&self.counts).get(id).copied();
        let count = journal::count(&*self.disk, &self.root.join(id).join(MESSAGES), known)?;
        if let Some(count) = count {
            let mut counts = lock(&self.counts);
            if counts.len() >= MAX_COUNTS {
                counts.clear();
            }
            counts.insert(id.to_owned(), count);
        }
        Ok(count)
    }

    /// The file with the messages of the session `id`, for [`journal::scan`]; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn messages_file(&self, id: &str) -> Result<Option<(PathBuf, Box<dyn Handle>)>> {
        self.dir(id).map_or(Ok(None), |dir| {
            let path = dir.join(MESSAGES);
            Ok(self.disk.open(&path)?.map(|file| (path, file)))
        })
    }

    /// Creates the folder of a new session. The operating system creates a folder only once, so two processes
    /// never get the same id.
    fn claim_id(&self) -> Result<(String, PathBuf)> {
        loop {
            let day = clock::today();
            let number = self.next_number(&day)?;
            let id = format!("{day}_{number}");
            let dir = self.root.join(&id);
            match self.disk.create_dir(&dir) {
                // Another process had assigned and deleted it in the meantime.
                Ok(()) if self.exists(&self.mark(&id)) => {
                    let _ = self.disk.remove(&dir);
                }
                Ok(()) => {
                    *lock(&self.names) = None;
                    let now = self.disk.stamp(&self.root)?;
                    if let Some(last) = &mut *lock(&self.last) {
                        last.root = now;
                    }
                    return Ok((id, dir));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("make the folder", &dir)(error)),
            }
        }
    }

    fn next_number(&self, day: &str) -> Result<u32> {
        let root = self.disk.stamp(&self.root)?;
        if let Some(last) = &mut *lock(&self.last)
            && last.day == day
            && last.root == root
        {
            last.number = self.number_after(last.number);
            return Ok(last.number);
        }
        self.disk.ensure_dir(&self.root)?;
        let highest = self.highest(day)?;
        let mut last = lock(&self.last);
        let given = last
            .as_ref()
            .filter(|last| last.day == day)
            .map_or(0, |last| last.number);
        let number = self.number_after(highest.max(given));
        *last = Some(LastId {
            day: day.to_owned(),
            number,
            root,
        });
        Ok(number)
    }

    /// The highest number of `day` that was assigned. Also removes what interrupted deletions left.
    fn highest(&self, day: &str) -> Result<u32> {
        let mut highest = 0;
        let number_of = |id: &str| {
            let (of, number) = parse_id(id)?;
            (of == day).then_some(number)
        };
        let mut left_overs = Vec::new();
        let names = self.disk.names(&self.root);
        for name in names.map_err(Error::io("list", &self.root))? {
            if name == GOOSE_DATABASE {
                self.warn_of_goose_database();
                highest = highest.max(GOOSE_NUMBERS);
            }
            let deleted = name.strip_prefix(DELETED);
            let id = deleted.map_or(&*name, |rest| rest.split('-').next().unwrap_or_default());
            let number = number_of(id).unwrap_or_default();
            highest = highest.max(number);
            if let Some(rest) = deleted {
                // A marker has only the id after the prefix.
                let is_mark = rest == id;
                left_overs.push((name, if is_mark { number } else { 0 }));
            }
        }
        for (name, number) in left_overs {
            if number == 0 || number < highest {
                let _ = self.disk.remove(&self.root.join(name));
            }
        }
        Ok(highest)
    }

    fn write_entries(&self, id: &str, dir: &Path, entries: Vec<JournalEntry>) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut journal = Journal::open(&self.disk, id, dir, MESSAGES, &dir.join(LOCK))?;
        journal.append(entries)?;
        journal.sync()
    }

    fn read_file(&self, path: &Path) -> Result<Option<(Vec<u8>, Stamp)>> {
        let file = self.disk.open(path)?;
        file.map(|mut file| files::read(&mut *file, path, MAX_SIZE))
            .transpose()
    }

    fn exists(&self, path: &Path) -> bool {
        matches!(self.disk.stamp(path), Ok(Some(_)))
    }
}

/// Sets the fields that are not stored.
fn completed(id: &str, session: Session, count: Option<Count>) -> Session {
    Session {
        id: id.to_owned(),
        conversation: None,
        message_count: count.map_or(0, |count| count.messages),
        ..session
    }
}

/// The day and the number of an id; `None` for any other text, which must not be used as a folder name.
pub(super) fn parse_id(id: &str) -> Option<(&str, u32)> {
    let (day, number) = id.split_once('_')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let valid = day.len() == 8 && (1..=9).contains(&number.len()) && digits(day) && digits(number);
    valid
        .then(|| number.parse().ok())
        .flatten()
        .map(|number| (day, number))
}
