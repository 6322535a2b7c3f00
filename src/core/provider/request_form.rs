//! The form of the requests to one model, beyond what its wire protocol says: which of two protocols, and what
//! is left out because the server refused it. No I/O and no clock.
//!
//! A server that refuses something by its name is asked once more without it, whatever the vendor's documents
//! say: the lists of models that a program ships are older than the servers that it talks to.

use super::CompletionRequest;
use super::model_traits::ModelTraits;
use std::collections::{BTreeSet, HashMap};

/// The most models of a provider whose forms are remembered.
const MAX_MODELS: usize = 1_000;
/// The most changes of the form for one completion.
pub(super) const MAX_CHANGES: usize = 8;
/// The parameters of requests that a server may refuse, and that a request can do without, by the last name in
/// their path.
const OPTIONAL: [&str; 10] = [
    "temperature",
    "top_p",
    "stream_options",
    "include_usage",
    "reasoning_effort",
    "parallel_tool_calls",
    "prompt_cache_key",
    "thinking",
    "include",
    REASONING_CONTENT,
];
/// The reasoning of earlier answers, a field of messages.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";
/// The same for parameters whose name is a word of its own in other errors, too.
const OPTIONAL_PHRASES: [(&str, &str); 5] = [
    ("reasoning.summary", SUMMARY),
    (SUMMARIES, SUMMARY),
    ("'reasoning'", "reasoning"),
    ("\"reasoning\"", "reasoning"),
    ("`reasoning`", "reasoning"),
];
/// The summary of reasoning, a field of `reasoning`.
pub(super) const SUMMARY: &str = "summary";
/// The encrypted reasoning of earlier responses.
pub(super) const ENCRYPTED_CONTENT: &str = "encrypted_content";
/// How a server names encrypted reasoning, in lower case, and what it says if it cannot read it.
const REASONING_ITEMS: [&str; 3] = ["encrypted content", ENCRYPTED_CONTENT, "'rs_"];
const UNREADABLE: [&str; 3] = [
    "could not be verified",
    "could not be decrypted",
    "not found",
];
/// What OpenAI says of something that it offers to verified organizations alone, and how it names summaries then.
const UNVERIFIED: &str = "must be verified to";
const SUMMARIES: &str = "reasoning summar";
/// What a server says if it does not stream this model, at all or for this account.
const NO_STREAM: [&str; 2] = [
    "must be verified to stream",
    "'stream' does not support true",
];
/// What a server says of a parameter that it does not accept, in lower case.
const REFUSALS: [&str; 15] = [
    "unsupported",
    "not supported",
    "does not support",
    "doesn't support",
    "unknown",
    "unrecognized",
    "unexpected",
    "not permitted",
    "not allowed",
    "deprecated",
    "no longer",
    "invalid parameter",
    "unsupported_parameter",
    "cannot be used",
    UNVERIFIED,
];

/// The form of the requests to one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestForm {
    /// The parameters that are left out.
    left_out: BTreeSet<&'static str>,
    /// Which of OpenAI's protocols, if the server refused the other.
    pub(super) openai_api: Option<OpenAiApi>,
    /// What the catalog knows of the model.
    pub(super) traits: Option<ModelTraits>,
}

/// One of OpenAI's two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenAiApi {
    ChatCompletions,
    Responses,
}

/// What a server refused: an error response that says so.
#[derive(Clone, Copy)]
pub(super) struct Refusal<'a> {
    pub(super) status: u16,
    /// The server's words, as it wrote them.
    pub(super) words: &'a str,
}

impl RequestForm {
    /// The traits of the model of this name: those that the catalog knows, else what the name says.
    pub(super) fn traits_of(&self, model: &str) -> ModelTraits {
        self.traits.unwrap_or_else(|| ModelTraits::of(model))
    }

    /// Whether the parameter may be sent.
    pub(super) fn accepts(&self, parameter: &str) -> bool {
        !self.left_out.contains(parameter)
    }

    /// The parameters that are left out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &'static str> {
        self.left_out.iter().copied()
    }

    /// Changes the form so that the request may succeed, and says how; `None` if nothing can be left out.
    pub(super) fn adapt(
        &mut self,
        refusal: Refusal<'_>,
        _request: &CompletionRequest<'_>,
    ) -> Option<String> {
        let words = refusal.words.to_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
        match refusal.status {
            400 | 404 | 422 => {}
            403 if says(&[UNVERIFIED]) => {}
            _ => return None,
        }
        if says(&NO_STREAM) && !says(&[SUMMARIES]) {
            self.left_out.insert("stream_options");
            let is_new = self.left_out.insert("stream");
            return is_new.then(|| "without a stream".to_owned());
        }
        if says(&REASONING_ITEMS) && says(&UNREADABLE) {
            let is_new = self.left_out.insert(ENCRYPTED_CONTENT);
            return is_new.then(|| "without encrypted reasoning".to_owned());
        }
        let parameter = refused_parameter(&words)?;
        let is_new = self.left_out.insert(parameter);
        is_new.then(|| format!("without the parameter {parameter}"))
    }
}

/// The optional parameter that an error in lower case refuses. It must be a word of its own: an error may quote
/// the conversation.
fn refused_parameter(words: &str) -> Option<&'static str> {
    if !REFUSALS.iter().any(|sign| words.contains(sign)) {
        return None;
    }
    let is_separator = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let named = words
        .split(is_separator)
        .find_map(|word| OPTIONAL.iter().find(|name| **name == word));
    let in_phrase = || {
        OPTIONAL_PHRASES
            .iter()
            .find(|(phrase, _)| words.contains(phrase))
    };
    match named {
        // A field of the options, which are left out whole.
        Some(&"include_usage") => Some("stream_options"),
        Some(name) => Some(name),
        None => in_phrase().map(|(_, name)| *name),
    }
}

/// The forms that the models of a provider accepted, for the lifetime of the process.
#[derive(Default)]
pub(super) struct LearnedForms(HashMap<String, RequestForm>);

impl LearnedForms {
    /// The form for a request to `model`.
    pub(super) fn of(&self, model: &str) -> RequestForm {
        self.0.get(model).cloned().unwrap_or_default()
    }

    /// Remembers that the model accepted the form.
    pub(super) fn learn(&mut self, model: &str, mut form: RequestForm) {
        // Another conversation may have reasoning that the server can read.
        form.left_out.remove(ENCRYPTED_CONTENT);
        if self.0.contains_key(model) || self.0.len() < MAX_MODELS {
            self.0.insert(model.to_owned(), form);
        }
    }
}

#[cfg(test)]
mod tests;
