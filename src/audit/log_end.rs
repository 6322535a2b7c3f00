//! The end of the log, to which the next record is appended.

use crate::draft::{self, day_in};
use crate::log_files::{self, Ending, Lines};
use crate::record::{NO_HASH, Record};
use crate::store::{Error, Result, files};
use crate::sys;
use crate::sys::fs::{FileCalls, Stamp, open_regular_with, private};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much of the end of a file is read to find its last record: several of the longest.
const TAIL: u64 = 256 << 10;

/// The end of the log: of its last file.
pub(crate) struct End {
    pub(crate) number: u64,
    path: PathBuf,
    pub(crate) file: Arc<File>,
    /// With the records that are not yet written.
    pub(crate) size: u64,
    pub(crate) seq: u64,
    pub(crate) hash: String,
    /// The day of the last record (UTC); empty before the first.
    pub(crate) day: String,
    /// The last line has no end, because a process ended while it wrote it.
    is_cut: bool,
    /// The lines of the records that are not yet written.
    unwritten: Vec<u8>,
}

impl End {
    /// Begins a file behind the record with this number and this hash.
    pub(crate) fn create(folder: &Path, number: u64, seq: u64, hash: String) -> Result<Self> {
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
            unwritten: Vec::new(),
        })
    }

    /// The end of a file, and whether it is finished.
    pub(crate) fn read(folder: &Path, number: u64) -> Result<(Self, bool)> {
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
            unwritten: Vec::new(),
        };
        log_files::check_format(&path)?;
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
                    if !is_finished {
                        end.date(record.day());
                    }
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
    pub(crate) fn date(&mut self, day: &str) {
        if self.day != day {
            day.clone_into(&mut self.day);
        }
    }

    /// Whether its file still has its name.
    pub(crate) fn is_in_place(&self) -> bool {
        let ours = self.file.metadata().and_then(|it| Stamp::of(&it));
        let named = files::stamp(&self.path);
        ours.is_ok_and(|ours| named.is_ok_and(|named| named == Some(ours)))
    }

    /// The end after what other processes have appended; `None` if the files have to be read for it.
    pub(crate) fn follow(mut self) -> Option<Self> {
        let metadata = self.file.metadata().ok()?;
        if sys::file_owner::links(&metadata) == 0 {
            return None;
        }
        let added = metadata.len().checked_sub(self.size)?;
        if added == 0 {
            return Some(self);
        }
        if added > TAIL {
            return None;
        }
        let mut lines = Lines::open(&self.path, self.size).ok()??;
        while let Some((line, ending)) = lines.next().ok()? {
            let (record, hash) = Record::read(&line).ok()?;
            let follows = record.prev == self.hash && record.seq == self.seq + 1;
            if !follows || ending != Ending::Whole || record.kind == "closed" {
                return None;
            }
            self.date(record.day());
            (self.seq, self.hash) = (record.seq, hash);
        }
        self.size = lines.at;
        (self.size == metadata.len()).then_some(self)
    }

    /// Makes sure that what was written is on the disk.
    pub(crate) fn sync(&self) -> Result<()> {
        let synced = self.file.sync_data();
        synced.map_err(Error::io("sync", &self.path))
    }

    /// Appends a record of these members, which [`flush`](Self::flush) writes; returns its number.
    pub(crate) fn append(&mut self, members: &[u8]) -> u64 {
        let format = (self.size == 0).then_some(1);
        let begin = self.unwritten.len();
        if self.is_cut {
            self.unwritten.push(b'\n');
        }
        self.seq = self.seq.saturating_add(1);
        self.hash = draft::write_line(&mut self.unwritten, self.seq, &self.hash, format, members);
        self.size += (self.unwritten.len() - begin) as u64;
        // Otherwise an end that was deferred would hide that a day has begun.
        if self.day.is_empty() {
            self.date(day_in(members));
        }
        self.is_cut = false;
        self.seq
    }

    /// Writes the records that were appended, with one write. If that fails, nothing of them is left in the file, and
    /// this is its end no longer.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let written = (&*self.file).write_all(&self.unwritten);
        if written.is_err() {
            // What was written of them would be taken for records that were changed.
            let size = self.size - self.unwritten.len() as u64;
            let _ = FileCalls::set_len(&self.file, size);
        }
        self.unwritten.clear();
        written.map_err(Error::io("write", &self.path))
    }
}
