//! What a client answers to questions of its server.

use crate::types::{Content, CreateMessageResult, ElicitAction, ElicitResult};
use serde_json::Value;

impl ElicitResult {
    /// The user accepts, and has filled in these values; none for an address that was visited.
    pub fn accept<K, V>(values: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<String>,
        V: Into<Value>,
    {
        let values = values.into_iter();
        let content = values.map(|(name, value)| (name.into(), value.into()));
        ElicitResult {
            action: ElicitAction::Accept,
            content: Some(content.collect()),
        }
    }

    /// The user refuses.
    pub fn decline() -> Self {
        ElicitResult {
            action: ElicitAction::Decline,
            content: None,
        }
    }

    /// The user has dismissed the question.
    pub fn dismiss() -> Self {
        ElicitResult {
            action: ElicitAction::Cancel,
            content: None,
        }
    }
}

impl CreateMessageResult {
    /// A text of the model of this name.
    pub fn text(model: &str, text: &str) -> Self {
        CreateMessageResult {
            role: "assistant".to_owned(),
            content: vec![Content::text(text)],
            model: model.to_owned(),
            stop_reason: Some("endTurn".to_owned()),
        }
    }
}
