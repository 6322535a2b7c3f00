//! Converts YAML text to a mapping and back, with limits, and without changing what was not edited.
//!
//! The `Value` of `yaml_serde` has two limitations. Its limit on aliases counts references, not the copied
//! values, so that 100 KB of text may expand to gigabytes; and an integer beyond 64 bits makes the whole file
//! unreadable. So this module builds values itself, with a budget, and stores such integers under a private
//! tag, from which they are written unchanged. (Beyond 128 bits they become floats.)

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess};
use serde::de::{VariantAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::{Map, Number, Value as Json};
use std::cell::Cell;
use std::fmt;
use yaml_serde::value::{Tag, TaggedValue};
use yaml_serde::{Mapping, Value};

/// Maximum number of values in one file, with every alias expanded.
const MAX_VALUES: usize = 250_000;

/// Maximum number of bytes of text in one file, with every alias expanded.
const MAX_TEXT: usize = 64 << 20;

/// Maximum number of open brackets. The parser refuses 128, but its scanner first takes time proportional to
/// brackets times depth: seconds for 100 KB of `[`.
const MAX_OPEN: usize = 1_000;

const WIDE_INTEGER: &str = "!gosling-wide-integer";

/// Why text is not a valid mapping, and where.
#[derive(Debug)]
pub struct YamlError {
    /// Line and column, from 1; 0 if unknown.
    pub place: (usize, usize),
    /// What is wrong.
    pub reason: String,
}

fn flaw(place: (usize, usize), reason: &str) -> YamlError {
    let reason = reason.to_owned();
    YamlError { place, reason }
}

/// Parses a document whose root is a mapping. A document without content is an empty mapping.
pub fn parse(text: &[u8]) -> Result<Mapping, YamlError> {
    let budget = Budget {
        values: Cell::new(MAX_VALUES),
        text: Cell::new(MAX_TEXT),
    };
    // Windows editors add a byte order mark, which the parser would take for content.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    refuse_other_encodings(text)?;
    refuse_depth(text)?;
    let document = yaml_serde::Deserializer::from_slice(text);
    match Node(&budget).deserialize(document) {
        Ok(Value::Mapping(mapping)) => Ok(mapping),
        Ok(Value::Null) => Ok(Mapping::new()),
        Ok(_) => Err(flaw((1, 1), "the file must consist of `key: value` pairs")),
        Err(error) => Err(flaw_of(&error)),
    }
}

/// Serializes `mapping` to text that [`parse`] reads as the same mapping.
pub fn render(mapping: &Mapping) -> Result<String, String> {
    let text = yaml_serde::to_string(&MappingText(mapping)).map_err(|error| error.to_string())?;
    match parse(text.as_bytes()) {
        Ok(read) if read == *mapping => Ok(text),
        Ok(_) => Err("it has no faithful form in YAML".to_owned()),
        Err(flaw) => Err(flaw.reason),
    }
}

/// Whether the text, which [`parse`] accepts, has anchors (`&name`), with which an edit of one place changes others,
/// too. Written twice, an anchor is an error, unlike the same characters in strings and comments.
pub fn has_anchors(text: &[u8]) -> bool {
    let mut doubled = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'&') {
        let (before, anchor) = rest.split_at(at);
        let in_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
        let name = anchor[1..].iter().take_while(in_name).count();
        let (anchor, behind) = anchor.split_at(1 + name);
        doubled.extend_from_slice(before);
        if name > 0
            && doubled
                .last()
                .is_none_or(|byte| b" \t\r\n[{,:".contains(byte))
        {
            doubled.extend_from_slice(anchor);
            doubled.push(b' ');
        }
        doubled.extend_from_slice(anchor);
        rest = behind;
    }
    doubled.extend_from_slice(rest);
    doubled.len() > text.len() && parse(&doubled).is_err()
}

/// Names the place of the first byte that is not UTF-8, which the parser does not know.
fn refuse_other_encodings(text: &[u8]) -> Result<(), YamlError> {
    let Err(error) = std::str::from_utf8(text) else {
        return Ok(());
    };
    let before = String::from_utf8_lossy(&text[..error.valid_up_to()]);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before[line_start..].chars().count();
    let reason = "it is not UTF-8; save it in this encoding";
    Err(flaw((line, column), reason))
}

/// Counts brackets in and outside of strings; no ordinary text has so many open.
fn refuse_depth(text: &[u8]) -> Result<(), YamlError> {
    let mut open = 0usize;
    for byte in text {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => continue,
        }
        if open > MAX_OPEN {
            return Err(flaw((0, 0), "too many brackets are open at once"));
        }
    }
    Ok(())
}

fn flaw_of(error: &yaml_serde::Error) -> YamlError {
    let place = error.location().map(|at| (at.line(), at.column()));
    let (line, column) = place.unwrap_or_default();
    let place_in_text = format!(" at line {line} column {column}");
    let reason = error.to_string().replacen(&place_in_text, "", 1);
    flaw((line, column), &reason)
}

/// Converts a YAML value to JSON. Values without a JSON form become null (`.nan`), strings (keys that are
/// numbers or booleans) or `{"!tag": value}` (tags), or are left out (keys that are collections).
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => to_json_number(number).map_or(Json::Null, Json::Number),
        Value::String(text) => Json::String(text.clone()),
        Value::Sequence(items) => items.iter().map(to_json).collect(),
        Value::Mapping(mapping) => Json::Object(to_json_object(mapping)),
        Value::Tagged(tagged) => match wide_integer(tagged) {
            Some(Wide::Positive(value)) => Json::from(value as f64),
            Some(Wide::Negative(value)) => Json::from(value as f64),
            None => Map::from_iter([(tagged.tag.to_string(), to_json(&tagged.value))]).into(),
        },
    }
}

/// Converts a YAML mapping to a JSON object; see [`to_json`].
pub fn to_json_object(mapping: &Mapping) -> Map<String, Json> {
    mapping
        .iter()
        .filter_map(|(key, value)| {
            let key = match to_json(key) {
                Json::String(text) => text,
                Json::Object(_) | Json::Array(_) => return None,
                scalar => scalar.to_string(),
            };
            Some((key, to_json(value)))
        })
        .collect()
}

fn to_json_number(number: &yaml_serde::Number) -> Option<Number> {
    number
        .as_u64()
        .map(Number::from)
        .or_else(|| number.as_i64().map(Number::from))
        .or_else(|| number.as_f64().and_then(Number::from_f64))
}

/// Converts JSON to YAML; every JSON value has a YAML form.
pub fn from_json(value: &Json) -> Value {
    yaml_serde::to_value(value).unwrap_or_default()
}

enum Wide {
    Positive(u128),
    Negative(i128),
}

fn wide_integer(tagged: &TaggedValue) -> Option<Wide> {
    let digits = tagged
        .value
        .as_str()
        .filter(|_| tagged.tag == WIDE_INTEGER)?;
    let positive = digits.parse().map(Wide::Positive);
    positive
        .or_else(|_| digits.parse().map(Wide::Negative))
        .ok()
}

fn from_wide(digits: String) -> Value {
    let tagged = TaggedValue {
        tag: Tag::new(WIDE_INTEGER),
        value: Value::String(digits),
    };
    Value::Tagged(Box::new(tagged))
}

struct Budget {
    values: Cell<usize>,
    text: Cell<usize>,
}

/// Builds one value and charges it to the budget of the document.
#[derive(Clone, Copy)]
struct Node<'a>(&'a Budget);

impl Node<'_> {
    fn pay<E: de::Error>(&self, text: usize) -> Result<(), E> {
        let left = |purse: &Cell<usize>, price| purse.get().checked_sub(price);
        match (left(&self.0.values, 1), left(&self.0.text, text)) {
            (Some(values), Some(text)) => {
                self.0.values.set(values);
                self.0.text.set(text);
                Ok(())
            }
            _ => Err(E::custom("too many values, with all aliases followed")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        self.pay(0).map(|()| Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        self.pay(0).map(|()| Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        self.pay(0).map(|()| value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.pay(0).map(|()| value.into())
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        self.pay(0).map(|()| from_wide(value.to_string()))
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        self.pay(0).map(|()| from_wide(value.to_string()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.pay(0).map(|()| value.into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        self.pay(text.len()).map(|()| text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.pay(0)?;
        let mut sequence = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            sequence.push(item);
        }
        Ok(Value::Sequence(sequence))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.pay(0)?;
        let mut mapping = Mapping::new();
        while let Some(key) = entries.next_key_seed(self)? {
            if mapping.contains_key(&key) {
                let name = to_json(&key);
                return Err(de::Error::custom(format!("the key {name} appears twice")));
            }
            let value = entries.next_value_seed(self)?;
            mapping.insert(key, value);
        }
        Ok(Value::Mapping(mapping))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Value, A::Error> {
        let (tag, content) = data.variant::<String>()?;
        self.pay(tag.len())?;
        if tag.is_empty() {
            return Err(de::Error::custom("a tag is empty"));
        }
        let value = content.newtype_variant_seed(self)?;
        Ok(Value::Tagged(Box::new(TaggedValue {
            tag: Tag::new(tag),
            value,
        })))
    }
}

/// Serializes like the value itself, except that wide integers become numbers again.
struct Text<'a>(&'a Value);

struct MappingText<'a>(&'a Mapping);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Sequence(items) => serializer.collect_seq(items.iter().map(Text)),
            Value::Mapping(mapping) => MappingText(mapping).serialize(serializer),
            Value::Tagged(tagged) => match wide_integer(tagged) {
                Some(Wide::Positive(value)) => serializer.serialize_u128(value),
                Some(Wide::Negative(value)) => serializer.serialize_i128(value),
                None if matches!(tagged.value, Value::Tagged(_)) => {
                    Err(S::Error::custom("a value has two tags"))
                }
                None => {
                    let mut map = serializer.serialize_map(Some(1))?;
                    // What begins with `!` and is passed to `collect_str`, as this is, is a tag to `yaml_serde`.
                    map.serialize_entry(&format_args!("{}", tagged.tag), &Text(&tagged.value))?;
                    map.end()
                }
            },
            scalar => scalar.serialize(serializer),
        }
    }
}

impl Serialize for MappingText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (Text(key), Text(value))))
    }
}

#[cfg(test)]
#[path = "yaml_text_tests.rs"]
mod tests;
