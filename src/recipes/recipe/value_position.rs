//! The place of a value in the text of a YAML or JSON file, for errors about what the text says.

use crate::store::yaml_to_json;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the value of this key.
    Key(String),
    /// To the item with this index.
    Index(usize),
}

/// Line and column, from 1. The column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// The beginning of the value at `path` in YAML that the store reads; that of the closest value around it
/// if there is none.
pub fn in_yaml(text: &str, path: &[Step]) -> Option<Position> {
    (0..=path.len()).rev().find_map(|length| {
        let find = Find(&path[..length]);
        let error = find
            .deserialize(yaml_serde::Deserializer::from_str(text))
            .err()?;
        let location = error.location()?;
        Some(Position {
            line: location.line(),
            column: location.column(),
        })
    })
}

/// As [`in_yaml`], in valid JSON.
pub fn in_json(text: &str, path: &[Step]) -> Option<Position> {
    let mut value = text.trim_start_matches([' ', '\t', '\r', '\n']);
    for step in path {
        let inner = match step {
            Step::Key(key) => crate::json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(value)
                .ok()
                .and_then(|fields| fields.get(key.as_str()).map(|field| field.get())),
            Step::Index(index) => crate::json::from_str::<Vec<&RawValue>>(value)
                .ok()
                .and_then(|items| items.get(*index).map(|item| item.get())),
        };
        match inner {
            Some(inner) => value = inner,
            None => break,
        }
    }
    // Each step is a slice of the text.
    let offset = (value.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    of_offset(text, offset)
}

/// The position of the byte at `offset`.
pub fn of_offset(text: &str, offset: usize) -> Option<Position> {
    let before = text.get(..offset)?;
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    Some(Position {
        line: before.matches('\n').count() + 1,
        column: before[begin..].chars().count() + 1,
    })
}

/// The offset of the byte at `position`.
pub fn offset_of(text: &str, position: Position) -> Option<usize> {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines
        .by_ref()
        .take(position.line.checked_sub(1)?)
        .map(str::len)
        .sum();
    let line = lines.next()?;
    let (in_line, _) = line
        .char_indices()
        .nth(position.column.checked_sub(1)?)
        .unwrap_or((line.len(), ' '));
    Some(before + in_line)
}

/// Follows a path and errs at the value where it ends, as the parser adds the place to the error.
struct Find<'a>(&'a [Step]);

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Scalars err as values of another type than is expected.
impl<'de> Visitor<'de> for Find<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the end of the path")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.0.split_first() else {
            return Err(A::Error::custom("found"));
        };
        while let Some(key) = entries.next_key::<Key>()? {
            // After a path that ends early, the parser expects the rest of the entries to be read.
            if matches!(step, Step::Key(wanted) if *wanted == key.0) {
                entries.next_value_seed(Find(rest))?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.0.split_first() else {
            return Err(A::Error::custom("found"));
        };
        if let Step::Index(index) = step {
            for _ in 0..*index {
                if items.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(());
                }
            }
            if items.next_element_seed(Find(rest))?.is_none() {
                return Ok(());
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// A key as [`parse_yaml_object`](gosling_shared::parse_yaml_object) writes it.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = yaml_serde::Value::deserialize(deserializer)?;
        Ok(Key(match yaml_to_json(&key) {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        }))
    }
}

#[cfg(test)]
mod tests;
