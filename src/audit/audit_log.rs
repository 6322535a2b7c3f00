//! Appends records to the log, which several processes share: each holds the lock for one write.

use crate::activity::{Caller, Entry, Recorder};
use crate::log_files::{self, Ending, Lines};
use crate::record::{NO_HASH, Record};
use crate::store::file_lock::LockFile;
use crate::store::{Error, Result, files};
use crate::sys::clock::{Utc, unix_seconds};
use crate::sys::fs::{Stamp, open_regular_with, private};
use crate::sys::{self, lock};
use crate::{Options, Sync};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long another process may hold the lock, and how long nothing waits for it after that.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_secs(5);
/// How many refused requests are recorded in a second; of more only the number is.
const MAX_REFUSED: u64 = 20;
/// How much of the end of a file is read to find its last record: several of the longest.
const TAIL: u64 = 256 << 10;
/// How often what was written is on the disk with [`Sync::Second`], and the files are looked for.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The log of one root.
pub(crate) struct AuditLog {
    options: Options,
    state: Mutex<State>,
    unsynced: Arc<Mutex<Option<Arc<File>>>>,
}

#[derive(Default)]
struct State {
    lock: Option<LockFile>,
    end: Option<End>,
    /// The number and the hash of the record that this process has written or seen last.
    last: (u64, String),
    refused: Refused,
    /// How many entries could not be recorded since then.
    unrecorded: u64,
    /// When it was looked whether the files are still in their places.
    looked: Option<Instant>,
    /// Until when nothing waits for the lock.
    blocked_until: Option<Instant>,
    /// Whether the log could not be written last time.
    has_failed: bool,
    has_sync_thread: bool,
    /// The buffer for lines, reused.
    line: Vec<u8>,
}

/// The end of the log, to which the next record is appended.
struct End {
    number: u64,
    path: PathBuf,
    file: Arc<File>,
    size: u64,
    seq: u64,
    hash: String,
    /// The day of the last record (UTC); empty before the first.
    day: String,
    /// The last line has no end, because a process ended while it wrote it.
    is_cut: bool,
}

/// The refused requests of a second.
struct Refused {
    begin: Instant,
    count: u64,
}

impl Default for Refused {
    fn default() -> Self {
        Refused {
            begin: Instant::now(),
            count: 0,
        }
    }
}

impl Refused {
    /// Ends the second if it is over; returns how many requests of it have no record.
    fn next_second(&mut self) -> u64 {
        if self.begin.elapsed() < Duration::from_secs(1) {
            return 0;
        }
        let more = self.count.saturating_sub(MAX_REFUSED);
        *self = Refused::default();
        more
    }
}

impl AuditLog {
    /// The log in the folder of the options. Nothing is read or created yet.
    pub(crate) fn new(options: Options) -> Self {
        AuditLog {
            options,
            state: Mutex::default(),
            unsynced: Arc::default(),
        }
    }

    /// Appends a record, after the number of the refused requests that have none; returns its number.
    fn append(&self, state: &mut State, record: Record) -> Result<u64> {
        let held = self.lock(state)?.acquire(LOCK_TIMEOUT)?;
        let mut end = match state.end.take() {
            Some(end) if end.is_current() => end,
            _ => self.find_end()?,
        };
        if end.seq < state.last.0 {
            let (lost, seq) = (end.seq, state.last.0);
            log::error!("the end of the audit log was removed is_at={lost} was_at={seq}");
            // So that the verification finds it.
            (end.seq, end.hash) = state.last.clone();
        }
        let more = state.refused.next_second();
        if more > 0 {
            let mut summary = Record::new("refused");
            summary.detail = format!("{more} more requests were refused within a second");
            end.write(summary, &mut state.line)?;
        }
        if state.unrecorded > 0 {
            let mut gap = Record::new("gap");
            gap.detail = format!("{} entries could not be recorded", state.unrecorded);
            end.write(gap, &mut state.line)?;
            state.unrecorded = 0;
        }
        // A clock that jumps back begins no file.
        if end.size > self.options.file_size || !end.day.is_empty() && *record.day() > *end.day {
            end = self.begin_file(end, &mut state.line)?;
        }
        let seq = end.write(record, &mut state.line)?;
        self.sync(state, &end)?;
        state.last = (end.seq, end.hash.clone());
        state.end = Some(end);
        drop(held);
        Ok(seq)
    }

    fn lock<'s>(&self, state: &'s mut State) -> Result<&'s LockFile> {
        let known = state.lock.take();
        // Otherwise two processes could hold locks of different files for long.
        let is_due = state.looked.is_none_or(|at| at.elapsed() > SYNC_INTERVAL);
        let known = known.filter(|known| !is_due || known.is_in_place().unwrap_or(false));
        if is_due {
            state.looked = Some(Instant::now());
            state.end.take_if(|end| !end.is_in_place());
        }
        let made = match known {
            Some(known) => known,
            None => {
                // The files may have been moved away with it.
                state.end = None;
                files::ensure_dir(&self.options.folder)?;
                LockFile::open(&self.options.folder.join("lock"))?
            }
        };
        Ok(state.lock.insert(made))
    }

    /// The end of the log as it is on the disk; begins the first file, and the one that follows a finished one.
    fn find_end(&self) -> Result<End> {
        let folder = &self.options.folder;
        let mut numbers = log_files::numbers(folder)?;
        let Some(number) = numbers.pop() else {
            return End::create(folder, 1, 0, NO_HASH.to_owned());
        };
        let (mut end, is_finished) = End::read(folder, number)?;
        // A file that was just begun goes on where the last one ended.
        while end.seq == 0
            && let Some(before) = numbers.pop()
        {
            let (before, _) = End::read(folder, before)?;
            (end.seq, end.hash) = (before.seq, before.hash);
        }
        match is_finished {
            true => End::create(folder, number + 1, end.seq, end.hash),
            false => Ok(end),
        }
    }

    /// Finishes a file and begins the next one; removes those that are too old.
    fn begin_file(&self, mut end: End, line: &mut Vec<u8>) -> Result<End> {
        let folder = &self.options.folder;
        let mut last = Record::new("closed");
        last.file = log_files::path_of(Path::new(""), end.number + 1)
            .display()
            .to_string();
        end.write(last, line)?;
        let mut next = End::create(folder, end.number + 1, end.seq, end.hash)?;
        if let Some(keep) = self.options.keep
            && let Err(error) = self.remove_old(&mut next, keep, line)
        {
            log::warn!("old files of the audit log not removed reason={error}");
        }
        Ok(next)
    }

    /// Removes the files whose last record is too old; records each in the file that was just begun.
    fn remove_old(&self, next: &mut End, keep: Duration, line: &mut Vec<u8>) -> Result<()> {
        let folder = &self.options.folder;
        for number in log_files::numbers(folder)? {
            let path = log_files::path_of(folder, number);
            let (removed, _) = End::read(folder, number)?;
            if number == next.number || removed.age().is_none_or(|age| age <= keep) {
                break;
            }
            let mut record = Record::new("removed");
            record.file = log_files::path_of(Path::new(""), number)
                .display()
                .to_string();
            record.last = removed.hash;
            next.write(record, line)?;
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(())
    }

    fn sync(&self, state: &mut State, end: &End) -> Result<()> {
        match self.options.sync {
            Sync::None => {}
            Sync::Each => {
                let synced = end.file.sync_data();
                synced.map_err(Error::io("sync", &end.path))?;
            }
            Sync::Second => {
                *lock(&self.unsynced) = Some(end.file.clone());
                if !state.has_sync_thread {
                    let unsynced = Arc::downgrade(&self.unsynced);
                    let work = move || {
                        loop {
                            thread::sleep(SYNC_INTERVAL);
                            let Some(unsynced) = unsynced.upgrade() else {
                                return;
                            };
                            sync(&unsynced);
                        }
                    };
                    let started = sys::spawn("audit".to_owned(), Some(sys::SMALL_STACK), work);
                    state.has_sync_thread = started.is_ok();
                }
            }
        }
        Ok(())
    }
}

fn sync(unsynced: &Mutex<Option<Arc<File>>>) {
    let file = lock(unsynced).take();
    if let Some(Err(error)) = file.map(|file| file.sync_data()) {
        log::error!("audit log not synced reason={error}");
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        sync(&self.unsynced);
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditLog")
    }
}

impl Recorder for AuditLog {
    fn is_required(&self) -> bool {
        self.options.required
    }

    fn record(
        &self,
        caller: &Caller,
        entry: &Entry<'_>,
    ) -> std::result::Result<Option<u64>, String> {
        let record = Record::of(caller, entry, self.options.has_values);
        let mut state = lock(&self.state);
        if entry.kind == "refused" {
            state.refused.count += 1;
            if state.refused.count > MAX_REFUSED
                && state.refused.begin.elapsed() < Duration::from_secs(1)
            {
                return Ok(Some(0));
            }
        }
        let now = Instant::now();
        state.blocked_until.take_if(|until| *until < now);
        let appended = match state.blocked_until {
            Some(_) => Err(Error::Locked {
                path: self.options.folder.join("lock"),
                waited: Duration::ZERO,
            }),
            None => self.append(&mut state, record),
        };
        if matches!(appended, Err(Error::Locked { .. })) && state.blocked_until.is_none() {
            state.blocked_until = Some(Instant::now() + LOCK_PAUSE);
        }
        if appended.is_err() && !self.options.required {
            state.unrecorded += 1;
        }
        let was_failing = std::mem::replace(&mut state.has_failed, appended.is_err());
        appended.map(Some).or_else(|error| {
            if !was_failing {
                log::error!(
                    "nothing is recorded in the audit log reason={:?}",
                    error.to_string()
                );
            }
            match self.options.required {
                true => Err(format!("it cannot be recorded in the audit log: {error}")),
                false => Ok(Some(0)),
            }
        })
    }
}

impl End {
    /// Begins a file behind the record with this number and this hash.
    fn create(folder: &Path, number: u64, seq: u64, hash: String) -> Result<Self> {
        let path = log_files::path_of(folder, number);
        let mut options = OpenOptions::new();
        options.create_new(true).append(true);
        let file = private(&mut options).open(&path);
        let file = file.map_err(Error::io("create", &path))?;
        Ok(End {
            number,
            path,
            file: Arc::new(file),
            size: 0,
            seq,
            hash,
            day: String::new(),
            is_cut: false,
        })
    }

    /// The end of a file, and whether it is finished.
    fn read(folder: &Path, number: u64) -> Result<(Self, bool)> {
        let path = log_files::path_of(folder, number);
        let mut options = OpenOptions::new();
        let file = open_regular_with(options.append(true), &path);
        let file = file.map_err(Error::io("open", &path))?;
        let size = file.metadata().map_err(Error::io("read", &path))?.len();
        let mut end = End {
            number,
            path: path.clone(),
            file: Arc::new(file),
            size,
            seq: 0,
            hash: NO_HASH.to_owned(),
            day: String::new(),
            is_cut: false,
        };
        let mut is_finished = false;
        for from in [size.saturating_sub(TAIL), 0] {
            let Some(mut lines) = Lines::open(&path, from)? else {
                break;
            };
            let mut has_record = false;
            while let Some((line, ending)) = lines.next().map_err(Error::io("read", &path))? {
                end.is_cut = ending == Ending::None;
                if let Ok((record, hash)) = Record::read(&line) {
                    has_record = true;
                    is_finished = record.kind == "closed";
                    end.date(&record);
                    (end.seq, end.hash) = (record.seq, hash);
                }
            }
            if has_record {
                break;
            }
        }
        if end.seq == 0 && size > 0 {
            log::error!("the audit log has no readable record file={path:?}");
        }
        Ok((end, is_finished))
    }

    /// Keeps the day of the last record; the one that finishes a file may be of a later day.
    fn date(&mut self, record: &Record) {
        if self.day != record.day() && record.kind != "closed" {
            self.day = record.day().to_owned();
        }
    }

    /// How long ago the day of the last record was.
    fn age(&self) -> Option<Duration> {
        let day = Utc::parse(&format!("{}T00:00:00Z", self.day))?;
        let seconds = unix_seconds() - day.unix_seconds();
        u64::try_from(seconds).ok().map(Duration::from_secs)
    }

    /// Whether its file still has its name.
    fn is_in_place(&self) -> bool {
        let ours = self.file.metadata().and_then(|it| Stamp::of(&it));
        let named = files::stamp(&self.path);
        ours.is_ok_and(|ours| named.is_ok_and(|named| named == Some(ours)))
    }

    /// Whether no other process has written since.
    fn is_current(&self) -> bool {
        let metadata = self.file.metadata();
        metadata.is_ok_and(|it| it.len() == self.size && sys::file_owner::links(&it) > 0)
    }

    /// Appends a record with one write; returns its number. If that fails, nothing of it is left.
    fn write(&mut self, mut record: Record, line: &mut Vec<u8>) -> Result<u64> {
        record.seq = self.seq.saturating_add(1);
        record.prev = std::mem::take(&mut self.hash);
        line.clear();
        if self.is_cut {
            line.push(b'\n');
        }
        let hash = record.write(line);
        let written = match &hash {
            Some(_) => (&*self.file).write_all(line),
            None => Err(std::io::ErrorKind::InvalidData.into()),
        };
        if let Err(error) = written {
            // What was written of it would be taken for a record that was changed.
            let _ = self.file.set_len(self.size);
            return Err(Error::io("write", &self.path)(error));
        }
        self.size += line.len() as u64;
        self.seq = record.seq;
        self.date(&record);
        self.hash = hash.unwrap_or_default();
        self.is_cut = false;
        Ok(record.seq)
    }
}

#[cfg(test)]
mod tests;
