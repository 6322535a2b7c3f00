//! What is needed to send an item of reasoning back: its id and its encrypted content, as the JSON text in
//! [`Thinking::signature`](crate::conversation::Thinking).

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The most bytes of encrypted reasoning that are stored with a message.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct ReasoningSignature<'a> {
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) encrypted_content: Cow<'a, str>,
}

impl<'a> ReasoningSignature<'a> {
    /// The signature as text; `None` if there is nothing to send back, or too much.
    pub(super) fn to_text(&self) -> Option<String> {
        let bytes = self.encrypted_content.len();
        if bytes > MAX_BYTES {
            log::warn!("reasoning of the provider is too large to be returned bytes={bytes}");
        }
        if !(1..=MAX_BYTES).contains(&bytes) {
            return None;
        }
        serde_json::to_string(self).ok()
    }

    /// Reads a signature; `None` if it is one of another protocol.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        crate::json::from_str(text).ok()
    }
}
