//! JSON-RPC 2.0 messages as MCP uses them: parsing and writing, no I/O.
//!
//! What is opaque to the protocol (`params`, `result`, an error's `data`) stays the JSON text that was
//! received, sanitized by `json::sanitize`. MCP 2025-11-25, basic; batches: MCP 2025-03-26, basic.

pub mod beginning;

use serde::de::{Error as _, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The only version with batches.
pub const BATCHES: &str = "2025-03-26";
/// The most messages in a batch.
pub const BATCH_PARTS: usize = 1_000;
/// The deepest nesting of a message. Its content is passed on unchanged, and clients fail on more.
const DEPTH: usize = 110;

/// JSON text that is passed on unchanged.
pub type RawJson = Box<RawValue>;

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The JSON is not a JSON-RPC message, or is not allowed now.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method, or its capability was not declared.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are invalid.
pub const INVALID_PARAMS: i64 = -32602;
/// The method failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// The request is refused; MCP has no closer code.
pub(super) const REFUSED: i64 = -32000;
/// MCP's code for a call that requires the user to visit an address.
pub(super) const URL_ELICITATION_REQUIRED: i64 = -32042;
/// MCP's code for a resource that does not exist.
pub const RESOURCE_NOT_FOUND: i64 = -32002;

pub(super) const UNUSABLE_ID: &str = "`id` is neither an integer nor a string";

/// A request's id. MCP forbids `null`, and JSON-RPC discourages fractions, so neither is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A number, as in this client's requests.
    Number(i64),
    /// A string, as in some servers' and clients' requests.
    String(String),
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or a string")
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Id, E> {
                Ok(Id::Number(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Id, E> {
                let wrong = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
                number.try_into().map(Id::Number).map_err(wrong)
            }

            /// Lua and PHP write `1.0` for 1. Beyond 2^53 neighbouring numbers look the same.
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Id, E> {
                if number.fract() == 0.0 && number.abs() < 9e15 {
                    return Ok(Id::Number(number as i64));
                }
                Err(E::invalid_value(Unexpected::Float(number), &self))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Id, E> {
                Ok(Id::String(text.to_owned()))
            }
        }

        d.deserialize_any(Reader)
    }
}

impl Id {
    /// The number of a request of this client that this id answers. Some servers answer to 1 with `"1"`, which no
    /// other request of this client can have.
    pub(super) fn own_number(&self) -> Option<i64> {
        match self {
            Id::Number(number) => Some(*number),
            Id::String(text) => {
                let is_canonical = |number: &i64| number.to_string() == *text;
                text.parse().ok().filter(is_canonical)
            }
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(n) => write!(f, "{n}"),
            Id::String(s) => write!(f, "{s:?}"),
        }
    }
}

/// The `error` member of a response.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorObject {
    /// The error code: one of the constants here, or the peer's own.
    #[serde(deserialize_with = "error_code")]
    pub code: i64,
    /// One sentence.
    #[serde(default)]
    pub message: String,
    /// Additional data of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

/// Some servers write the code as text. One that is not a number counts as [`INTERNAL_ERROR`].
fn error_code<'de, D: Deserializer<'de>>(d: D) -> Result<i64, D::Error> {
    Ok(match Id::deserialize(d)? {
        Id::Number(code) => code,
        Id::String(text) => text.trim().parse().unwrap_or(INTERNAL_ERROR),
    })
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        ErrorObject {
            code,
            message: message.into(),
            data: None,
        }
    }
}

/// One message from the peer.
#[derive(Clone, Debug)]
pub enum Message {
    /// A message that expects a response.
    Request {
        /// The id for the response.
        id: Id,
        /// For example `tools/list`.
        method: String,
        /// An object (in general JSON-RPC also an array); absent if empty.
        params: Option<RawJson>,
    },
    /// A message that expects no response.
    Notification {
        /// For example `notifications/progress`.
        method: String,
        /// As in a request.
        params: Option<RawJson>,
    },
    /// The response to a request. `id` is `None` in an error without a usable id.
    Response {
        /// The id of the request.
        id: Option<Id>,
        /// The result or the error.
        outcome: Result<RawJson, ErrorObject>,
    },
}

/// The content of one line, body or event.
#[derive(Debug)]
pub enum Payload {
    /// One message.
    One(Message),
    /// An array of messages, each parsed on its own.
    Batch(Vec<Result<Message, Malformed>>),
}

/// Why bytes were not accepted as a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Not JSON, or not UTF-8: -32700.
    NotJson(String),
    /// JSON, but not a JSON-RPC message: -32600, with the id if it could be read.
    NotMessage {
        /// The id to answer to.
        id: Option<Id>,
        /// It has an id and no method, so it was meant as the response to that request.
        is_answer: bool,
        /// What is wrong.
        reason: String,
    },
    /// A request whose id is `null`, which MCP forbids: -32600.
    NullId {
        /// As in a request.
        method: String,
        /// As in a request, as JSON text.
        params: Option<String>,
    },
    /// A batch in a version without batches: -32600. Its parts were not read.
    Batch,
    /// A batch of more than [`BATCH_PARTS`] messages: -32600. The rest was not read.
    LongBatch,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::NotJson(reason) => write!(f, "not JSON: {reason}"),
            Malformed::NotMessage { reason, .. } => write!(f, "not a JSON-RPC message: {reason}"),
            Malformed::NullId { .. } => write!(f, "not a JSON-RPC message: {UNUSABLE_ID}"),
            Malformed::Batch => write!(f, "a batch, which only MCP {BATCHES} allows"),
            Malformed::LongBatch => write!(f, "a batch of more than {BATCH_PARTS} messages"),
        }
    }
}

/// All members of a message. `Some` means present, even if `null`.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Distinguishes a member that is null from one that is absent.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}

/// Parses one line, body or event. `batches`: the negotiated version has batches; if false, the parts of a
/// batch are not read.
///
/// # Errors
/// [`Malformed`], which a server answers with its error code; a client skips and counts it.
pub fn parse(bytes: &[u8], batches: bool) -> Result<Payload, Malformed> {
    let text = std::str::from_utf8(bytes).map_err(|e| Malformed::NotJson(e.to_string()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    parse_sanitized(&gosling_text::json::sanitize(text), batches)
}

/// As [`parse`], for text that is sanitized already.
///
/// # Errors
/// As `parse`.
pub(super) fn parse_sanitized(text: &str, batches: bool) -> Result<Payload, Malformed> {
    if !begins_with(text, '[') {
        return message(text).map(Payload::One);
    }
    if !batches {
        return Err(Malformed::Batch);
    }
    batch(text).map(Payload::Batch)
}

/// The parts of a batch, each parsed as soon as it is read, so that only messages are kept.
fn batch(text: &str) -> Result<Vec<Result<Message, Malformed>>, Malformed> {
    #[derive(Default)]
    struct Parts {
        messages: Vec<Result<Message, Malformed>>,
        too_many: bool,
    }

    impl<'de> Visitor<'de> for &mut Parts {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
            while let Some(part) = array.next_element::<&RawValue>()? {
                if self.messages.len() == BATCH_PARTS {
                    self.too_many = true;
                    return Err(A::Error::custom("too many"));
                }
                self.messages.push(message(part.get()));
            }
            Ok(())
        }
    }

    let mut parts = Parts::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = reader.deserialize_seq(&mut parts);
    match read.and_then(|()| reader.end()) {
        _ if parts.too_many => Err(Malformed::LongBatch),
        Err(e) => Err(Malformed::NotJson(e.to_string())),
        Ok(()) if parts.messages.is_empty() => Err(not_message(None, "an empty batch")),
        Ok(()) => Ok(parts.messages),
    }
}

/// Whether `c` is the first character that is not JSON white space. Derived deserializers of structs accept
/// arrays, too, so this checks for an object.
pub(super) fn begins_with(json: &str, c: char) -> bool {
    json.trim_start_matches([' ', '\t', '\r', '\n'])
        .starts_with(c)
}

/// Whether this is `[]`, which PHP also writes for an empty object.
pub(super) fn is_empty_array(json: &str) -> bool {
    let inside = json.trim().strip_prefix('[');
    inside.is_some_and(|inside| inside.trim_start() == "]")
}

fn not_message(id: Option<Id>, reason: impl Into<String>) -> Malformed {
    Malformed::NotMessage {
        id,
        is_answer: false,
        reason: reason.into(),
    }
}

pub(super) fn parse_id(json: &str) -> Option<Id> {
    // Nearly every id is a plain number.
    if let Ok(number) = json.parse::<u32>() {
        return Some(Id::Number(number.into()));
    }
    gosling_text::json::from_str(json).ok()
}

fn message(text: &str) -> Result<Message, Malformed> {
    let envelope: Envelope =
        gosling_text::json::from_str(text).map_err(|e| match e.classify() {
            serde_json::error::Category::Data if begins_with(text, '{') => {
                not_message(None, e.to_string())
            }
            serde_json::error::Category::Data => not_message(None, "not an object"),
            _ => Malformed::NotJson(e.to_string()),
        })?;
    if !begins_with(text, '{') {
        return Err(not_message(None, "not an object"));
    }
    let id = envelope.id.and_then(|raw| parse_id(raw.get()));
    let has_outcome = envelope.result.is_some() || envelope.error.is_some();
    let is_version_2 = envelope.jsonrpc.map(RawValue::get) == Some("\"2.0\"");
    let is_answer = envelope.method.is_none() && (has_outcome || is_version_2 && id.is_some());
    let neither = |id: Option<Id>, reason: String| Malformed::NotMessage {
        id,
        is_answer,
        reason,
    };
    if !is_version_2 {
        return Err(neither(id, "`jsonrpc` is not \"2.0\"".to_owned()));
    }
    if gosling_text::json::is_deeper_than(DEPTH, text.as_bytes()) {
        let reason = format!("it is nested more than {DEPTH} levels deep");
        return Err(neither(id, reason));
    }
    let error = envelope
        .error
        .map(|raw| gosling_text::json::from_str(raw.get()));
    let error = error
        .transpose()
        .map_err(|e| neither(id.clone(), format!("`error`: {e}")))?;
    let params = envelope.params.filter(|raw| !is_empty_array(raw.get()));
    let params = params.map(RawValue::to_owned);
    // JSON-RPC 1.0 has both members, and one of them is null.
    let result = envelope
        .result
        .filter(|raw| error.is_none() || raw.get() != "null");
    match (envelope.method, result, error) {
        (Some(method), None, None) => match (envelope.id, id) {
            (None, _) => Ok(Message::Notification {
                method: method.into_owned(),
                params,
            }),
            (Some(_), Some(id)) => Ok(Message::Request {
                id,
                method: method.into_owned(),
                params,
            }),
            (Some(raw), None) if raw.get() == "null" => Err(Malformed::NullId {
                method: method.into_owned(),
                params: params.map(|params| params.get().to_owned()),
            }),
            (Some(_), None) => Err(not_message(None, UNUSABLE_ID)),
        },
        (None, Some(result), None) => match id {
            Some(id) => Ok(Message::Response {
                id: Some(id),
                outcome: Ok(result.to_owned()),
            }),
            None => Err(neither(None, "a result without a usable `id`".to_owned())),
        },
        (None, None, Some(error)) => Ok(Message::Response {
            id,
            outcome: Err(error),
        }),
        _ => Err(neither(
            id,
            "neither one request nor one response".to_owned(),
        )),
    }
}

/// The bytes of a message, as one line.
type Written = serde_json::Result<Vec<u8>>;

/// The bytes of a request. `params` is left out if it is `None`.
///
/// # Errors
/// `params` cannot be written as JSON, which is a bug of the caller.
pub fn request(id: &Id, method: &str, params: Option<&impl Serialize>) -> Written {
    let params = params.map(serde_json::to_string).transpose()?;
    request_raw(id, method, params.as_deref())
}

/// As [`request`], with the JSON text of `params`.
pub(super) fn request_raw(id: &Id, method: &str, params: Option<&str>) -> Written {
    let mut message = begin(params);
    message.extend_from_slice(br#","id":"#);
    serde_json::to_writer(&mut message, id)?;
    end_with_method(message, method, params)
}

/// The bytes of a notification.
///
/// # Errors
/// As [`request`].
pub fn notification(method: &str, params: Option<&impl Serialize>) -> Written {
    let params = params.map(serde_json::to_string).transpose()?;
    let params = params.as_deref();
    end_with_method(begin(params), method, params)
}

pub(crate) const BEGIN: &[u8] = br#"{"jsonrpc":"2.0""#;

/// The first member of a message, with the capacity for all of it in most cases.
fn begin(content: Option<&str>) -> Vec<u8> {
    let mut message = Vec::with_capacity(128 + content.map_or(0, str::len));
    message.extend_from_slice(BEGIN);
    message
}

fn end_with_method(mut message: Vec<u8>, method: &str, params: Option<&str>) -> Written {
    message.extend_from_slice(br#","method":"#);
    serde_json::to_writer(&mut message, method)?;
    if let Some(params) = params {
        message.extend_from_slice(br#","params":"#);
        message.extend_from_slice(params.as_bytes());
    }
    message.push(b'}');
    Ok(message)
}

/// The bytes of a response. `id` is `None` in an error for a message whose id could not be read.
///
/// # Errors
/// As [`request`].
pub fn response(id: Option<&Id>, outcome: Result<&impl Serialize, &ErrorObject>) -> Written {
    let (member, content) = match outcome {
        Ok(result) => (&br#","result":"#[..], serde_json::to_string(result)?),
        Err(error) => (&br#","error":"#[..], serde_json::to_string(error)?),
    };
    let mut message = begin(Some(&content));
    message.extend_from_slice(br#","id":"#);
    serde_json::to_writer(&mut message, &id)?;
    message.extend_from_slice(member);
    message.extend_from_slice(content.as_bytes());
    message.push(b'}');
    Ok(message)
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests;
