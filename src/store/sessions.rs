//! Sessions: a folder each, with `session.json` (replaced) and `messages.jsonl` (appended).
//!
//! Making one costs a single sync, that of the file's content, so that a session is never there by
//! half. Its name is made durable with its first message: of what a power cut may take, a session
//! that nobody said anything in is no loss, and syncing its folder and the folder of all sessions
//! at once adds half to the time to make it (0.4 to 0.6 ms on ext4). Everything later is synced in
//! full: whoever was told that it is stored finds it again.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use super::journal::{self, Count, Journal};
use super::session_cache::{Entry, SessionCache, StoredSession};
use super::turn_lock::{self, TurnLock};
use super::{Error, Paths, Result, file_lock, files};
use crate::conversation::{ExtensionData, ImportReport, Message, Session, SessionType};
use crate::sys::fs::{Folder, Stamp, private, private_dir};
use crate::sys::{clock, lock};

pub(super) const SESSION: &str = "session.json";
pub(super) const MESSAGES: &str = "messages.jsonl";
const LOCK: &str = ".lock";
const TURN: &str = ".turn";
const TOOL_OUTPUTS: &str = "answers";
const DELETED: &str = ".deleted-";

/// Larger session files are not read; recipes and extensions are in them, messages are not.
const MAX_SIZE: u64 = 64 << 20;

/// Fields that are not stored: they follow from `messages.jsonl`.
const DERIVED: [&str; 2] = ["conversation", "message_count"];

/// The field of [`Session::counted_messages`], which is stored but not shown.
const COUNTED: &str = "counted_messages";

/// The sessions of one folder, shared by threads and with other processes.
///
/// Ids that are not of the form `YYYYMMDD_N` are those of no session, whatever lies there.
#[derive(Debug)]
pub struct Sessions {
    root: PathBuf,
    last: Mutex<Option<LastId>>,
    counts: Mutex<HashMap<String, Count>>,
    cache: SessionCache,
    names: Mutex<Option<Names>>,
}

/// The ids that there are, and the folder's state when they were read.
type Names = (Stamp, Arc<[String]>);

/// The id that was given last, and the folder's state then: while it is the same, nobody else has
/// made a session and the next number is free.
#[derive(Debug)]
struct LastId {
    day: String,
    number: u32,
    root: Option<Stamp>,
}

/// What a new session starts with.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// The folder that tools and extensions work in.
    pub working_dir: PathBuf,
    /// What lists show; `New Chat` if nothing is given.
    pub name: Option<String>,
    /// Who starts it.
    pub session_type: SessionType,
    /// The configurations of its extensions.
    pub extensions: Vec<Value>,
    /// What was not taken over of its recipe.
    pub imported: ImportReport,
    /// The recipe it starts from.
    pub recipe: Option<Value>,
    /// The values for the recipe's parameters.
    pub user_recipe_values: Option<Map<String, Value>>,
    /// The schedule that starts it.
    pub schedule_id: Option<String>,
}

/// All sessions that can be read, and why others cannot.
#[derive(Debug, Default)]
pub struct Listing {
    /// Without their messages, the one that changed last first.
    pub sessions: Vec<Arc<StoredSession>>,
    /// One error for each session that cannot be read.
    pub broken: Vec<Error>,
}

impl Sessions {
    /// The sessions of `paths`. Nothing is read or made yet.
    pub fn new(paths: &Paths) -> Self {
        Self {
            root: paths.data.join("sessions"),
            last: Mutex::new(None),
            counts: Mutex::new(HashMap::new()),
            cache: SessionCache::default(),
            names: Mutex::new(None),
        }
    }

    /// Tries whether sessions can be made: makes a file beside them, and removes it.
    ///
    /// # Errors
    /// [`Error::Io`]. A full disk is none: it may have room again, and what is there can be read.
    pub fn check_writable(&self) -> Result<()> {
        let probe = self.root.join(format!(".probe-{}", std::process::id()));
        let made = files::ensure_dir(&self.root).and_then(|()| {
            let mut options = OpenOptions::new();
            let made = private(options.write(true).create(true).truncate(true)).open(&probe);
            made.map_err(Error::io("write into", &self.root))
        });
        let _ = fs::remove_file(&probe);
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

    /// Makes a session, numbered after the highest of today that there is.
    ///
    /// # Errors
    /// [`Error::Io`]; there is no new session then.
    pub fn create(&self, new: NewSession) -> Result<Session> {
        let mut extension_data = ExtensionData::default();
        extension_data.set_enabled(new.extensions);
        extension_data.set_imported(&new.imported);
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

    /// Makes a session like `like`, with these messages and an id and times of its own.
    ///
    /// # Errors
    /// [`Error::Io`]; there is no new session then.
    pub fn add(&self, like: Session, messages: Vec<Message>) -> Result<Session> {
        let (id, dir) = self.claim_id()?;
        let now = clock::now_rfc3339();
        let session = Session {
            id,
            created_at: now.clone(),
            updated_at: now,
            conversation: None,
            message_count: messages.len(),
            ..like
        };
        let path = dir.join(SESSION);
        // The messages first: without the other file there is no session yet.
        let written = write_messages(&session.id, &dir, messages)
            .and_then(|()| render(&path, Map::new(), &session))
            .and_then(|content| files::replace(&path, &content, || Ok(())));
        if let Err(error) = written {
            let _ = fs::remove_dir_all(&dir);
            return Err(error);
        }
        Ok(session)
    }

    /// The session `id` without its messages, or `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Broken`] when its file does not parse, [`Error::Io`] when it cannot be read.
    pub fn load(&self, id: &str) -> Result<Option<Session>> {
        Ok(self
            .load_cached(id)?
            .map(|session| Session::clone(&session)))
    }

    /// As [`Sessions::load`], from memory if the files have not changed.
    fn load_cached(&self, id: &str) -> Result<Option<Arc<StoredSession>>> {
        let Some(dir) = self.dir(id) else {
            return Ok(None);
        };
        let path = dir.join(SESSION);
        let Some(file) = files::stamp(&path)? else {
            return Ok(None);
        };
        if let Some(entry) = self.cache.get(id, file) {
            let count = self.count(id)?;
            let messages = count.map(|count| count.stamp());
            if entry.messages == messages {
                return Ok(Some(Arc::clone(&entry.session)));
            }
            let session = StoredSession::new(Session {
                message_count: count.map_or(0, |count| count.messages),
                ..Session::clone(&entry.session)
            });
            let entry = Entry {
                file,
                messages,
                session: Arc::clone(&session),
            };
            self.cache.put(id, entry);
            return Ok(Some(session));
        }
        let read_at = SystemTime::now();
        let Some(mut opened) = files::open(&path)? else {
            return Ok(None);
        };
        let (content, file) = files::read(&mut opened, &path, MAX_SIZE)?;
        let session: Session = parse(&content, &path)?;
        let count = self.count(id)?;
        let session = StoredSession::new(completed(id, session, count));
        if file.is_settled(read_at) {
            let entry = Entry {
                file,
                messages: count.map(|count| count.stamp()),
                session: Arc::clone(&session),
            };
            self.cache.put(id, entry);
        }
        Ok(Some(session))
    }

    /// The messages of the session `id`, or `None` if there is no such session.
    ///
    /// # Errors
    /// [`Error::Broken`] when a line other than a torn last one is not JSON, [`Error::Io`].
    pub fn conversation(&self, id: &str) -> Result<Option<Vec<Message>>> {
        match self.dir(id).filter(|dir| dir.join(SESSION).exists()) {
            Some(dir) => journal::read(&dir.join(MESSAGES)).map(Some),
            None => Ok(None),
        }
    }

    /// Changes the session `id` as `change` says and gives it back without its messages.
    ///
    /// The id stays, `updated_at` becomes now, and the messages are not concerned. Fields of the
    /// file that this version does not know stay too.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Broken`], [`Error::Locked`], [`Error::Io`]; the session
    /// is as it was then.
    pub fn update(&self, id: &str, change: impl FnOnce(&mut Session)) -> Result<Session> {
        self.change(id, change, files::sync_names)
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
        let mut file = files::open(&path)?.ok_or_else(|| not_found(id))?;
        let (content, _) = files::read(&mut file, &path, MAX_SIZE)?;
        let stored = parse(&content, &path)?;
        let mut session = self.complete(id, parse(&content, &path)?)?;
        change(&mut session);
        session.updated_at = clock::now_rfc3339();
        let new = render(&path, stored, &session)?;
        if new != content {
            files::replace(&path, &new, || Ok(()))?;
            make_durable(&dir)?;
        }
        self.complete(id, session)
    }

    /// The messages of the session `id`, for whoever works on them. Costs one reading of the file.
    ///
    /// `updated_at` is left to [`Sessions::update`], which the tokens of a turn call for anyway.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Broken`] when a line other than a torn last one is not
    /// JSON, [`Error::Locked`], [`Error::Io`].
    pub fn journal(&self, id: &str) -> Result<Journal> {
        let dir = self.require_dir(id)?;
        Journal::open(id, &dir, MESSAGES, &dir.join(LOCK))
    }

    /// The end of a turn: makes the messages of `journal` durable and changes its session as
    /// [`Sessions::update`] does, at the price of two syncs of content alone.
    ///
    /// A power cut right after it may bring the session back as it was before the change, whole, with
    /// all of its messages.
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

    /// Begins a turn of the session `id`: no other process, and nothing else in this one, begins one until
    /// what is given back is dropped. Waits at most `wait` for the end of another.
    ///
    /// # Errors
    /// [`Error::TurnInProgress`] when another one goes on, [`Error::SessionNotFound`], [`Error::Io`].
    pub fn lock_turn(&self, id: &str, wait: Duration) -> Result<TurnLock> {
        let lock = TurnLock::acquire(self.require_dir(id)?.join(TURN), wait);
        lock.map_err(|error| journal::gone(id, error))
    }

    /// Whether no turn of the session `id` is under way in another process.
    ///
    /// # Errors
    /// [`Error::TurnInProgress`] when one is.
    pub fn check_no_turn_in_other_process(&self, id: &str) -> Result<()> {
        let file = self.dir(id).map(|dir| dir.join(TURN));
        match file.filter(|file| file.exists()) {
            Some(file) => turn_lock::check_not_held_elsewhere(&file),
            None => Ok(()),
        }
    }

    /// Writes what a tool said, in full, to a new file in the folder of the session `id`, and tells
    /// where it is. `label` is part of its name.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Io`].
    pub fn store_tool_output(&self, id: &str, label: &str, text: &str) -> Result<PathBuf> {
        let dir = self.require_dir(id)?.join(TOOL_OUTPUTS);
        files::ensure_dir(&dir)?;
        let label = label
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c));
        let label: String = label.take(64).collect();
        let unique = crate::sys::random_hex(8).map_err(Error::io("name a file in", &dir))?;
        let path = dir.join(format!("{unique}-{label}.txt"));
        files::replace(&path, text.as_bytes(), || Ok(()))?;
        Ok(path)
    }

    /// Removes the session `id` with its messages; tells whether there was one.
    ///
    /// It is gone at once, or not at all: its folder is renamed before it is emptied, and what a
    /// crash leaves of it is removed with the next session's making. A mark keeps its number from being
    /// given again, until there is a higher one.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn delete(&self, id: &str) -> Result<bool> {
        let Some(dir) = self.dir(id) else {
            return Ok(false);
        };
        if !dir.exists() {
            return Ok(false);
        }
        // First, so that whoever makes a folder of this name sees the mark: a client that still has the
        // id must not meet another session there.
        let mark = self.mark(id);
        match private_dir().create(&mark) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::io("make the folder", &mark)(error));
            }
            _ => {}
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let unique = now.unwrap_or_default().as_nanos();
        let doomed = self
            .root
            .join(format!("{DELETED}{id}-{}-{unique}", std::process::id()));
        match fs::rename(&dir, &doomed) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            renamed => renamed.map_err(Error::io("remove", &dir))?,
        }
        lock(&self.counts).remove(id);
        self.cache.forget(id);
        files::sync_names(&self.root)?;
        match fs::remove_dir_all(&doomed) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &doomed)(error))
            }
            _ => Ok(true),
        }
    }

    /// What keeps the number of a deleted session from being given again.
    fn mark(&self, id: &str) -> PathBuf {
        self.root.join(format!("{DELETED}{id}"))
    }

    /// All sessions without their messages, the one that changed last first.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be read. A session that cannot be read is in
    /// [`Listing::broken`].
    pub fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        let names = self.names()?;
        let entries = self.cache.all(&names);
        let folder = Folder::open(&self.root).ok();
        for (name, entry) in names.iter().zip(entries) {
            if let (Some(folder), Some(entry)) = (&folder, entry)
                && entry.is_current(folder, name)
            {
                listing.sessions.push(Arc::clone(&entry.session));
                continue;
            }
            match self.load_cached(name) {
                Ok(session) => listing.sessions.extend(session),
                Err(error) => listing.broken.push(error),
            }
        }
        // Of those that changed at the same time, the newest stays first.
        listing
            .sessions
            .sort_by(|a, b| b.updated_at.cmp(&a.updated_at));
        Ok(listing)
    }

    fn dir(&self, id: &str) -> Option<PathBuf> {
        parse_id(id).map(|_| self.root.join(id))
    }

    fn require_dir(&self, id: &str) -> Result<PathBuf> {
        self.dir(id)
            .filter(|dir| dir.join(SESSION).exists())
            .ok_or_else(|| not_found(id))
    }

    fn lock(&self, id: &str, dir: &Path) -> Result<file_lock::FileLock> {
        let lock = file_lock::FileLock::acquire(&dir.join(LOCK), file_lock::LOCK_TIMEOUT);
        lock.map_err(|error| journal::gone(id, error))
    }

    /// Fills in what is not stored.
    fn complete(&self, id: &str, session: Session) -> Result<Session> {
        Ok(completed(id, session, self.count(id)?))
    }

    fn count(&self, id: &str) -> Result<Option<Count>> {
        let known = lock(&self.counts).get(id).copied();
        let count = journal::count(&self.root.join(id).join(MESSAGES), known)?;
        if let Some(count) = count {
            lock(&self.counts).insert(id.to_owned(), count);
        }
        Ok(count)
    }

    /// The file with the messages of the session `id`.
    pub(super) fn messages_file(&self, id: &str) -> Option<PathBuf> {
        self.dir(id).map(|dir| dir.join(MESSAGES))
    }

    /// Makes the folder of a new session: that the operating system makes a folder only once is
    /// what keeps processes from giving out the same id.
    fn claim_id(&self) -> Result<(String, PathBuf)> {
        loop {
            let day = clock::today();
            let number = self.next_number(&day)?;
            let id = format!("{day}_{number}");
            let dir = self.root.join(&id);
            match private_dir().create(&dir) {
                // Another process had it meanwhile.
                Ok(()) if self.mark(&id).exists() => {
                    let _ = fs::remove_dir(&dir);
                }
                Ok(()) => {
                    let now = files::stamp(&self.root)?;
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
        let root = files::stamp(&self.root)?;
        if let Some(last) = &mut *lock(&self.last)
            && last.day == day
            && last.root == root
        {
            last.number += 1;
            return Ok(last.number);
        }
        files::ensure_dir(&self.root)?;
        let highest = self.highest(day)?;
        let mut last = lock(&self.last);
        let given = last
            .as_ref()
            .filter(|last| last.day == day)
            .map_or(0, |last| last.number);
        let number = highest.max(given) + 1;
        *last = Some(LastId {
            day: day.to_owned(),
            number,
            root,
        });
        Ok(number)
    }

    /// The highest number of `day` that was given; left-overs of deletions are removed on the way.
    fn highest(&self, day: &str) -> Result<u32> {
        let mut highest = 0;
        let number_of = |id: &str| {
            let (of, number) = parse_id(id)?;
            (of == day).then_some(number)
        };
        let mut left_overs = Vec::new();
        for name in self.entries()? {
            let deleted = name.strip_prefix(DELETED);
            let id = deleted.map_or(&*name, |rest| rest.split('-').next().unwrap_or_default());
            let number = number_of(id).unwrap_or_default();
            highest = highest.max(number);
            if let Some(rest) = deleted {
                // The mark of a number has nothing behind the id.
                let is_mark = rest == id;
                left_overs.push((name, if is_mark { number } else { 0 }));
            }
        }
        for (name, number) in left_overs {
            if number == 0 || number < highest {
                let _ = fs::remove_dir_all(self.root.join(name));
            }
        }
        Ok(highest)
    }

    /// The ids of all sessions, the newest first; from memory if the folder has not changed.
    fn names(&self) -> Result<Arc<[String]>> {
        let read_at = SystemTime::now();
        let stamp = files::stamp(&self.root)?;
        if let Some((known, names)) = &*lock(&self.names)
            && Some(*known) == stamp
        {
            return Ok(Arc::clone(names));
        }
        let mut names = self.entries()?;
        names.retain(|name| parse_id(name).is_some());
        names.sort_by(|a, b| parse_id(b).cmp(&parse_id(a)));
        let names: Arc<[String]> = names.into();
        let settled = stamp.filter(|stamp| stamp.is_settled(read_at));
        *lock(&self.names) = settled.map(|stamp| (stamp, Arc::clone(&names)));
        Ok(names)
    }

    fn entries(&self) -> Result<Vec<String>> {
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io("list", &self.root))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(Error::io("list", &self.root))?.file_name();
            names.extend(name.into_string().ok());
        }
        Ok(names)
    }
}

fn write_messages(id: &str, dir: &Path, messages: Vec<Message>) -> Result<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let mut journal = Journal::open(id, dir, MESSAGES, &dir.join(LOCK))?;
    journal.append(messages)?;
    journal.sync()
}

/// Fills in what is not stored.
fn completed(id: &str, session: Session, count: Option<Count>) -> Session {
    Session {
        id: id.to_owned(),
        conversation: None,
        message_count: count.map_or(0, |count| count.messages),
        ..session
    }
}

/// The day and the number of an id, or `None` for text that is no id and so names no folder.
fn parse_id(id: &str) -> Option<(&str, u32)> {
    let (day, number) = id.split_once('_')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let valid = day.len() == 8 && (1..=9).contains(&number.len()) && digits(day) && digits(number);
    valid
        .then(|| number.parse().ok())
        .flatten()
        .map(|number| (day, number))
}

fn not_found(id: &str) -> Error {
    Error::SessionNotFound { id: id.to_owned() }
}

fn parse<T: serde::de::DeserializeOwned>(content: &[u8], path: &Path) -> Result<T> {
    crate::json::from_slice(content).map_err(|error| Error::Broken {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: "it is not the JSON of a session".to_owned(),
    })
}

/// The text of `session` over what was `stored`, so that fields unknown to us stay.
fn render(path: &Path, mut stored: Map<String, Value>, session: &Session) -> Result<Vec<u8>> {
    let unwritable = |error: serde_json::Error| Error::Unwritable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let Value::Object(fields) = crate::json::to_value(session).map_err(unwritable)? else {
        return Err(Error::broken(path, "a session must be a JSON object"));
    };
    stored.extend(fields);
    for name in DERIVED {
        stored.shift_remove(name);
    }
    match session.counted_messages {
        Some(messages) => stored.insert(COUNTED.to_owned(), messages.into()),
        None => stored.shift_remove(COUNTED),
    };
    serde_json::to_vec_pretty(&stored).map_err(unwritable)
}
