//! How much of a model's context a conversation fills, and the digest that a summary is made from.

use crate::conversation::{Content, Message, Outcome, Role};
use crate::mcp::types::CallToolResult;
use crate::provider::{ToolSpec, text_of};

/// Characters of a token, until a model has said how many it counts. English prose has four, code and
/// JSON three.
const USUAL: f64 = 3.6;
/// What a provider's count may make of it.
const SANE: std::ops::RangeInclusive<f64> = 1.0..=8.0;
/// Requests shorter than this tell little about the ratio, in characters.
const TELLING: usize = 4_000;
/// What an image counts for, in characters.
const IMAGE: usize = 4_000;
/// What goes around a message or a tool, in characters.
const AROUND: usize = 16;

/// The longest part of a message in a digest, in characters.
const PART: usize = 4_000;
/// The longest answer of a tool in a digest, in characters.
const ANSWER: usize = 1_500;

/// How many characters a model counts as a token, learned from what providers report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio(f64);

impl Default for Ratio {
    fn default() -> Self {
        Ratio(USUAL)
    }
}

impl Ratio {
    /// A request of `size` characters was counted as `tokens`.
    pub(super) fn learn(&mut self, size: usize, tokens: u64) {
        if size >= TELLING && tokens > 0 {
            let ratio = size as f64 / tokens as f64;
            if SANE.contains(&ratio) {
                self.0 = ratio;
            }
        }
    }

    /// The tokens in `size` characters.
    pub(super) fn tokens(self, size: usize) -> u64 {
        (size as f64 / self.0).ceil() as u64
    }

    /// The characters in `tokens`.
    pub(super) fn size(self, tokens: u64) -> usize {
        (tokens as f64 * self.0) as usize
    }
}

/// The size of a request, in characters or what counts like them.
pub(super) fn size<'m>(
    system: &str,
    messages: impl IntoIterator<Item = &'m Message>,
    tools: &[ToolSpec],
) -> usize {
    let tools = tools.iter().map(|tool| {
        AROUND + tool.name.len() + tool.description.len() + tool.input_schema.get().len()
    });
    let messages = messages.into_iter().map(size_of);
    system.len() + messages.sum::<usize>() + tools.sum::<usize>()
}

fn size_of(message: &Message) -> usize {
    let part = |part: &Content| match part {
        Content::Text(text) => text.text.len(),
        Content::Image(_) => IMAGE,
        Content::ToolRequest(request) => request.tool_call.value().map_or(AROUND, |call| {
            AROUND + call.name.len() + call.arguments.get().len()
        }),
        Content::ToolResponse(response) => match &response.tool_result {
            Outcome::Success { value } => AROUND + size_of_result(value),
            Outcome::Error { error } => AROUND + error.len(),
        },
        Content::Thinking(thinking) => thinking.thinking.len(),
        _ => 0,
    };
    AROUND + message.content.iter().map(part).sum::<usize>()
}

fn size_of_result(result: &CallToolResult) -> usize {
    if let ([], Some(data)) = (&result.content[..], &result.structured_content) {
        return data.get().len();
    }
    let part = |json: &str| match json.contains(r#""image""#) || json.contains(r#""audio""#) {
        true => json.len().min(IMAGE),
        false => json.len(),
    };
    let parts = result.content.iter().map(|part_| part(part_.as_json()));
    parts.sum()
}

/// The conversation as text of at most about `budget` bytes, for somebody who is to sum it up. What
/// does not fit is left out of the middle: the beginning says what is wanted, the end where it stands.
pub(super) fn digest<'m>(messages: impl IntoIterator<Item = &'m Message>, budget: usize) -> String {
    let mut all = String::new();
    for message in messages {
        for part in &message.content {
            let (who, text) = match part {
                Content::Text(text) if message.role == Role::User => ("User", text.text.clone()),
                Content::Text(text) => ("Assistant", text.text.clone()),
                Content::Image(_) => ("User", "(an image)".to_owned()),
                Content::ToolRequest(request) => match &request.tool_call {
                    Outcome::Success { value } => {
                        let call = format!("{} {}", value.name, value.arguments.get());
                        ("Call", shortened(&call, ANSWER))
                    }
                    Outcome::Error { error } => ("Call", error.clone()),
                },
                Content::ToolResponse(response) => match &response.tool_result {
                    Outcome::Success { value } => ("Result", shortened(&text_of(value), ANSWER)),
                    Outcome::Error { error } => ("Result", shortened(error, ANSWER)),
                },
                _ => continue,
            };
            all.push_str(who);
            all.push_str(": ");
            all.push_str(&shortened(&text, PART));
            all.push_str("\n\n");
        }
    }
    shortened(&all, budget)
}

/// The text with its middle left out, if it is longer than about `most` bytes.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 4);
    let tail = text.ceil_char_boundary(text.len() - (most - most / 4));
    format!(
        "{}\n[… {} bytes left out …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_corrects_the_estimate_within_reason() {
        let mut ratio = Ratio::default();
        assert_eq!(ratio.tokens(3_600), 1_000);
        ratio.learn(8_000, 4_000);
        assert_eq!((ratio.tokens(3_600), ratio.size(100)), (1_800, 200));
        ratio.learn(8_000, 1);
        ratio.learn(100, 1);
        ratio.learn(8_000, 0);
        assert_eq!(ratio.tokens(3_600), 1_800);
    }

    #[test]
    fn a_digest_has_nothing_that_is_for_the_user_alone() {
        let message = serde_json::json!({"role": "user", "created": 1, "content": [
            {"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value": {"content": [
                {"type": "text", "text": "open"},
                {"type": "text", "text": "secret", "annotations": {"audience": ["user"]}},
            ]}}},
        ]});
        let message: Message = serde_json::from_value(message).unwrap();
        assert_eq!(digest([&message], usize::MAX), "Result: open\n\n");
    }

    #[test]
    fn a_digest_keeps_both_ends() {
        let messages: Vec<Message> = (0..100)
            .map(|n| Message::text(Role::User, format!("message é {n} {}", "x".repeat(50))))
            .collect();
        let whole = digest(&messages, usize::MAX);
        assert!(whole.contains("message é 50 "));
        let digest = digest(&messages, 1_000);
        assert!(digest.len() < 1_100 && !digest.contains("message é 50 "));
        assert!(digest.starts_with("User: message é 0 ") && digest.contains("message é 99 "));
        assert!(digest.contains("bytes left out"));
    }
}
