//! What is known of a record before the log is locked: all but its number, the hash of the record before it, and its
//! own. So a thread that records waits for others no longer than it must.

use crate::activity::{Caller, Entry};
use crate::argument_shape::Shape;
use crate::members::Members;
use crate::record::{HASH, hash_of};
use crate::store::settings::{self, Kind};
use crate::text::printable;
use gosling_shared::redact_credentials;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::str;
use std::sync::LazyLock;
use std::time::SystemTime;

/// The longest name, and the longest text in words, in characters.
const MAX_NAME: usize = 300;
const MAX_DETAIL: usize = 600;
/// The shortest text that has a credential in it, in bytes: an address with a user.
const MIN_CREDENTIAL: usize = 12;
/// The longest arguments whose shape is told, and the longest that are told whole, in bytes.
const MAX_SHAPED: usize = 64 << 10;
const MAX_VALUE: usize = 8 << 10;
/// What begins the members of each record.
const TIME: &[u8] = b",\"time\":\"";
/// The largest buffer that a thread keeps, and the longest members of a [`Subject`] that it does, in bytes.
const MAX_SPARE: usize = 4 << 10;

/// The process, asked of the system once.
static PID: LazyLock<u32> = LazyLock::new(std::process::id);

thread_local! {
    /// The buffer of the last draft of this thread.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// What the last record of this thread was about.
    static SUBJECT: RefCell<Subject> = RefCell::default();
    /// The second that this thread has formatted last, without `Z`.
    static SECOND: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
}

/// A record without its number and hashes.
pub(crate) struct Draft {
    /// It is the end of something that has a record.
    pub(crate) is_end: bool,
    /// The members, each with a comma before it.
    pub(crate) members: Vec<u8>,
}

impl Draft {
    /// The record of an entry, of now. `has_values`: arguments are told whole.
    pub(crate) fn of(caller: &Caller, entry: &Entry<'_>, has_values: bool) -> Self {
        let is_setting = entry.kind == "setting";
        let tells = match is_setting {
            true => is_plain_setting(entry.subject),
            false => has_values,
        };
        // Others may quote a server, and so its secrets or the arguments.
        let is_ours = matches!(entry.kind, "refused") || entry.outcome == "denied";
        let mut members = SPARE.take();
        members.clear();
        let out = &mut Members::more(&mut members);
        out.plain("time", &time_of(SystemTime::now()));
        out.plain("kind", entry.kind);
        out.optional("of", entry.of);
        out.optional("turn", caller.turn);
        SUBJECT.with_borrow_mut(|known| known.write(caller, entry, out));
        out.text("request", &told(entry.request, MAX_NAME));
        if !entry.arguments.is_empty() {
            out.object("arguments", |out| {
                write_arguments(entry.arguments, tells, is_setting, out);
            });
        }
        out.plain("decision", entry.decision);
        out.plain("by", entry.by);
        out.text("outcome", &told(entry.outcome, MAX_NAME));
        if has_values || is_ours {
            out.text("detail", &told(entry.detail, MAX_DETAIL));
        }
        if let Some(took) = entry.took {
            out.value("ms", &((took.as_secs_f64() * 1e6).round() / 1e3));
        }
        out.optional("bytes", entry.bytes.map(|bytes| bytes as u64));
        Draft {
            is_end: entry.of.is_some(),
            members,
        }
    }

    /// A record of the log itself with these texts, of this time.
    pub(crate) fn note(time: &str, kind: &str, texts: &[(&str, &str)]) -> Self {
        let mut members = Vec::new();
        let out = &mut Members::more(&mut members);
        out.plain("time", time);
        out.plain("kind", kind);
        out.number("pid", (*PID).into());
        for (name, text) in texts {
            out.text(name, text);
        }
        Draft {
            is_end: false,
            members,
        }
    }

    /// When it was made.
    pub(crate) fn time(&self) -> &str {
        time_in(&self.members)
    }

    /// Keeps its buffer for the next one of this thread.
    pub(crate) fn recycle(self) {
        if self.members.capacity() <= MAX_SPARE {
            SPARE.set(self.members);
        }
    }
}

fn time_in(members: &[u8]) -> &str {
    let time = members.strip_prefix(TIME);
    let time = time.and_then(|time| str::from_utf8(time.split(|byte| *byte == b'"').next()?).ok());
    time.unwrap_or_default()
}

/// The day of a record with these members (UTC).
pub(crate) fn day_in(members: &[u8]) -> &str {
    time_in(members).get(..10).unwrap_or_default()
}

/// Appends the line of a record with these members to `out`, and returns its hash. `format`: it is the first of a file
/// of this format.
pub(crate) fn write_line(
    out: &mut Vec<u8>,
    seq: u64,
    prev: &str,
    format: Option<u64>,
    members: &[u8],
) -> String {
    let begin = out.len();
    let mut line = Members::begin(out);
    line.number("seq", seq);
    line.plain("prev", prev);
    line.optional("gosling_format", format);
    out.extend_from_slice(members);
    let hash = hash_of(&out[begin..]);
    out.extend_from_slice(HASH.as_bytes());
    out.extend_from_slice(hash.as_bytes());
    out.extend_from_slice(b"\"}\n");
    hash
}

/// Who does something and with what, as the members of a record. The end of a call has the same as its beginning, and
/// the next call of a connection mostly does.
#[derive(Default)]
struct Subject {
    front: &'static str,
    address: Option<SocketAddr>,
    /// The key, the session, the extension, and what it is about there.
    texts: [String; 4],
    members: Vec<u8>,
}

impl Subject {
    /// Writes those of this entry.
    fn write(&mut self, caller: &Caller, entry: &Entry<'_>, out: &mut Members<'_>) {
        let key = caller.key.get().map_or("", String::as_str);
        let texts = [key, entry.session, entry.extension, entry.subject];
        let is_known = self.front == caller.front && self.address == caller.address;
        if self.members.is_empty() || !is_known || self.texts != texts {
            self.members.clear();
            let members = &mut Members::more(&mut self.members);
            members.number("pid", (*PID).into());
            members.plain("front", caller.front);
            let [key, session, extension, subject] = texts.map(|text| told(text, MAX_NAME));
            members.text("key", &key);
            if let Some(address) = caller.address {
                members.plain("address", &text_of(address));
            }
            members.text("session", &session);
            members.text("extension", &extension);
            members.text("subject", &subject);
            (self.front, self.address) = (caller.front, caller.address);
            for (known, text) in self.texts.iter_mut().zip(texts) {
                text.clone_into(known);
            }
        }
        out.append(&self.members);
        if self.texts.iter().map(String::len).sum::<usize>() > MAX_SPARE {
            *self = Subject::default();
        }
    }
}

/// Writes what is told of arguments.
///
/// Of settings whose values are not told, the hash is not either: many are short enough to be guessed.
fn write_arguments(text: &[u8], tells: bool, is_setting: bool, out: &mut Members<'_>) {
    if tells || !is_setting {
        out.plain("sha256", &hash_of(text));
    }
    out.number("bytes", text.len() as u64);
    if text.len() <= MAX_SHAPED {
        let shape = Shape::of(text);
        if !shape.is_null() {
            shape.write(out, "shape");
        }
    }
    if tells && text.len() <= MAX_VALUE {
        let text = String::from_utf8_lossy(text);
        out.text("value", &printable(&redact_credentials(&text), MAX_VALUE));
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

/// A time in UTC with milliseconds (RFC 3339).
pub(crate) fn time_of(now: SystemTime) -> String {
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

fn text_of(address: SocketAddr) -> String {
    match address.port() {
        // A proxy does not say which port its client has.
        0 => address.ip().to_string(),
        _ => address.to_string(),
    }
}

#[cfg(test)]
mod tests;
