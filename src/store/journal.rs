//! `messages.jsonl`: the messages of a session, one JSON object a line, appended.
//!
//! A line counts when it ends in a newline, or when it is the last one and is whole. What a crash
//! left of a line is ignored, and cut off before the next one is appended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::Value;

use super::{Error, Result, files};
use crate::sys::fs::{Stamp, private};

/// The messages in the file `path`; none if it is absent.
pub fn read(path: &Path) -> Result<Vec<Value>> {
    let Some(mut file) = files::open(path)? else {
        return Ok(Vec::new());
    };
    let mut content = Vec::new();
    file.read_to_end(&mut content)
        .map_err(Error::io("read", path))?;
    let (lines, tail) = content.split_at(end_of_lines(&content));
    let mut messages = Vec::new();
    for (index, line) in lines.split(|&byte| byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let message = serde_json::from_slice(line).map_err(|error| Error::Broken {
            path: path.to_owned(),
            line: index + 1,
            column: error.column(),
            reason: "this line is not JSON".to_owned(),
        })?;
        messages.push(message);
    }
    messages.extend(serde_json::from_slice::<Value>(tail).ok());
    Ok(messages)
}

/// Appends `messages` to the file `path` and to the disk: all of them, or none. Tells whether the
/// file is new, so that names above it may need to be made durable too.
///
/// The caller holds the lock of the session.
pub fn append(path: &Path, messages: &[Value]) -> Result<bool> {
    let mut lines = Vec::new();
    for message in messages {
        serde_json::to_writer(&mut lines, message)
            .map_err(|error| Error::io("write", path)(error.into()))?;
        lines.push(b'\n');
    }
    let is_new = files::stamp(path)?.is_none();
    let mut file = private(OpenOptions::new().read(true).append(true).create(true))
        .open(path)
        .map_err(Error::io("open", path))?;
    let end = mend(&mut file).map_err(Error::io("mend", path))?;
    if let Err(error) = file.write_all(&lines).and_then(|()| file.sync_data()) {
        let _ = file.set_len(end);
        return Err(Error::io("write", path)(error));
    }
    if is_new {
        files::sync_names(files::parent(path))?;
    }
    Ok(is_new)
}

/// Makes `file` end with a whole line, and tells its length then.
fn mend(file: &mut File) -> io::Result<u64> {
    let len = file.metadata()?.len();
    if len == 0 {
        return Ok(0);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(len);
    }
    let mut content = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut content)?;
    let end = end_of_lines(&content);
    if serde_json::from_slice::<Value>(&content[end..]).is_ok() {
        file.write_all(b"\n")?;
        return Ok(content.len() as u64 + 1);
    }
    file.set_len(end as u64)?;
    Ok(end as u64)
}

/// How many messages a file held when it was last looked at, so that only what was appended since
/// needs to be read.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    stamp: Stamp,
    /// Messages in all, a whole line without a newline at the end included.
    pub messages: usize,
    lines: usize,
    end: u64,
    /// What precedes `end`, to recognize a file that was replaced rather than appended to.
    seam: [u8; SEAM],
}

const SEAM: usize = 64;

/// Counts the messages in the file `path`, going on from `known`; `None` if it is absent.
pub fn count(path: &Path, known: Option<Count>) -> Result<Option<Count>> {
    let Some(mut file) = files::open(path)? else {
        return Ok(None);
    };
    let mut count = || -> io::Result<Count> {
        let stamp = Stamp::of(&file.metadata()?)?;
        let start = Count {
            stamp,
            messages: 0,
            lines: 0,
            end: 0,
            seam: [0; SEAM],
        };
        match known {
            Some(known) if known.stamp == stamp => Ok(known),
            Some(known) if known.end <= stamp.len && seam(&mut file, known.end)? == known.seam => {
                count_on(&mut file, Count { stamp, ..known })
            }
            _ => count_on(&mut file, start),
        }
    };
    count().map(Some).map_err(Error::io("read", path))
}

fn count_on(file: &mut File, mut count: Count) -> io::Result<Count> {
    file.seek(SeekFrom::Start(count.end))?;
    let mut buffer = vec![0; 64 << 10];
    let mut tail = Vec::new();
    loop {
        let len = file.read(&mut buffer)?;
        if len == 0 {
            break;
        }
        for piece in buffer[..len].split_inclusive(|&byte| byte == b'\n') {
            tail.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                count.lines += usize::from(tail.len() > 1);
                count.end += tail.len() as u64;
                tail.clear();
            }
        }
    }
    count.messages = count.lines + usize::from(serde_json::from_slice::<Value>(&tail).is_ok());
    count.seam = seam(file, count.end)?;
    Ok(count)
}

/// The bytes of `file` before `end`; fewer than there is room for only at its beginning.
fn seam(file: &mut File, end: u64) -> io::Result<[u8; SEAM]> {
    let start = end.saturating_sub(SEAM as u64);
    let mut bytes = [0; SEAM];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes[..(end - start) as usize])?;
    Ok(bytes)
}

fn end_of_lines(content: &[u8]) -> usize {
    content
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |newline| newline + 1)
}
