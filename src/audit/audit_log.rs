//! Appends records to the log, which several processes share: each holds the lock for one write, and a server for many
//! while it is the only one that writes.

use crate::activity::{Caller, Entry, Recorder};
use crate::deferred::Deferred;
use crate::draft::{Draft, day_in};
use crate::log_end::End;
use crate::log_files;
use crate::log_lock::{KeptLock, LogLock};
use crate::record::NO_HASH;
use crate::store::file_lock::FileLock;
use crate::store::{Error, Result, files};
use crate::sys::clock::Utc;
use crate::sys::threads::with_origin;
use crate::sys::{self, lock};
use crate::{Options, Sync};
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long nothing waits for the lock after another process has held it for too long.
const LOCK_PAUSE: Duration = Duration::from_secs(5);
/// How many refused requests are recorded in a second; of more only the number is.
const MAX_REFUSED: u64 = 20;
/// A record that takes longer waits for the disk, with the lock held nearly all the time.
const SLOW_WRITE: Duration = Duration::from_millis(1);
/// The longest pause between two attempts of a process that waits for the lock.
const LONGEST_POLL: Duration = Duration::from_millis(20);
/// How long the clock has to go on after a jump until the age of files is counted with it, in seconds.
const TRUSTED_AFTER: i64 = 7 * 24 * 3600;
/// How often what was written is on the disk with [`Sync::Second`], and the files are looked for.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The log of one root.
pub(crate) struct AuditLog {
    options: Options,
    shared: Arc<Shared>,
}

/// What the thread of the log needs.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// What ends while many records follow each other, to be written with the next of them: one write and one wait for
    /// `state` less for each call of a tool. It may be locked by who has locked `state`.
    deferred: Mutex<Deferred>,
    /// There is something to do for the thread.
    has_work: Condvar,
}

#[derive(Default)]
struct State {
    lock: Option<LogLock>,
    kept: KeptLock,
    end: Option<End>,
    /// The number and the hash of the record that this process has written or seen last.
    last: (u64, String),
    /// What was deferred and is being written, and how many of these records are not yet.
    taken: Deferred,
    unwritten: usize,
    refused: Refused,
    /// How many entries could not be recorded since then.
    unrecorded: u64,
    /// When it was looked whether the files are still in their places.
    looked: Option<Instant>,
    /// Until when nothing waits for the lock.
    blocked_until: Option<Instant>,
    /// Whether the log could not be written last time.
    has_failed: bool,
    /// The file that the thread makes durable, and when.
    unsynced: Option<(Arc<File>, Instant)>,
    /// Releases the lock and makes records durable; started when there is something to do for it.
    thread: Option<JoinHandle<()>>,
    is_closed: bool,
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

impl State {
    /// Takes the records that were deferred, which are to be written. `is_open`: more may be deferred.
    fn take(&mut self, deferred: &Mutex<Deferred>, is_open: bool) {
        lock(deferred).take(&mut self.taken, is_open);
        self.unwritten = self.taken.iter().len();
    }

    /// Writes what was appended to the log, whose end this is. If that fails, the end has to be found again.
    fn write(&mut self, mut end: End) -> Result<End> {
        end.flush()?;
        self.unwritten = 0;
        self.unrecorded = 0;
        self.last.0 = end.seq;
        self.last.1.clone_from(&end.hash);
        Ok(end)
    }

    /// Writes the records that were deferred; no more are from now on.
    fn end_deferral(&mut self, deferred: &Mutex<Deferred>) {
        self.take(deferred, false);
        // Who fails to append loses the end, and ends the deferral.
        let Some(mut end) = self.end.take_if(|_| self.unwritten > 0) else {
            return;
        };
        self.append_taken(&mut end);
        match self.write(end) {
            Ok(end) => self.end = Some(end),
            Err(error) => {
                self.lose(deferred);
                log::error!(
                    "records are lost from the audit log reason={:?}",
                    error.to_string()
                );
            }
        }
    }

    /// Appends the records that were taken.
    fn append_taken(&self, end: &mut End) {
        for members in self.taken.iter() {
            end.append(members);
        }
    }

    /// Counts the records that were deferred and are not written. No more are deferred from now on.
    fn lose(&mut self, deferred: &Mutex<Deferred>) {
        let taken = self.unwritten;
        self.take(deferred, false);
        self.unrecorded += (taken + self.unwritten) as u64;
        self.unwritten = 0;
    }
}

impl AuditLog {
    /// The log in the folder of the options. Nothing is read or created yet.
    pub(crate) fn new(options: Options) -> Self {
        AuditLog {
            options,
            shared: Arc::default(),
        }
    }

    /// Appends a record, after those that were deferred and the number of the refused requests that have none; returns
    /// its number.
    ///
    /// While the lock is kept and much is recorded, the end of something is written together with the next record, or
    /// when the lock is released.
    fn append(&self, state: &mut State, draft: &Draft, now: Instant) -> Result<u64> {
        let was_kept = state.kept.due().is_some();
        let held = self.hold_lock(state, now)?;
        let keeps = self.options.keeps_lock && state.kept.count(now) && self.has_thread(state);
        let mut end = self.end(state)?;
        let may_defer = keeps && self.may_defer() && state.kept.is_busy();
        state.take(&self.shared.deferred, may_defer);
        state.append_taken(&mut end);
        let more = state.refused.next_second();
        if more > 0 {
            let detail = format!("{more} more requests were refused within a second");
            let summary = Draft::note(draft.time(), "refused", &[("detail", &detail)]);
            end.append(&summary.members);
        }
        if state.unrecorded > 0 {
            let detail = format!("{} entries could not be recorded", state.unrecorded);
            let gap = Draft::note(draft.time(), "gap", &[("detail", &detail)]);
            end.append(&gap.members);
        }
        // A clock that jumps back begins no file.
        let is_later = !end.day.is_empty() && *day_in(&draft.members) > *end.day;
        if end.size > self.options.file_size || is_later {
            end = self.begin_file(state, end, draft.time())?;
        }
        let seq = end.append(&draft.members);
        end.date(day_in(&draft.members));
        let end = state.write(end)?;
        self.sync(state, &end, now)?;
        state.end = Some(end);
        if keeps {
            state.kept.keep(held);
            if !was_kept {
                self.shared.has_work.notify_one();
            }
            return Ok(seq);
        }
        drop(held);
        if let Some(lock) = &state.lock
            && now.elapsed() > SLOW_WRITE
            && lock.is_wanted()
        {
            // Otherwise the lock would be free only while that process pauses.
            thread::sleep(LONGEST_POLL);
        }
        Ok(seq)
    }

    /// Whether the end of something may be written a little later: it is not what has to be known before it happens.
    fn may_defer(&self) -> bool {
        !self.options.required && self.options.sync != Sync::Each
    }

    /// The end of the log, which is found if it is not known.
    fn end(&self, state: &mut State) -> Result<End> {
        let mut end = match state.end.take() {
            Some(end) => end,
            None => self.find_end()?,
        };
        if end.seq < state.last.0 {
            let (lost, seq) = (end.seq, state.last.0);
            log::error!("the end of the audit log was removed is_at={lost} was_at={seq}");
            // So that the verification finds it.
            (end.seq, end.hash) = state.last.clone();
        }
        Ok(end)
    }

    /// Takes the lock, or the one that was kept. The end of the log is no longer known if it is another one now.
    fn hold_lock(&self, state: &mut State, now: Instant) -> Result<FileLock> {
        if state.looked.is_none_or(|at| now > at + SYNC_INTERVAL) {
            state.looked = Some(now);
            // Otherwise two processes could hold locks of different files for long.
            state.lock.take_if(|lock| !lock.is_in_place());
            state.end.take_if(|end| !end.is_in_place());
        }
        let lock = match &mut state.lock {
            Some(lock) => lock,
            missing => {
                // The files may have been moved away with it.
                state.end = None;
                drop(state.kept.take());
                files::ensure_dir(&self.options.folder)?;
                missing.insert(LogLock::open(&self.options.folder)?)
            }
        };
        let (held, is_shared, is_due) = match state.kept.take() {
            Some(held) => {
                let is_due = state.kept.is_check_due(now);
                (held, is_due && lock.is_wanted(), is_due)
            }
            None => {
                let (held, was_shared) = lock.acquire()?;
                (held, was_shared, true)
            }
        };
        if is_shared {
            state.kept.share(now);
        }
        if is_due {
            state.end = state.end.take().and_then(End::follow);
        }
        Ok(held)
    }

    /// The end of the log as it is on the disk; begins the first file, and the one that follows a finished one.
    fn find_end(&self) -> Result<End> {
        let folder = &self.options.folder;
        let mut numbers = log_files::numbers(folder)?;
        let Some(number) = numbers.pop() else {
            return self.create(1, 0, NO_HASH.to_owned());
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
            true => self.create(number + 1, end.seq, end.hash),
            false => Ok(end),
        }
    }

    /// Begins a file behind the record with this number and this hash.
    fn create(&self, number: u64, seq: u64, hash: String) -> Result<End> {
        let end = End::create(&self.options.folder, number, seq, hash)?;
        if self.options.sync != Sync::None {
            files::sync_names(&self.options.folder)?;
        }
        Ok(end)
    }

    /// Finishes a file and begins the next one at this time; removes those that are too old.
    fn begin_file(&self, state: &mut State, mut end: End, now: &str) -> Result<End> {
        let file = log_files::name_of(end.number + 1);
        end.append(&Draft::note(now, "closed", &[("file", &file)]).members);
        let end = state.write(end)?;
        if self.options.sync != Sync::None {
            end.sync()?;
        }
        let mut next = self.create(end.number + 1, end.seq, end.hash)?;
        let old = self.old_files(next.number, now).unwrap_or_else(|error| {
            log::warn!("old files of the audit log not found reason={error}");
            Vec::new()
        });
        for (number, hash) in old {
            let file = log_files::name_of(number);
            let removed = Draft::note(now, "removed", &[("file", &file), ("last", &hash)]);
            next.append(&removed.members);
            next.flush()?;
            let path = log_files::path_of(&self.options.folder, number);
            if let Err(error) = fs::remove_file(&path) {
                log::warn!("old file of the audit log not removed file={path:?} reason={error}");
                break;
            }
        }
        Ok(next)
    }

    /// The numbers and the last hashes of the files before this one whose last record is too old at this time.
    fn old_files(&self, before: u64, now: &str) -> Result<Vec<(u64, String)>> {
        let folder = &self.options.folder;
        let mut old = Vec::new();
        let (Some(keep), Some(today)) = (self.options.keep, now.get(..10).and_then(midnight))
        else {
            return Ok(old);
        };
        let keep = i64::try_from(keep.as_secs()).unwrap_or(i64::MAX);
        let mut numbers = log_files::numbers(folder)?;
        numbers.retain(|number| *number != before);
        let mut trusted = None;
        for number in &numbers {
            let (end, _) = End::read(folder, *number)?;
            let is_old = |at: i64| midnight(&end.day).is_some_and(|day| at - day > keep);
            if !is_old(today) {
                break;
            }
            if trusted.is_none() {
                trusted = trusted_time(folder, &numbers, today, keep)?;
            }
            if !trusted.is_some_and(is_old) {
                break;
            }
            old.push((*number, end.hash));
        }
        Ok(old)
    }

    fn sync(&self, state: &mut State, end: &End, now: Instant) -> Result<()> {
        match self.options.sync {
            Sync::None => {}
            Sync::Each => end.sync()?,
            Sync::Second => {
                let due = state.unsynced.take().map(|(_, due)| due);
                if due.is_none() && !self.has_thread(state) {
                    return end.sync();
                }
                // A file that was finished since is on the disk already.
                let file = end.file.clone();
                state.unsynced = Some((file, due.unwrap_or(now + SYNC_INTERVAL)));
                if due.is_none() {
                    self.shared.has_work.notify_one();
                }
            }
        }
        Ok(())
    }

    /// Whether the thread runs; starts it if it does not.
    fn has_thread(&self, state: &mut State) -> bool {
        if state.thread.is_none() {
            let shared = self.shared.clone();
            let work = move || shared.work();
            let started = with_origin(None, || {
                sys::spawn("audit".to_owned(), Some(sys::SMALL_STACK), work)
            });
            state.thread = started.ok();
        }
        state.thread.is_some()
    }
}

impl Shared {
    /// Releases a kept lock and makes records durable when it is time, until the log is closed.
    fn work(&self) {
        let mut state = lock(&self.state);
        while !state.is_closed {
            let now = Instant::now();
            if state.kept.due().is_some_and(|due| due <= now) {
                state.end_deferral(&self.deferred);
                drop(state.kept.take());
            }
            if let Some((file, _)) = state.unsynced.take_if(|(_, due)| *due <= now) {
                state.end_deferral(&self.deferred);
                drop(state);
                sync(&file);
                state = lock(&self.state);
                continue;
            }
            let sync_due = state.unsynced.as_ref().map(|(_, due)| *due);
            let due = state.kept.due().into_iter().chain(sync_due).min();
            state = match due {
                None => {
                    let woken = self.has_work.wait(state);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
                Some(due) => {
                    let woken = self.has_work.wait_timeout(state, due - now);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

fn sync(file: &File) {
    if let Err(error) = file.sync_data() {
        log::error!("audit log not synced reason={error}");
    }
}

/// The time up to which the clock is trusted: a week behind the newest file that was begun at least a week ago. So a
/// clock that jumps ahead makes no file old, until it has gone on from there for a week.
fn trusted_time(folder: &Path, numbers: &[u64], today: i64, keep: i64) -> Result<Option<i64>> {
    let week = TRUSTED_AFTER.min(keep);
    for number in numbers.iter().rev() {
        let begun = midnight(&log_files::first_day(folder, *number)?);
        if let Some(begun) = begun.filter(|begun| today - begun >= week) {
            return Ok(Some(begun + week));
        }
    }
    Ok(None)
}

/// The beginning of a day, in seconds since 1970.
fn midnight(day: &str) -> Option<i64> {
    Some(Utc::parse(day)?.unix_seconds())
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        let (thread, unsynced) = {
            let mut state = lock(&self.shared.state);
            state.is_closed = true;
            state.end_deferral(&self.shared.deferred);
            (state.thread.take(), state.unsynced.take())
        };
        self.shared.has_work.notify_one();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        if let Some((file, _)) = unsynced {
            sync(&file);
        }
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
        let draft = Draft::of(caller, entry, self.options.has_values);
        if draft.is_end && lock(&self.shared.deferred).push(&draft) {
            draft.recycle();
            return Ok(None);
        }
        let mut state = lock(&self.shared.state);
        if entry.kind == "refused" {
            state.refused.count += 1;
            if state.refused.count > MAX_REFUSED
                && state.refused.begin.elapsed() < Duration::from_secs(1)
            {
                return Ok(None);
            }
        }
        let now = Instant::now();
        state.blocked_until.take_if(|until| *until < now);
        let appended = match state.blocked_until {
            Some(_) => Err(Error::Locked {
                path: self.options.folder.join("lock"),
                waited: Duration::ZERO,
            }),
            None => self.append(&mut state, &draft, now),
        };
        if matches!(appended, Err(Error::Locked { .. })) && state.blocked_until.is_none() {
            state.blocked_until = Some(Instant::now() + LOCK_PAUSE);
        }
        if appended.is_err() {
            state.lose(&self.shared.deferred);
            state.unrecorded += u64::from(!self.options.required);
        }
        let was_failing = std::mem::replace(&mut state.has_failed, appended.is_err());
        drop(state);
        draft.recycle();
        appended.map(Some).or_else(|error| {
            if !was_failing {
                log::error!(
                    "nothing is recorded in the audit log reason={:?}",
                    error.to_string()
                );
            }
            match self.options.required {
                true => Err(format!("it cannot be recorded in the audit log: {error}")),
                false => Ok(None),
            }
        })
    }
}

#[cfg(test)]
mod tests;
