//! JSON as typed values. All JSON is read here, so that the code that reads a type is compiled once. JSON from
//! outside that may be passed on as text is sanitized where it enters, see [`sanitize`].

mod lenient;
mod sanitize;

pub use lenient::{from_str_of_php, from_str_overlooking};
pub use sanitize::{sanitize, sanitize_bytes};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::fmt;

/// The memory limit of the values of a text in bytes, and its increase for each byte of text. Without a limit
/// the worst texts take ninety times their length. Texts with ordinary numbers, strings and objects stay below
/// it, whatever their length.
const MEMORY: usize = 16 << 20;
const MEMORY_PER_BYTE: usize = 32;
/// The memory counted for a value, without the text of strings: its place in an array or object, which may have
/// capacity for twice its length.
pub const VALUE: usize = 2 * size_of::<Value>();
/// The memory counted for an array besides its values, since its initial capacity is four.
pub const ARRAY: usize = 2 * size_of::<Value>();
/// The memory counted for an object besides its values.
pub const OBJECT: usize = 5 * size_of::<Value>();

const TOO_MUCH: &str = "the values take too much memory for the length of the text";

/// Replaces line ends by spaces: JSON that is passed through may be indented, and a line end would end the message.
/// JSON strings contain no raw line ends, so no value changes.
pub fn in_one_line(json: &mut [u8]) {
    // The search is many times as fast as the loop, and finds nothing in most cases.
    if json.contains(&b'\n') || json.contains(&b'\r') {
        for byte in json {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

/// The memory limit in bytes for a text of this length.
pub fn most_memory(length: usize) -> usize {
    MEMORY + MEMORY_PER_BYTE * length
}

/// As `serde_json::from_slice`, with two differences. A struct must be an object: serde also accepts an array,
/// which no peer sends and which doubles the code for a struct. And the memory of the values that are built is
/// counted, and limited in proportion to the text; values that are skipped or stay text do not count.
pub fn from_slice<'de, T: Deserialize<'de>>(json: &'de [u8]) -> serde_json::Result<T> {
    from_slice_within(json, most_memory(json.len()))
}

/// As [`from_slice`], with another memory limit.
pub fn from_slice_within<'de, T: Deserialize<'de>>(
    json: &'de [u8],
    memory: usize,
) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let left = Cell::new(memory);
    let read = T::deserialize(Objects(&mut reader, &left))?;
    reader.end()?;
    Ok(read)
}

/// Whether the error says that the values take too much memory.
pub fn is_too_much(error: &serde_json::Error) -> bool {
    error.is_data() && error.to_string().starts_with(TOO_MUCH)
}

/// As [`from_slice`].
pub fn from_str<'de, T: Deserialize<'de>>(json: &'de str) -> serde_json::Result<T> {
    from_slice(json.as_bytes())
}

/// Reads from parsed JSON by serializing it first, so that the code that reads `T` is not compiled again. Has
/// no memory limit. Errors have no line and column.
pub fn from_value<T: DeserializeOwned>(json: &Value) -> serde_json::Result<T> {
    from_text_of(json.to_string())
}

/// As [`from_value`].
pub fn from_object<T: DeserializeOwned>(json: &Map<String, Value>) -> serde_json::Result<T> {
    from_text_of(serde_json::to_string(json)?)
}

fn from_text_of<T: DeserializeOwned>(json: String) -> serde_json::Result<T> {
    from_slice_within(json.as_bytes(), usize::MAX).map_err(without_place)
}

fn without_place(error: serde_json::Error) -> serde_json::Error {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    serde_json::Error::custom(text.strip_suffix(&place).unwrap_or(&text))
}

/// As `serde_json::to_value`, by way of the serialized text. Has no memory limit.
pub fn to_value(value: &impl Serialize) -> serde_json::Result<Value> {
    from_slice_within(&serde_json::to_vec(value)?, usize::MAX)
}

/// The type of a value with its article, for messages.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The place in JSON text that an error of its reader is about, such as `prompt[2].text`; empty for the whole.
pub fn place_of(error: &serde_json::Error, json: &str) -> String {
    place(&steps_of(error, json))
}

/// As [`place_of`], step by step.
fn steps_of(error: &serde_json::Error, json: &str) -> Vec<Step> {
    let line_start = match error.line() {
        0 => return Vec::new(),
        line => json
            .split_inclusive('\n')
            .take(line - 1)
            .map(str::len)
            .sum(),
    };
    let mut end = usize::saturating_add(line_start, error.column());
    // An error about an array or object may be placed right before it.
    end += usize::from(matches!(json.as_bytes().get(end), Some(b'[' | b'{')));
    steps_at(json.as_bytes().get(..end).unwrap_or(json.as_bytes()))
}

/// A step from a value to one inside it.
#[derive(Debug, PartialEq)]
enum Step {
    Index(usize),
    Key(String),
}

fn place(steps: &[Step]) -> String {
    let mut place = String::new();
    for step in steps {
        match step {
            Step::Index(n) => place.push_str(&format!("[{n}]")),
            Step::Key(key) if place.is_empty() => place.push_str(key),
            Step::Key(key) => place.push_str(&format!(".{key}")),
        }
    }
    place
}

/// The steps to the last value in the beginning of a JSON text, also if it is not complete.
fn steps_at(start: &[u8]) -> Vec<Step> {
    enum Open<'j> {
        Array(Option<usize>),
        Object(&'j [u8]),
    }
    let mut open = Vec::new();
    // The beginning of a string that is not complete, and the last complete one.
    let mut string = None;
    let mut last: &[u8] = &[];
    let mut escaped = false;
    for (at, byte) in start.iter().enumerate() {
        if let Some(from) = string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    string = None;
                    last = &start[from..at];
                }
                _ => {}
            }
            continue;
        }
        match (byte, open.last_mut()) {
            (b']' | b'}', _) => drop(open.pop()),
            (b' ' | b'\t' | b'\r' | b'\n', _) => {}
            (b',', Some(Open::Array(Some(n)))) => *n += 1,
            (b':', Some(Open::Object(key))) => *key = last,
            (_, Some(Open::Array(n))) => *n = n.or(Some(0)),
            _ => {}
        }
        match byte {
            b'"' => string = Some(at + 1),
            b'[' => open.push(Open::Array(None)),
            b'{' => open.push(Open::Object(&[])),
            _ => {}
        }
    }
    let step = |open: Open<'_>| match open {
        Open::Array(n) => n.map(Step::Index),
        Open::Object(b"") => None,
        Open::Object(key) => Some(Step::Key(String::from_utf8_lossy(key).into_owned())),
    };
    open.into_iter().filter_map(step).collect()
}

/// Whether JSON text is nested more than `levels` deep. serde limits the depth of the values that it builds,
/// but not of those that it skips or passes on as text, and a later reader of that text may fail, or take time
/// quadratic in the depth. So all JSON from outside is checked first.
///
/// Text with at most `levels` opening brackets, which is nearly all, only costs counting them, eight bytes at a
/// time. Other text is scanned byte by byte.
pub fn is_deeper_than(levels: usize, json: &[u8]) -> bool {
    if opening_brackets(json) <= levels {
        return false;
    }
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' if depth == levels => return true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Whether an object in JSON text has two members of one name; `value` is what was read from the text.
pub fn repeats_a_name(json: &str, value: &Value) -> bool {
    let (mut members, mut quoted, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b':' if !quoted => members += 1,
            _ => {}
        }
    }
    members != count_members(value)
}

fn count_members(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            members.len() + members.values().map(count_members).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count_members).sum(),
        _ => 0,
    }
}

/// The number of bytes that are `[` or `{`, which differ in one bit.
fn opening_brackets(json: &[u8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = 0x7f * EACH;

    let (words, rest) = json.as_chunks();
    // Sums bytes in parallel; 255 words at most, so that no byte overflows.
    let counts = words.chunks(255).map(|words| {
        let sum: u64 = words
            .iter()
            .map(|word| {
                let unlike = (u64::from_ne_bytes(*word) | (0x20 * EACH)) ^ (u64::from(b'{') * EACH);
                // Sets the highest bit of each byte that is zero.
                let zeros = !(((unlike & LOW) + LOW) | unlike | LOW);
                zeros >> 7
            })
            .sum();
        sum.to_ne_bytes()
            .into_iter()
            .map(usize::from)
            .sum::<usize>()
    });
    let rest = rest.iter().filter(|byte| **byte | 0x20 == b'{');
    counts.sum::<usize>() + rest.count()
}

/// A wrapper that passes everything on, except that it requests maps instead of structs and counts the memory
/// of values. It also wraps everything nested.
struct Objects<'l, T>(T, &'l Cell<usize>);

impl<T> Objects<'_, T> {
    /// Counts memory that is about to be allocated. Fails if it exceeds the limit.
    fn take<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        let left = self.1.get().checked_sub(bytes);
        let left = left.ok_or_else(|| E::custom(TOO_MUCH))?;
        self.1.set(left);
        Ok(())
    }
}

macro_rules! ask {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method(visitor)
        })*
    };
}

macro_rules! ask_inside {
    ($($method:ident($($name:ident: $kind:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(
            self,
            $($name: $kind,)*
            visitor: V,
        ) -> Result<V::Value, D::Error> {
            self.0.$method($($name,)* Objects(visitor, self.1))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<'_, D> {
    type Error = D::Error;

    ask! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    ask_inside! {
        deserialize_any()
        deserialize_option()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_seq()
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_map()
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Objects(visitor, self.1))
    }
}

macro_rules! tell {
    ($($method:ident($kind:ty))*) => {
        $(fn $method<E: serde::de::Error>(self, value: $kind) -> Result<V::Value, E> {
            self.0.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<'_, V> {
    type Value = V::Value;

    tell! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128) visit_f32(f32)
        visit_f64(f64) visit_char(char) visit_str(&str) visit_borrowed_str(&'de str)
        visit_string(String) visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8])
        visit_byte_buf(Vec<u8>)
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Objects(d, self.1))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Objects(d, self.1))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.take(ARRAY)?;
        self.0.visit_seq(Objects(seq, self.1))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.take(OBJECT)?;
        self.0.visit_map(Objects(map, self.1))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Objects(data, self.1))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Objects(d, self.1))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.take(VALUE)?;
        self.0.next_element_seed(Objects(seed, self.1))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.take(VALUE)?;
        self.0.next_value_seed(Objects(seed, self.1))
    }
}

impl<'de, 'l, A: EnumAccess<'de>> EnumAccess<'de> for Objects<'l, A> {
    type Error = A::Error;
    type Variant = Objects<'l, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let left = self.1;
        let (name, content) = self.0.variant_seed(seed)?;
        Ok((name, Objects(content, left)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Objects<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Objects(seed, self.1))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, Objects(visitor, self.1))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Objects(visitor, self.1))
    }
}

#[cfg(test)]
mod tests;
