//! Text in a recipe that a person does not see and a model reads.

use super::{Error, Recipe};
use crate::text::may_hide_words;
use serde_json::Value;

impl Recipe {
    /// Whether a text or a name in the recipe has characters that hide text from a person: tags, controls of the
    /// direction, invisible operators, zero-width spaces, and variation selectors that follow each other or
    /// belong to nothing. Flags of subdivisions, such as that of Wales, are emoji made of tags and do not count.
    pub fn has_hidden_text(&self) -> bool {
        self.given
            .iter()
            .any(|(name, value)| is_hiding(name) || value_hides(value))
    }

    /// Refuses to store a recipe with [hidden text](Self::has_hidden_text), because it would be run without another
    /// look at it.
    ///
    /// # Errors
    /// [`Error::HiddenText`].
    pub fn check_visible(&self) -> Result<(), Error> {
        if self.has_hidden_text() {
            Err(Error::HiddenText)
        } else {
            Ok(())
        }
    }
}

fn value_hides(value: &Value) -> bool {
    match value {
        Value::String(text) => is_hiding(text),
        Value::Array(values) => values.iter().any(value_hides),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| is_hiding(name) || value_hides(value)),
        _ => false,
    }
}

fn is_hiding(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1f3f4}'
            && let Some(after) = after_flag(rest.as_str())
        {
            rest = after.chars();
            before = Some(c);
            continue;
        }
        let hides = match c {
            '\u{200b}' | '\u{feff}' | '\u{180e}' => true,
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => before
                .is_none_or(|before: char| before.is_ascii_alphabetic() || is_selector(before)),
            c => may_hide_words(c),
        };
        if hides {
            return true;
        }
        before = Some(c);
    }
    false
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// What follows the tags of a flag: three to six tags of lower-case letters and digits, and the cancel tag.
fn after_flag(rest: &str) -> Option<&str> {
    let (tags, after) = rest.split_once('\u{e007f}')?;
    let is_tag = |c| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let count = tags.chars().take(7).count();
    ((3..=6).contains(&count) && tags.chars().all(is_tag)).then_some(after)
}

#[cfg(test)]
mod tests;
