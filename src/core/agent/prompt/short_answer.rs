//! Short answers of a model beside a turn: names, summaries and recipes.

use crate::agent::turn::token_estimate::Estimate;
use crate::agent::turn::turn_channel::Model;
use crate::conversation::{Message, Role};
use crate::provider::{self, CompletionRequest, DeltaSink, Purpose, StopReason};
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

/// Asks the model about a conversation, which `digest` is, with a line before it. Returns the text of the answer, and
/// whether it is complete.
///
/// # Errors
/// The model fails.
pub fn ask(
    model: &Model,
    system: &str,
    line: &str,
    digest: &str,
    purpose: Purpose,
    cancel: &Cancel,
) -> Result<(String, StopReason), provider::Error> {
    let question = format!("{line}<conversation>\n{digest}</conversation>");
    let request = CompletionRequest {
        model: &model.config,
        system,
        messages: &[&Message::text(Role::User, question)],
        tools: &[],
        purpose,
        input: Estimate::default().tokens(digest.len()),
    };
    let cancel = cancel.child();
    let mut limit = LengthLimit {
        cancel: cancel.clone(),
        length: 0,
    };
    let answer = model.provider.complete(&request, &cancel, &mut limit)?;
    let text = Message::new(Role::Assistant, answer.content).concat_text();
    Ok((text, answer.stop))
}

/// Cancels the request when the answer is too long.
struct LengthLimit {
    cancel: Cancel,
    length: usize,
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
pub fn without_reasoning(text: &str) -> &str {
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
