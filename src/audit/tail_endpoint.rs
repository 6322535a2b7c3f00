//! `GET /audit/tail`: the last records of the log. An addition of gosling.

use crate::FOLDER;
use crate::log_files::{self, Ending, Lines};
use crate::record::Record;
use crate::store::{self, Error, files, settings};
use gosling_core::agent::Registry;
use gosling_core::http;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::path::Path;

/// How many records are told, unless the client sets a limit, and at most.
const DEFAULT_RECORDS: usize = 100;
const MAX_RECORDS: usize = 1_000;
/// How much of the end of the log is read, in bytes.
const WINDOW: u64 = 4 << 20;

/// The last records, the oldest first, as they are in the files.
pub(crate) fn tail(
    registry: &Registry,
    request: &http::Request,
) -> Result<http::Response, http::Error> {
    let limit = match request.query("limit") {
        None | Some("") => DEFAULT_RECORDS,
        Some(text) => (text.parse().ok())
            .filter(|limit| (1..=MAX_RECORDS).contains(limit))
            .ok_or_else(|| {
                let message = format!("`limit` is not a number from 1 to {MAX_RECORDS}");
                http::Error::bad_request(message)
            })?,
    };
    let stores = registry.stores();
    let records = last_records(&stores.paths.data.join(FOLDER), limit, WINDOW)?;
    let mode = settings::AUDIT.word(&stores.config);
    let answer = json!({"mode": mode, "records": records});
    Ok(http::Response::json(&answer))
}

/// Of the last files, until there are enough records or `left` bytes have been read.
fn last_records(folder: &Path, limit: usize, mut left: u64) -> store::Result<Vec<Box<RawValue>>> {
    let mut all: Vec<Box<RawValue>> = Vec::new();
    for number in log_files::numbers(folder)?.into_iter().rev() {
        let path = log_files::path_of(folder, number);
        let found = files::if_exists(path.metadata()).map_err(Error::io("read", &path))?;
        let size = found.map_or(0, |it| it.len());
        let mut records = records_of(&path, size.saturating_sub(left), limit - all.len())?;
        records.append(&mut all);
        all = records;
        left = left.saturating_sub(size);
        if all.len() >= limit || left == 0 {
            break;
        }
    }
    Ok(all)
}

/// The last records of a file that begin behind a position.
fn records_of(path: &Path, from: u64, most: usize) -> store::Result<Vec<Box<RawValue>>> {
    let mut last = VecDeque::new();
    let Some(mut lines) = Lines::open(path, from)? else {
        return Ok(Vec::new());
    };
    if from > 0 {
        // It begins before the position, or it is lost for being one of the oldest.
        lines.next().map_err(Error::io("read", path))?;
    }
    while let Some((line, ending)) = lines.next().map_err(Error::io("read", path))? {
        if ending != Ending::Whole || Record::read(&line).is_err() {
            continue;
        }
        let text = String::from_utf8(line).ok();
        last.extend(text.and_then(|text| RawValue::from_string(text).ok()));
        if last.len() > most {
            last.pop_front();
        }
    }
    Ok(last.into())
}

#[cfg(test)]
mod tests;
