//! The line of a record: JSON, with the hash of the record before it, and its own at the end.

use crate::activity::{Caller, Entry};
use crate::argument_shape::shape;
use crate::store::settings::{self, Kind};
use crate::text::printable;
use gosling_shared::redact_credentials;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write;
use std::time::SystemTime;

/// What comes before the hash of a record, which ends its line.
const HASH: &str = ",\"hash\":\"";
/// The length of a hash in hexadecimal digits.
const HASH_LENGTH: usize = 64;
/// The hash before the first record of all.
pub(crate) const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The longest name, and the longest text in words, in characters.
const MAX_NAME: usize = 300;
const MAX_DETAIL: usize = 600;
/// The shortest text that has a credential in it, in bytes: an address with a user.
const MIN_CREDENTIAL: usize = 12;
/// The longest arguments whose shape is told, and the longest that are told whole, in bytes.
const MAX_SHAPED: usize = 64 << 10;
const MAX_VALUE: usize = 8 << 10;

/// A record as it is written; what is empty is left out.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub(crate) seq: u64,
    pub(crate) time: String,
    pub(crate) prev: String,
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<u64>,
    pub(crate) pid: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) front: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) address: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) session: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) extension: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) subject: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) request: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Arguments>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) decision: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) by: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) outcome: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) detail: String,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<usize>,
    /// The next file, in the last record of one; the file, in the record of its removal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) file: String,
    /// The last hash of the file that was removed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) last: String,
}

/// What is told of arguments.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Arguments {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) sha256: String,
    pub(crate) bytes: usize,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(crate) shape: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
}

impl Record {
    /// A record of this kind, of now.
    pub(crate) fn new(kind: &str) -> Self {
        Record {
            kind: kind.to_owned(),
            time: time_of(SystemTime::now()),
            pid: std::process::id(),
            ..Record::default()
        }
    }

    /// The record of an entry. `has_values`: arguments are told whole.
    pub(crate) fn of(caller: &Caller, entry: &Entry<'_>, has_values: bool) -> Self {
        let name = |text: &str| match text.len() < MIN_CREDENTIAL {
            true => printable(text, MAX_NAME),
            false => printable(&redact_credentials(text), MAX_NAME),
        };
        let is_setting = entry.kind == "setting";
        let tells = match is_setting {
            true => is_plain_setting(entry.subject),
            false => has_values,
        };
        // Others may quote a server, and so its secrets or the arguments.
        let is_ours = matches!(entry.kind, "refused") || entry.outcome == "denied";
        let detail = if has_values || is_ours {
            entry.detail
        } else {
            ""
        };
        Record {
            of: entry.of,
            turn: caller.turn,
            front: caller.front.to_owned(),
            key: name(caller.key.get().map_or("", String::as_str)),
            address: caller
                .address
                .map(|address| address.to_string())
                .unwrap_or_default(),
            session: name(entry.session),
            extension: name(entry.extension),
            subject: name(entry.subject),
            request: name(entry.request),
            arguments: Arguments::of(entry.arguments, tells, is_setting),
            decision: entry.decision.to_owned(),
            by: entry.by.to_owned(),
            outcome: name(entry.outcome),
            detail: printable(&redact_credentials(detail), MAX_DETAIL),
            ms: entry
                .took
                .map(|took| (took.as_secs_f64() * 1e6).round() / 1e3),
            bytes: entry.bytes,
            ..Record::new(entry.kind)
        }
    }

    /// The day on which it was made (UTC).
    pub(crate) fn day(&self) -> &str {
        self.time.get(..10).unwrap_or_default()
    }

    /// Appends its line to `out`, and returns its hash; `None` if it has no JSON form.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Option<String> {
        let begin = out.len();
        serde_json::to_writer(&mut *out, self).ok()?;
        // The brace comes after the hash.
        out.pop();
        let hash = hash_of(&out[begin..]);
        out.extend_from_slice(HASH.as_bytes());
        out.extend_from_slice(hash.as_bytes());
        out.extend_from_slice(b"\"}\n");
        Some(hash)
    }

    /// Reads a line, without its end; also returns its hash.
    ///
    /// # Errors
    /// Why it is no record, or not as it was written.
    pub(crate) fn read(line: &[u8]) -> Result<(Self, String), String> {
        let cut = || "it is no record, or a part of one".to_owned();
        let tail = HASH.len() + HASH_LENGTH + 2;
        let (hashed, end) = line
            .split_at_checked(line.len().wrapping_sub(tail))
            .ok_or_else(cut)?;
        let hash = end
            .strip_prefix(HASH.as_bytes())
            .and_then(|end| end.strip_suffix(b"\"}"));
        let hash = hash
            .and_then(|hash| str::from_utf8(hash).ok())
            .ok_or_else(cut)?;
        if hash_of(hashed) != hash {
            return Err("it was changed: its hash does not fit".to_owned());
        }
        let record: Record =
            crate::json::from_slice(line).map_err(|error| format!("it cannot be read: {error}"))?;
        Ok((record, hash.to_owned()))
    }
}

impl Arguments {
    /// Of settings whose values are not told, the hash is not either: many are short enough to be guessed.
    fn of(text: &[u8], tells: bool, is_setting: bool) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let small = Some(text).filter(|text| text.len() <= MAX_SHAPED);
        let value: Option<Value> = small.and_then(|text| crate::json::from_slice(text).ok());
        let told = Some(text).filter(|text| tells && text.len() <= MAX_VALUE);
        let told = told.map(|text| {
            let text = String::from_utf8_lossy(text);
            printable(&redact_credentials(&text), MAX_VALUE)
        });
        Some(Arguments {
            sha256: match is_setting && !tells {
                true => String::new(),
                false => hash_of(text),
            },
            bytes: text.len(),
            shape: value.as_ref().map(shape).unwrap_or_default(),
            value: told,
        })
    }
}

/// Whether the value of a setting may be told: it is a number, a switch or one of some words, or names the model.
fn is_plain_setting(name: &str) -> bool {
    let known = settings::find(&name.to_ascii_uppercase());
    known.is_some_and(|setting| {
        let is_model = [settings::PROVIDER.name, settings::MODEL.name].contains(&setting.name);
        let kind = setting.kind;
        is_model
            || matches!(
                kind,
                Kind::Count(..) | Kind::Number(..) | Kind::Switch | Kind::Words(_)
            )
    })
}

/// SHA-256 in hexadecimal digits.
fn hash_of(bytes: &[u8]) -> String {
    let digest = digest(&SHA256, bytes);
    let mut text = String::with_capacity(HASH_LENGTH);
    for byte in digest.as_ref() {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or_default());
        }
    }
    text
}

/// What begins a line, with the hash that it has to have.
#[cfg(any(test, fuzzing))]
pub(crate) fn sealed(begin: &[u8]) -> Vec<u8> {
    let hash = hash_of(begin);
    [begin, HASH.as_bytes(), hash.as_bytes(), b"\"}"].concat()
}

/// A time in UTC with milliseconds (RFC 3339).
fn time_of(now: SystemTime) -> String {
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let mut text = crate::sys::clock::Utc::from_unix(seconds).to_string();
    text.pop();
    let _ = write!(text, ".{:03}Z", since.subsec_millis());
    text
}

#[cfg(test)]
mod tests;
