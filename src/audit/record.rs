//! The line of a record: JSON, with the hash of the record before it, and its own at the end.

use crate::activity::{Caller, Entry};
use crate::argument_shape::Shape;
use crate::members::Members;
use crate::store::settings::{self, Kind};
use crate::text::printable;
use gosling_shared::redact_credentials;
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::SystemTime;

/// What comes before the hash of a record, which ends its line.
pub(crate) const HASH: &str = ",\"hash\":\"";
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

/// The process, asked of the system once.
static PID: LazyLock<u32> = LazyLock::new(std::process::id);

/// A record as it is written; what is empty is left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Record<'a> {
    pub(crate) seq: u64,
    pub(crate) time: Cow<'a, str>,
    pub(crate) prev: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    pub(crate) of: Option<u64>,
    pub(crate) turn: Option<u64>,
    pub(crate) pid: u32,
    pub(crate) front: Cow<'a, str>,
    pub(crate) key: Cow<'a, str>,
    pub(crate) address: Cow<'a, str>,
    pub(crate) session: Cow<'a, str>,
    pub(crate) extension: Cow<'a, str>,
    pub(crate) subject: Cow<'a, str>,
    pub(crate) request: Cow<'a, str>,
    pub(crate) arguments: Option<Arguments>,
    pub(crate) decision: Cow<'a, str>,
    pub(crate) by: Cow<'a, str>,
    pub(crate) outcome: Cow<'a, str>,
    pub(crate) detail: Cow<'a, str>,
    /// Milliseconds.
    pub(crate) ms: Option<f64>,
    pub(crate) bytes: Option<usize>,
    /// The next file, in the last record of one; the file, in the record of its removal.
    pub(crate) file: Cow<'a, str>,
    /// The last hash of the file that was removed.
    pub(crate) last: Cow<'a, str>,
}

/// What is told of arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Arguments {
    pub(crate) sha256: String,
    pub(crate) bytes: usize,
    pub(crate) shape: Shape,
    pub(crate) value: Option<String>,
}

impl<'a> Record<'a> {
    /// A record of this kind, of now.
    pub(crate) fn new(kind: &'a str) -> Self {
        Record {
            kind: kind.into(),
            time: time_of(SystemTime::now()).into(),
            pid: *PID,
            ..Record::default()
        }
    }

    /// The record of an entry. `has_values`: arguments are told whole.
    pub(crate) fn of(caller: &'a Caller, entry: &Entry<'a>, has_values: bool) -> Self {
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
        let address = caller.address.map(address_of);
        Record {
            of: entry.of,
            turn: caller.turn,
            front: caller.front.into(),
            key: told(caller.key.get().map_or("", String::as_str), MAX_NAME),
            address: address.unwrap_or_default().into(),
            session: told(entry.session, MAX_NAME),
            extension: told(entry.extension, MAX_NAME),
            subject: told(entry.subject, MAX_NAME),
            request: told(entry.request, MAX_NAME),
            arguments: Arguments::of(entry.arguments, tells, is_setting),
            decision: entry.decision.into(),
            by: entry.by.into(),
            outcome: told(entry.outcome, MAX_NAME),
            detail: told(detail, MAX_DETAIL),
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

    /// Writes its members, but for its number and the hash of the record before it.
    pub(crate) fn write_members(&self, out: &mut Members<'_>) {
        out.plain("time", &self.time);
        out.plain("kind", &self.kind);
        out.optional("of", self.of);
        out.optional("turn", self.turn);
        out.number("pid", self.pid.into());
        out.plain("front", &self.front);
        out.text("key", &self.key);
        out.text("address", &self.address);
        out.text("session", &self.session);
        out.text("extension", &self.extension);
        out.text("subject", &self.subject);
        out.text("request", &self.request);
        if let Some(arguments) = &self.arguments {
            out.object("arguments", |out| arguments.write_members(out));
        }
        out.plain("decision", &self.decision);
        out.plain("by", &self.by);
        out.text("outcome", &self.outcome);
        out.text("detail", &self.detail);
        if let Some(ms) = self.ms {
            out.value("ms", &ms);
        }
        out.optional("bytes", self.bytes.map(|bytes| bytes as u64));
        out.text("file", &self.file);
        out.text("last", &self.last);
    }

    /// Reads a line, without its end; also returns its hash.
    ///
    /// # Errors
    /// Why it is no record, or not as it was written.
    pub(crate) fn read(line: &[u8]) -> Result<(Record<'static>, String), String> {
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
        let record =
            crate::json::from_slice(line).map_err(|error| format!("it cannot be read: {error}"))?;
        Ok((record, hash.to_owned()))
    }
}

impl Arguments {
    fn write_members(&self, out: &mut Members<'_>) {
        out.plain("sha256", &self.sha256);
        out.number("bytes", self.bytes as u64);
        if !self.shape.is_null() {
            self.shape.write(out, "shape");
        }
        out.text("value", self.value.as_deref().unwrap_or_default());
    }

    /// Of settings whose values are not told, the hash is not either: many are short enough to be guessed.
    fn of(text: &[u8], tells: bool, is_setting: bool) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let value = (tells && text.len() <= MAX_VALUE).then(|| {
            let text = String::from_utf8_lossy(text);
            printable(&redact_credentials(&text), MAX_VALUE)
        });
        Some(Arguments {
            sha256: match is_setting && !tells {
                true => String::new(),
                false => hash_of(text),
            },
            bytes: text.len(),
            shape: match text.len() <= MAX_SHAPED {
                true => Shape::of(text),
                false => Shape::Null,
            },
            value,
        })
    }
}

/// A text that may come from anywhere, without credentials and in this many visible characters.
pub(crate) fn told(text: &str, limit: usize) -> Cow<'_, str> {
    let text = match text.len() < MIN_CREDENTIAL {
        true => Cow::Borrowed(text),
        false => redact_credentials(text),
    };
    // Without a branch for each byte, as `Members` does it.
    let is_odd = |byte: u8| !(b' '..=b'~').contains(&byte);
    let has_odd = || text.bytes().fold(false, |odd, byte| odd | is_odd(byte));
    if text.len() <= limit && !has_odd() {
        text
    } else {
        printable(&text, limit).into()
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
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(HASH_LENGTH);
    for part in digest(&SHA256, bytes).as_ref().as_chunks::<4>().0 {
        text.extend_from_slice(&hexadecimal(u32::from_be_bytes(*part)));
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Eight hexadecimal digits, made together.
fn hexadecimal(number: u32) -> [u8; 8] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut halves = u64::from(number);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
    ] {
        halves = (halves | halves << shift) & mask;
    }
    // Adding six carries into the upper half of the byte where the digit is a letter.
    let letters = ((halves + 6 * EACH) >> 4) & EACH;
    let past_digits = u64::from(b'a' - 10 - b'0');
    (halves + u64::from(b'0') * EACH + past_digits * letters).to_be_bytes()
}

/// What begins a line, with the hash that it has to have.
#[cfg(any(test, fuzzing))]
pub(crate) fn sealed(begin: &[u8]) -> Vec<u8> {
    let hash = hash_of(begin);
    [begin, HASH.as_bytes(), hash.as_bytes(), b"\"}"].concat()
}

thread_local! {
    /// What this thread has formatted last, because many records have it: a second, without `Z`, and an address.
    static SECOND: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    static ADDRESS: RefCell<Option<(SocketAddr, String)>> = const { RefCell::new(None) };
}

/// A time in UTC with milliseconds (RFC 3339).
fn time_of(now: SystemTime) -> String {
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let mut text = String::with_capacity(24);
    SECOND.with_borrow_mut(|(second, formatted)| {
        if *second != seconds {
            *formatted = crate::sys::clock::Utc::from_unix(seconds).to_string();
            formatted.pop();
            *second = seconds;
        }
        text.push_str(formatted);
    });
    text.push('.');
    for unit in [100, 10, 1] {
        let digit = since.subsec_millis() / unit % 10;
        text.push(char::from_digit(digit, 10).unwrap_or_default());
    }
    text.push('Z');
    text
}

fn address_of(address: SocketAddr) -> String {
    ADDRESS.with_borrow_mut(|known| match known {
        Some((known, text)) if *known == address => text.clone(),
        _ => {
            let text = match address.port() {
                // A proxy does not say which port its client has.
                0 => address.ip().to_string(),
                _ => address.to_string(),
            };
            known.insert((address, text)).1.clone()
        }
    })
}

#[cfg(test)]
mod tests;
