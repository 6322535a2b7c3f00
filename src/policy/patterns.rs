//! Patterns of names and of command lines. In a pattern, `*` stands for any characters, also none; every other
//! character stands for itself.

use crate::text::is_invisible;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

/// In the pattern of a command line, stands for any more words.
const MORE_WORDS: &str = "...";

/// One pattern, or several of which one has to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patterns(Vec<String>);

impl Patterns {
    /// Whether one of them fits the text.
    pub(crate) fn fit(&self, text: &str) -> bool {
        self.0.iter().any(|pattern| fits(pattern, text))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Whether the pattern fits the whole text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    // Each part at its first place leaves the most text for those behind it.
    for part in middle.split('*') {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

/// Why a text is not a pattern of some kind, if it is not.
type Check = fn(&str) -> Result<(), String>;

/// Reads one pattern, or with `is_list` several. They are checked here, because only errors here know their place.
struct PatternsVisitor {
    check: Check,
    is_list: bool,
}

impl<'de> Visitor<'de> for PatternsVisitor {
    type Value = Patterns;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text in quotes")?;
        f.write_str(if self.is_list {
            ", or a list of such texts"
        } else {
            ""
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Patterns, E> {
        if text.is_empty() {
            return Err(E::custom("an empty pattern fits nothing"));
        }
        if text.contains(is_invisible) {
            return Err(E::custom("the pattern has a character that cannot be seen"));
        }
        (self.check)(text).map_err(E::custom)?;
        Ok(Patterns(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Patterns, A::Error> {
        if !self.is_list {
            return Err(A::Error::custom("a list in a list"));
        }
        let item = || PatternsVisitor {
            is_list: false,
            ..self
        };
        let mut all = Vec::new();
        while let Some(Patterns(one)) = items.next_element_seed(item())? {
            all.extend(one);
        }
        if all.is_empty() {
            Err(A::Error::custom("an empty list fits nothing"))
        } else {
            Ok(Patterns(all))
        }
    }
}

impl<'de> DeserializeSeed<'de> for PatternsVisitor {
    type Value = Patterns;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Patterns, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Patterns {
    /// Reads patterns that `check` accepts.
    pub(crate) fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
        check: Check,
    ) -> Result<Self, D::Error> {
        let is_list = true;
        PatternsVisitor { check, is_list }.deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Patterns::read(deserializer, |_| Ok(()))
    }
}

/// The pattern of a command line: one for each word. `...` at its end stands for any more words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern(Vec<String>);

impl CommandPattern {
    /// Whether it fits this program with these arguments.
    pub(crate) fn fits<'w>(&self, mut words: impl Iterator<Item = &'w str>) -> bool {
        let is_open = self.0.last().is_some_and(|last| last == MORE_WORDS);
        let patterns = &self.0[..self.0.len() - usize::from(is_open)];
        let fit = patterns
            .iter()
            .all(|pattern| words.next().is_some_and(|word| fits(pattern, word)));
        fit && (is_open || words.next().is_none())
    }
}

impl<'de> Deserialize<'de> for CommandPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Patterns::deserialize(deserializer)?.0;
        match words.first() {
            Some(first) if first != MORE_WORDS => Ok(CommandPattern(words)),
            _ => Err(D::Error::custom("the first word is the program")),
        }
    }
}

#[cfg(test)]
mod tests;
