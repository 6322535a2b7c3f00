//! The limit on output tokens: how many fit into the context beside the input, and what a provider's error
//! says about a limit that is too high. No I/O and no clock.

use super::MIN_OUTPUT;
use std::collections::HashMap;

/// The most models of a provider whose limits are remembered.
const MAX_MODELS: usize = 1_000;

/// What an error says about the limit on output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitError {
    /// The model's maximum.
    Most(u64),
    /// How much room the context has beside the input.
    Room(u64),
    /// The limit is too high, without a number.
    TooLarge,
}

impl LimitError {
    /// The limit for a second request after the provider refused `wanted`; `None` if it would not be lower.
    pub(super) fn lowered(self, wanted: Option<u64>) -> Option<Option<u64>> {
        match self {
            LimitError::Most(most) | LimitError::Room(most) => {
                let is_lower = wanted.is_none_or(|wanted| most < wanted);
                is_lower.then_some(Some(most))
            }
            LimitError::TooLarge => wanted.map(|_| None),
        }
    }
}

/// What the errors of a model say about its limit on output, as far as it holds for every request.
#[derive(Clone, Copy, Default)]
struct ModelLimits {
    /// The model's maximum.
    most: Option<u64>,
    /// The model refused a request without a limit, to which the protocol adds a default.
    refuses_default: bool,
    /// The lowest limit that the model refused without naming its maximum.
    too_large: Option<u64>,
}

/// The limits of a provider's models, learned when a request with a lower limit succeeded.
#[derive(Default)]
pub(super) struct LearnedLimits(HashMap<String, ModelLimits>);

impl LearnedLimits {
    /// The limit for a request to `model` if `wanted` is configured.
    pub(super) fn apply(&self, model: &str, wanted: Option<u64>) -> Option<u64> {
        let Some(known) = self.0.get(model) else {
            return wanted;
        };
        let Some(wanted) = wanted else {
            return known.most.filter(|_| known.refuses_default);
        };
        let is_too_large = known.too_large.is_some_and(|least| wanted >= least);
        match known.most {
            Some(most) if most < wanted => Some(most),
            _ if is_too_large => None,
            _ => Some(wanted),
        }
    }

    /// Remembers that the model refused `wanted` and accepted the limit that the error led to.
    pub(super) fn learn(&mut self, model: &str, wanted: Option<u64>, refused: LimitError) {
        if !self.0.contains_key(model) && self.0.len() >= MAX_MODELS {
            return;
        }
        let known = match refused {
            // A lower number is probably misread, and would cut off every response from now on.
            LimitError::Most(MIN_OUTPUT..) | LimitError::TooLarge => {
                self.0.entry(model.to_owned()).or_default()
            }
            _ => return,
        };
        let least = |known: Option<u64>, new: u64| Some(known.map_or(new, |known| known.min(new)));
        match (refused, wanted) {
            (LimitError::Most(most), wanted) => {
                known.most = least(known.most, most);
                known.refuses_default |= wanted.is_none();
            }
            (_, Some(wanted)) => known.too_large = least(known.too_large, wanted),
            (_, None) => {}
        }
    }
}

/// What an error message says about the limit on output; `None` if it is about something else.
pub(super) fn parse_limit_error(words: &str) -> Option<LimitError> {
    let words = words.to_lowercase().replace(['`', '\'', '"'], "");
    // Anthropic: "… exceed context limit: 178959 + 64000 > 200000, …".
    if let Some((_, sum)) = words.split_once("exceed context limit:") {
        let mut numbers = sum.split(['+', '>']).map(first_number);
        let (input, context) = (numbers.next()??, numbers.nth(1)??);
        return Some(LimitError::Room(context.saturating_sub(input)));
    }
    if let Some(context) = number_after(&words, "maximum context length is ") {
        return Some(LimitError::Room(
            context.saturating_sub(input_tokens(&words)?),
        ));
    }
    if !LIMIT_NAMES.iter().any(|sign| words.contains(sign)) {
        return None;
    }
    let most = BEFORE_MAXIMUM
        .iter()
        .find_map(|limit| number_after(&words, limit));
    match most.filter(|most| *most > 0) {
        Some(most) => Some(LimitError::Most(most)),
        None => (TOO_LARGE.iter().any(|sign| words.contains(sign))).then_some(LimitError::TooLarge),
    }
}

/// Names of the limit on output.
const LIMIT_NAMES: [&str; 5] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "maxoutputtokens",
];
/// Phrases for a limit that is too high.
const TOO_LARGE: [&str; 7] = [
    "too large",
    "too high",
    "too big",
    "too many",
    "exceed",
    "larger than",
    "must be less than",
];
/// The text before the number that is allowed.
const BEFORE_MAXIMUM: [&str; 7] = [
    "expected a value <= ",
    "supports at most ",
    "less than or equal to ",
    "max_tokens is [1, ",
    "max_tokens must be at most ",
    "maximum value is ",
    " > ",
];

/// The number of input tokens, if the message tells it apart from the output.
fn input_tokens(words: &str) -> Option<u64> {
    if words.contains("max_tokens") || words.contains("max_completion_tokens") {
        // vLLM: "… and your request has 26 input tokens (32768 > 32768 - 26)".
        if let Some(input) = number_before(words, " input tokens") {
            return Some(input);
        }
    }
    // "… you requested 65562 tokens (26 in the messages, 65536 in the completion)", also "about".
    let all = number_after(words, "you requested ").or(number_after(words, "you requested about "));
    let outputs = [" in the completion", " in the output"];
    let output = outputs.iter().find_map(|sign| number_before(words, sign));
    Some(all?.saturating_sub(output?))
}

fn number_after(words: &str, sign: &str) -> Option<u64> {
    first_number(words.split_once(sign)?.1)
}

fn number_before(words: &str, sign: &str) -> Option<u64> {
    let before = words.split_once(sign)?.0;
    let start = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    before[start..].parse().ok()
}

/// The number at the beginning of a text.
fn first_number(words: &str) -> Option<u64> {
    let words = words.trim_start();
    let end = words.find(|c: char| !c.is_ascii_digit());
    words[..end.unwrap_or(words.len())].parse().ok()
}

#[cfg(test)]
mod tests;
