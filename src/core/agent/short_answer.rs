//! Short answers of a model beside a turn: names, summaries and recipes.

use crate::provider::DeltaSink;
use crate::sys::cancel::Cancel;

/// The request is cancelled after so many bytes of its answer, reasoning included.
///
/// This bounds answers that are streamed; the provider's own limit bounds the others. The request has no limit
/// in tokens: a small one cuts off a model that reasons before it answers, and servers with a small context
/// refuse a large one.
const MAX_ANSWER: usize = 64 << 10;
/// The tags around reasoning in the text of some models.
const REASONING_TAGS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
];

/// Cancels the request when the answer is too long.
pub(super) struct LengthLimit {
    cancel: Cancel,
    length: usize,
}

impl LengthLimit {
    pub(super) fn new(cancel: Cancel) -> Self {
        LengthLimit { cancel, length: 0 }
    }
}

impl DeltaSink for LengthLimit {
    fn text(&mut self, text: &str) {
        self.length += text.len();
        if self.length > MAX_ANSWER {
            self.cancel.cancel();
        }
    }

    fn reasoning(&mut self, text: &str) {
        self.text(text);
    }
}

/// The text after the reasoning that some models write before it; empty if the reasoning does not end. The tags
/// may also be what the text is about, so those in its middle stay.
pub(super) fn without_reasoning(text: &str) -> &str {
    let mut text = text;
    while let Some(answer) = REASONING_TAGS.iter().find_map(|(open, close)| {
        let reasoning = text.trim_start().strip_prefix(open)?;
        Some(reasoning.split_once(close).map_or("", |(_, answer)| answer))
    }) {
        text = answer;
    }
    for (open, close) in REASONING_TAGS {
        // The prompt of some models ends with the first tag.
        if let Some((reasoning, answer)) = text.split_once(close)
            && !reasoning.contains(open)
        {
            return answer;
        }
    }
    text
}
