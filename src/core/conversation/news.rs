//! News: a message in which the program tells the model what changed since the system prompt was sent. It stands in
//! the conversation where it was told, so that what was sent before stays as it was.

use super::{Content, Message, Metadata, Role, Text};
use serde_json::value::RawValue;

/// The additional data that marks the text.
const MARK: &str = r#"{"gosling/news":true}"#;

impl Message {
    /// News for the model, which users do not see.
    pub fn news(text: String) -> Self {
        let part = Text {
            text,
            annotations: None,
            meta: RawValue::from_string(MARK.to_owned()).ok(),
        };
        Message::new(Role::User, vec![Content::Text(part)]).seen_by(Metadata::AGENT_ONLY)
    }

    /// The text, if the message is news.
    pub fn as_news(&self) -> Option<&str> {
        match &self.content[..] {
            [Content::Text(Text { text, meta, .. })] if self.metadata == Metadata::AGENT_ONLY => {
                let mark = meta.as_ref().map(|meta| meta.get());
                (self.role == Role::User && mark == Some(MARK)).then_some(text)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
