//! Writes the files of a root into an archive, while other processes change them.

use crate::contents::{FIRST, First, LAST, Last, LeftOut, Listed, copy_hashed, to_text};
use crate::json;
use crate::root_files::{Found, RootFiles};
use crate::store::{Error, Paths, Result, files};
use crate::sys::file_owner::owner_and_mode;
use crate::sys::fs::{private, rename, sync_data};
use crate::tar::{Header, write_end, write_header, write_padding};
use serde::de::IgnoredAny;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest line without an end that may be a whole one, in bytes.
const MAX_LINE: u64 = 256 << 20;

/// What was written.
pub(crate) struct Written {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Writes an archive to the file `target`, which has its old content until the new one is complete.
///
/// # Errors
/// When a file cannot be read or the archive cannot be written. Nothing of it is left then.
pub(crate) fn write_file(paths: &Paths, target: &Path, has_secrets: bool) -> Result<Written> {
    let temporary = files::beside(target, ".", ".tmp");
    let is_left = files::if_exists(fs::remove_file(&temporary));
    is_left.map_err(Error::io("remove the left-over", &temporary))?;
    let file = private(OpenOptions::new().write(true).create_new(true)).open(&temporary);
    let file = file.map_err(Error::io("create", &temporary))?;
    let written = write(paths, &mut BufWriter::new(&file), target, has_secrets);
    let written = written.and_then(|written| {
        sync_data(&file).map_err(Error::io("write", target))?;
        rename(&temporary, target).map_err(Error::io("replace", target))?;
        Ok(written)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    let written = written?;
    files::sync_names(files::parent(target))?;
    Ok(written)
}

/// Writes an archive to `out`, which is called `target` in errors.
///
/// # Errors
/// As [`write_file`].
pub(crate) fn write(
    paths: &Paths,
    out: &mut impl Write,
    target: &Path,
    has_secrets: bool,
) -> Result<Written> {
    let all = RootFiles::list(paths, has_secrets)?;
    let unwritable = || Error::io("write", target);
    let first = to_text(&First::new(all.left_out.clone())).map_err(unwritable())?;
    write_text(out, FIRST, &first).map_err(unwritable())?;
    let (mut last, mut bytes) = (Last::default(), 0);
    let mut gone = None;
    for found in &all.found {
        if gone
            .as_ref()
            .is_some_and(|gone: &String| found.name.starts_with(gone))
        {
            continue;
        }
        match write_found(out, found, target)? {
            Some(listed) => {
                bytes += listed.size;
                last.files.push(listed);
            }
            // The rest of a session that was deleted is not one.
            None => {
                let session = found.name.strip_suffix("session.json");
                gone = session.map(str::to_owned).or(gone);
            }
        }
    }
    let text = to_text(&last).map_err(unwritable())?;
    let ended = write_text(out, LAST, &text).and_then(|()| write_end(out));
    ended.and_then(|()| out.flush()).map_err(unwritable())?;
    Ok(Written {
        files: last.files.iter().filter(|it| !it.sha256.is_empty()).count(),
        bytes,
        left_out: all.left_out,
    })
}

fn write_text(out: &mut impl Write, name: &str, text: &[u8]) -> io::Result<()> {
    let header = Header {
        name: name.to_owned(),
        is_folder: false,
        is_executable: false,
        size: text.len() as u64,
        modified: seconds(SystemTime::now()),
    };
    write_header(out, &header)?;
    out.write_all(text)?;
    write_padding(out, header.size)
}

/// Writes a file or folder; `None` if it does not exist any more.
fn write_found(out: &mut impl Write, found: &Found, target: &Path) -> Result<Option<Listed>> {
    let unreadable = || Error::io("read", &found.path);
    let unwritable = || Error::io("write", target);
    let mut header = Header {
        name: found.name.clone(),
        is_folder: found.is_folder,
        is_executable: false,
        size: 0,
        modified: seconds(SystemTime::now()),
    };
    if found.is_folder {
        write_header(out, &header).map_err(unwritable())?;
        return Ok(Some(Listed {
            name: header.name,
            ..Listed::default()
        }));
    }
    let Some(mut file) = files::open(&found.path)? else {
        return Ok(None);
    };
    let metadata = file.metadata().map_err(unreadable())?;
    header.modified = metadata.modified().map_or(0, seconds);
    header.is_executable = is_executable(&metadata);
    header.size = if found.path.extension().is_some_and(|it| it == "jsonl") {
        whole_lines(&mut file, metadata.len()).map_err(unreadable())?
    } else {
        metadata.len()
    };
    file.rewind().map_err(unreadable())?;
    write_header(out, &header).map_err(unwritable())?;
    let mut failed = None;
    let copied = copy_hashed(&mut file, header.size, |bytes| {
        out.write_all(bytes).map_err(|error| {
            failed = Some(error);
            io::ErrorKind::Other.into()
        })
    });
    if let Some(error) = failed {
        return Err(unwritable()(error));
    }
    let sha256 = match copied {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(Error::Changing {
                path: found.path.clone(),
            });
        }
        copied => copied.map_err(unreadable())?,
    };
    write_padding(out, header.size).map_err(unwritable())?;
    Ok(Some(Listed {
        name: header.name,
        size: header.size,
        sha256,
    }))
}

/// How many of the first `size` bytes are whole lines: all, unless a line is being written. A last line without an end
/// is whole if it is JSON.
fn whole_lines(file: &mut File, size: u64) -> io::Result<u64> {
    const STEP: u64 = 64 << 10;
    let mut end = size;
    while end > 0 {
        let begin = end.saturating_sub(STEP);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(begin))?;
        (&mut *file).take(end - begin).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            end = begin + at as u64 + 1;
            break;
        }
        end = begin;
    }
    if end == size || size - end > MAX_LINE {
        return Ok(end);
    }
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(end))?;
    (&mut *file).take(size - end).read_to_end(&mut tail)?;
    let is_whole = tail.len() as u64 == size - end && json::from_slice::<IgnoredAny>(&tail).is_ok();
    Ok(if is_whole { size } else { end })
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn is_executable(metadata: &fs::Metadata) -> bool {
    owner_and_mode(metadata).is_some_and(|(_, mode)| mode & 0o100 != 0)
}
