//! `messages.jsonl`: the messages of a session, one JSON object per line, append-only.
//!
//! A line is valid if it ends in a newline, or if it is the last one and complete. A line that a crash cut off
//! is ignored, and removed before the next append.
//!
//! A line is a message, or an operation on the messages before it, which has an `op` instead of a role: `clear`
//! removes them from the conversation, `hide` hides them from the model. An operation carries its replacement
//! messages in `messages`, so that both take effect or neither. The messages of the operation `wait` stand behind all
//! others, also later ones, until `take` gives them their place: an answer that is being written when they come has
//! not seen them. What this version does not understand stays in the file and is skipped; copies of the conversation keep it
//! ([`JournalEntry`]).

mod count;

use super::disk::{Disk, Handle};
use super::{Error, Result, file_lock, files};
use crate::conversation::Message;
use crate::mcp::jsonrpc::RawJson;
use crate::sys::fs::Stamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use count::{Count, count};

/// The open message log of one session.
///
/// The cost of an append does not depend on the length of the log. Several journals, also in other processes,
/// may be open on one session: each reads the new lines of the others before it writes.
pub struct Journal {
    id: String,
    disk: Arc<dyn Disk>,
    path: PathBuf,
    lock: file_lock::LockFile,
    /// `None` until the first message.
    file: Option<Box<dyn Handle>>,
    conversation: Conversation<Arc<Message>>,
    place: Option<Place>,
    unsynced: bool,
    /// The file is new, and its folder may be new, too.
    unsynced_names: bool,
}

/// An operation on the messages before it.
#[derive(Serialize)]
struct Operation<'a> {
    op: &'static str,
    #[serde(skip_serializing_if = "<[JournalEntry]>::is_empty")]
    messages: &'a [JournalEntry],
}

/// A part of a stored conversation.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum JournalEntry {
    /// A message.
    Message(Box<Message>),
    /// JSON that this version does not understand, as later versions may store it.
    Unreadable(RawJson),
}

impl From<Message> for JournalEntry {
    fn from(message: Message) -> Self {
        JournalEntry::Message(Box::new(message))
    }
}

impl JournalEntry {
    /// The message, if it is one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            JournalEntry::Message(message) => Some(message),
            JournalEntry::Unreadable(_) => None,
        }
    }

    /// The message, if it is one.
    pub fn into_message(self) -> Option<Message> {
        match self {
            JournalEntry::Message(message) => Some(*message),
            JournalEntry::Unreadable(_) => None,
        }
    }
}

/// An operation as read: from any version, with messages from any version.
#[derive(Deserialize)]
struct AnyOperation {
    op: String,
    #[serde(default)]
    messages: Vec<RawJson>,
}

/// The meaning of a line: what it does to the messages before it, and what it adds.
pub struct Line {
    /// What it does.
    pub before: Before,
    /// What it adds.
    pub entries: Vec<JournalEntry>,
}

/// What a line does to the messages before it.
pub enum Before {
    /// Nothing.
    Keep,
    /// They are no longer part of the conversation.
    Clear,
    /// The model does not get them.
    Hide,
    /// It adds messages behind all that follow.
    Wait,
    /// It adds the messages that wait.
    Take,
}

impl Journal {
    /// Opens the journal of the session `id` in the folder `dir`. All writers share the lock file. Reads the
    /// whole file.
    pub(super) fn open(
        disk: &Arc<dyn Disk>,
        id: &str,
        dir: &Path,
        messages: &str,
        lock: &Path,
    ) -> Result<Self> {
        let mut journal = Journal {
            id: id.to_owned(),
            disk: disk.clone(),
            path: dir.join(messages),
            lock: file_lock::LockFile::open_on(&**disk, lock).map_err(|error| gone(id, error))?,
            file: None,
            conversation: Conversation::new(),
            place: None,
            unsynced: false,
            unsynced_names: false,
        };
        journal.refresh()?;
        Ok(journal)
    }

    /// The id of its session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The conversation, oldest message first, including messages that are hidden from the model, but not those that
    /// [wait](Journal::append_waiting).
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.conversation.placed
    }

    /// Appends `messages`. They survive the process when this returns, and a power failure after
    /// [`Journal::sync`].
    ///
    /// # Errors
    /// [`Error::SessionNotFound`] when the session was deleted, [`Error::Locked`], [`Error::Io`], for example
    /// when the disk is full. Nothing is appended then.
    pub fn append(&mut self, messages: Vec<impl Into<JournalEntry>>) -> Result<()> {
        let entries: Vec<JournalEntry> = messages.into_iter().map(Into::into).collect();
        let mut lines = Vec::new();
        for entry in &entries {
            self.render(entry, &mut lines)?;
        }
        self.write(&lines)?;
        self.apply(Before::Keep, entries);
        Ok(())
    }

    /// Appends a message that waits until a journal [takes](Journal::take_waiting) it.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_waiting(&mut self, message: Message) -> Result<()> {
        let messages = vec![message.into()];
        self.write_operation("wait", &messages)?;
        self.apply(Before::Wait, messages);
        Ok(())
    }

    /// Gives the messages that wait their place behind the others, and returns them. Free if none waits.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn take_waiting(&mut self) -> Result<&[Arc<Message>]> {
        let start = self.conversation.placed.len();
        if !self.conversation.waiting.is_empty() {
            self.write_operation("take", &[])?;
            self.apply(Before::Take, Vec::new());
        }
        Ok(&self.conversation.placed[start..])
    }

    /// Hides all messages so far from the model and appends `messages`, atomically.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn hide_all_then(&mut self, messages: Vec<Message>) -> Result<()> {
        let messages: Vec<JournalEntry> = messages.into_iter().map(Into::into).collect();
        self.write_operation("hide", &messages)?;
        self.apply(Before::Hide, messages);
        Ok(())
    }

    /// Replaces the conversation by `messages`. The old messages stay in the file only.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn replace(&mut self, messages: Vec<impl Into<JournalEntry>>) -> Result<()> {
        let entries: Vec<JournalEntry> = messages.into_iter().map(Into::into).collect();
        self.write_operation("clear", &entries)?;
        self.apply(Before::Clear, entries);
        Ok(())
    }

    /// Makes everything durable that this journal wrote. Free if it wrote nothing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sync(&mut self) -> Result<()> {
        self.sync_content()?;
        self.sync_names()
    }

    pub(super) fn sync_content(&mut self) -> Result<()> {
        if let (true, Some(file)) = (self.unsynced, &self.file) {
            file.sync().map_err(Error::io("write", &self.path))?;
            self.unsynced = false;
        }
        Ok(())
    }

    pub(super) fn sync_names(&mut self) -> Result<()> {
        if self.unsynced_names {
            let dir = files::parent(&self.path);
            self.disk.sync_names(dir)?;
            self.disk.sync_names(files::parent(dir))?;
            self.unsynced_names = false;
        }
        Ok(())
    }

    /// Reads what other journals wrote; returns whether there was anything. Costs one `stat` if not.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`] when the session was deleted, [`Error::Broken`] when a line other than an
    /// incomplete last one is not JSON, [`Error::Locked`], [`Error::Io`].
    pub fn refresh(&mut self) -> Result<bool> {
        if self.is_current()? {
            return Ok(false);
        }
        let _held = self.lock.acquire(file_lock::LOCK_TIMEOUT)?;
        self.catch_up()
    }

    /// Applies a line that was written.
    fn apply(&mut self, before: Before, entries: Vec<JournalEntry>) {
        self.conversation.apply(Line { before, entries });
    }

    fn write_operation(&mut self, op: &'static str, messages: &[JournalEntry]) -> Result<()> {
        let mut line = Vec::new();
        self.render(&Operation { op, messages }, &mut line)?;
        self.write(&line)
    }

    fn render(&self, value: &impl Serialize, lines: &mut Vec<u8>) -> Result<()> {
        let start = lines.len();
        serde_json::to_writer(&mut *lines, value)
            .map_err(|error| Error::io("write", &self.path)(error.into()))?;
        crate::json::in_one_line(&mut lines[start..]);
        lines.push(b'\n');
        if lines.len() - start > MAX_LINE {
            Err(Error::io("write", &self.path)(too_long()))
        } else {
            Ok(())
        }
    }

    fn write(&mut self, lines: &[u8]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let _held = self.lock.acquire(file_lock::LOCK_TIMEOUT)?;
        self.catch_up()?;
        let path = &self.path;
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                self.unsynced_names = true;
                let opened = self.disk.open_log(path, true)?;
                none.insert(opened.ok_or_else(|| Error::not_found(&self.id))?)
            }
        };
        let end = self.place.map_or(0, |place| place.end);
        let written = file
            .write_all(lines)
            .and_then(|()| Place::after(&mut **file, end + lines.len() as u64, lines));
        match written {
            Ok(place) => {
                self.place = Some(place).filter(|place| place.stamp.len == place.end);
                self.unsynced = true;
                Ok(())
            }
            Err(error) => {
                let _ = file.truncate(end);
                Err(Error::io("write", path)(error))
            }
        }
    }

    /// Whether the file is in the state in which this journal left it.
    fn is_current(&self) -> Result<bool> {
        let Some(place) = self.place else {
            return Ok(false);
        };
        Ok(self.disk.stamp(&self.path)? == Some(place.stamp))
    }

    /// Reads the new lines, or the whole file if it was replaced. The lock must be held.
    fn catch_up(&mut self) -> Result<bool> {
        if self.is_current()? {
            return Ok(false);
        }
        // After this session was deleted, another one may use the same path, but not the same lock file.
        if !self.lock.is_in_place(&*self.disk)? {
            return Err(Error::not_found(&self.id));
        }
        let known = self.place.take();
        let Some(mut file) = self.disk.open_log(&self.path, false)? else {
            self.file = None;
            self.conversation.clear();
            return Ok(known.is_some());
        };
        let io_error = |error| Error::io("read", &self.path)(error);
        truncate_torn_line(&mut *file).map_err(Error::io("mend", &self.path))?;
        // Taken before the read, so that a writer without the lock is detected next time.
        let stamp = file.stamp().map_err(io_error)?;
        let start = match known {
            Some(place) if place.is_in(&mut *file).map_err(io_error)? => place.end,
            _ => {
                self.conversation.clear();
                0
            }
        };
        let mut lines = Lines::default();
        let (end, _) = scan(&mut *file, start, |line, at| {
            lines.take(line, at, &mut |line| self.conversation.apply(line))
        })
        .map_err(io_error)?;
        lines.check(&self.path, &mut *file)?;
        let changed = known.is_none_or(|place| place.end != end) || start == 0;
        let preceding = read_preceding(&mut *file, end).map_err(io_error)?;
        self.place = Some(Place {
            stamp,
            end,
            preceding,
        });
        self.file = Some(file);
        Ok(changed)
    }
}

/// Omits the messages.
impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("path", &self.path)
            .field("messages", &self.messages().len())
            .finish_non_exhaustive()
    }
}

/// How far a file was read, and its state then, so that only later lines need to be read.
#[derive(Clone, Copy, Debug)]
struct Place {
    stamp: Stamp,
    end: u64,
    /// The bytes before `end`, which detect a file that was replaced instead of appended to.
    preceding: [u8; PRECEDING_BYTES],
}

const PRECEDING_BYTES: usize = 64;
/// Maximum number of skipped lines that the log names.
const MAX_NAMED: usize = 20;
/// Maximum length of a line. The longest line is an operation with a whole conversation, which the maximum
/// request size bounds. A longer one is not from this program, and reading it would exhaust memory.
const MAX_LINE: usize = 256 << 20;

impl Place {
    /// The place `end` in `file`, where `last` was written.
    fn after(file: &mut dyn Handle, end: u64, last: &[u8]) -> io::Result<Self> {
        let preceding = match last.last_chunk() {
            Some(preceding) => *preceding,
            None => read_preceding(file, end)?,
        };
        let stamp = file.stamp()?;
        Ok(Place {
            stamp,
            end,
            preceding,
        })
    }

    fn is_in(&self, file: &mut dyn Handle) -> io::Result<bool> {
        let len = file.stamp()?.len;
        Ok(self.end <= len && read_preceding(file, self.end)? == self.preceding)
    }
}

/// Reads the messages in the file `path`, including hidden ones; empty if it does not exist.
pub fn read(disk: &dyn Disk, path: &Path) -> Result<Vec<Message>> {
    let entries = read_entries(disk, path)?.into_iter();
    Ok(entries.filter_map(JournalEntry::into_message).collect())
}

/// As [`read`], with what is not a message.
pub fn read_entries(disk: &dyn Disk, path: &Path) -> Result<Vec<JournalEntry>> {
    let Some(mut file) = disk.open(path)? else {
        return Ok(Vec::new());
    };
    let mut conversation = Conversation::<JournalEntry>::new();
    let mut lines = Lines::default();
    let mut apply = |line: Line| conversation.apply(line);
    let scanned = scan(&mut *file, 0, |line, at| lines.take(line, at, &mut apply));
    let (end, tail) = scanned.map_err(Error::io("read", path))?;
    lines.check(path, &mut *file)?;
    if read_line(&tail).is_ok() {
        lines.take(&tail, end, &mut apply);
    }
    let Conversation {
        mut placed,
        mut waiting,
    } = conversation;
    placed.append(&mut waiting);
    Ok(placed)
}

/// What the lines of a file say besides messages.
#[derive(Default)]
struct Lines {
    /// The offset of a line that is not JSON, and why not.
    broken: Option<(u64, serde_json::Error)>,
    /// The offsets of the lines that were skipped in whole or in part.
    unreadable: Vec<u64>,
}

impl Lines {
    /// Passes the meaning of the line at the offset `at` to `apply`; false if it is not JSON.
    fn take(&mut self, line: &[u8], at: u64, apply: &mut dyn FnMut(Line)) -> bool {
        match read_line(line) {
            Ok(line) => {
                let has_unreadable = line.entries.iter().any(|it| it.message().is_none());
                if has_unreadable && self.unreadable.len() < MAX_NAMED {
                    self.unreadable.push(at);
                }
                apply(line);
            }
            Err(error) => self.broken = Some((at, error)),
        }
        self.broken.is_none()
    }

    /// Names the skipped lines in the log.
    ///
    /// # Errors
    /// [`Error::Broken`] if a line is not JSON.
    fn check(&mut self, path: &Path, file: &mut dyn Handle) -> Result<()> {
        if !self.unreadable.is_empty() {
            let numbers = std::mem::take(&mut self.unreadable).into_iter();
            let numbers: Vec<usize> = numbers.map(|at| line_number(file, at)).collect();
            log::warn!("skipped lines that are not messages file={path:?} lines={numbers:?}");
        }
        match self.broken.take() {
            Some((at, error)) => {
                let place = (line_number(file, at), error.column());
                Err(Error::broken_at(path, place, "this line is not JSON"))
            }
            None => Ok(()),
        }
    }
}

/// What a conversation in memory consists of.
trait Part: Sized {
    /// The part of an entry, if it has one here.
    fn of(entry: JournalEntry) -> Option<Self>;
    /// Hides it from the model.
    fn hide(&mut self);
}

impl Part for Arc<Message> {
    fn of(entry: JournalEntry) -> Option<Self> {
        entry.into_message().map(Arc::new)
    }

    fn hide(&mut self) {
        if self.metadata.agent_visible {
            Arc::make_mut(self).metadata.agent_visible = false;
        }
    }
}

impl Part for JournalEntry {
    fn of(entry: JournalEntry) -> Option<Self> {
        Some(entry)
    }

    fn hide(&mut self) {
        if let JournalEntry::Message(message) = self {
            message.metadata.agent_visible = false;
        }
    }
}

/// A conversation as far as it is read.
struct Conversation<P> {
    placed: Vec<P>,
    /// Messages that have no place among the others yet.
    waiting: Vec<P>,
}

impl<P: Part> Conversation<P> {
    const fn new() -> Self {
        Conversation {
            placed: Vec::new(),
            waiting: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.placed.clear();
        self.waiting.clear();
    }

    fn apply(&mut self, line: Line) {
        let to = match line.before {
            Before::Wait => &mut self.waiting,
            Before::Keep => &mut self.placed,
            Before::Clear => {
                self.clear();
                &mut self.placed
            }
            Before::Hide => {
                self.placed.iter_mut().for_each(P::hide);
                &mut self.placed
            }
            Before::Take => {
                self.placed.append(&mut self.waiting);
                &mut self.placed
            }
        };
        to.extend(line.entries.into_iter().filter_map(P::of));
    }
}

/// Parses a line, which another program may have written. Fails if it is not JSON.
pub fn read_line(line: &[u8]) -> serde_json::Result<Line> {
    let added = |entries| Line {
        before: Before::Keep,
        entries,
    };
    if line.trim_ascii().is_empty() {
        return Ok(added(Vec::new()));
    }
    let line = &*crate::json::sanitize_bytes(line);
    if let Ok(message) = crate::json::from_str(line) {
        return Ok(added(vec![JournalEntry::Message(message)]));
    }
    let operation = crate::json::from_str::<AnyOperation>(line).ok();
    let before = match operation.as_ref().map(|it| it.op.as_str()) {
        Some("clear") => Before::Clear,
        Some("hide") => Before::Hide,
        Some("wait") => Before::Wait,
        Some("take") => Before::Take,
        _ => {
            let unreadable = JournalEntry::Unreadable(crate::json::from_str(line)?);
            return Ok(added(vec![unreadable]));
        }
    };
    let entry = |json: RawJson| match crate::json::from_str(json.get()) {
        Ok(message) => JournalEntry::Message(message),
        Err(_) => JournalEntry::Unreadable(json),
    };
    let messages = operation.into_iter().flat_map(|it| it.messages);
    Ok(Line {
        before,
        entries: messages.map(entry).collect(),
    })
}

/// Passes each complete line of `file` from `start` on, with its offset, to `each`, until that returns false.
/// Returns where the lines end, and the rest after them.
pub fn scan(
    file: &mut dyn Handle,
    start: u64,
    mut each: impl FnMut(&[u8], u64) -> bool,
) -> io::Result<(u64, Vec<u8>)> {
    file.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let mut at = start;
    let mut line = Vec::new();
    loop {
        line.clear();
        let len =
            (Read::by_ref(&mut reader).take(MAX_LINE as u64 + 1)).read_until(b'\n', &mut line)?;
        if len > MAX_LINE {
            return Err(too_long());
        }
        match line.split_last() {
            Some((b'\n', whole)) if each(whole, at) => at += len as u64,
            Some((b'\n', _)) => return Ok((at, Vec::new())),
            _ => return Ok((at, line)),
        }
    }
}

fn too_long() -> io::Error {
    let reason = format!("a line is longer than {} MiB", MAX_LINE >> 20);
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Removes an incomplete last line, or adds the missing newline to a complete one.
fn truncate_torn_line(file: &mut dyn Handle) -> io::Result<()> {
    if file.stamp()?.len == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(());
    }
    let (end, tail) = scan(file, 0, |_, _| true)?;
    match crate::json::from_slice::<IgnoredAny>(&tail) {
        Ok(_) => file.write_all(b"\n"),
        Err(_) => file.truncate(end),
    }
}

/// The bytes of `file` before `end`; zero-filled near the start of the file.
fn read_preceding(file: &mut dyn Handle, end: u64) -> io::Result<[u8; PRECEDING_BYTES]> {
    let start = end.saturating_sub(PRECEDING_BYTES as u64);
    let mut bytes = [0; PRECEDING_BYTES];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes[..(end - start) as usize])?;
    Ok(bytes)
}

/// The number of the line at the offset `at`, from 1; 0 if the file can no longer be read.
fn line_number(file: &mut dyn Handle, at: u64) -> usize {
    let mut line = 1;
    let counted = scan(file, 0, |_, start| {
        line += usize::from(start < at);
        start < at
    });
    counted.map_or(0, |_| line)
}

/// A missing folder means that the session does not exist.
pub(super) fn gone(id: &str, error: Error) -> Error {
    match error {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Error::not_found(id)
        }
        error => error,
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
