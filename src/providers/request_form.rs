//! The form of the requests to one model, beyond what its wire protocol says: which of two protocols, and what
//! is left out because the server refused it. No I/O and no clock.
//!
//! A server that refuses something by its name is asked once more without it, whatever the vendor's documents
//! say: the lists of models that a program ships are older than the servers that it talks to.

use super::model_details::ModelDetails;
use super::model_traits::ModelTraits;
use super::tool_name_encoding::encode_tool_name;
use super::{CompletionRequest, ToolSpec};
use crate::conversation::Content;
use std::collections::{BTreeSet, HashMap};

/// The most models of a provider whose forms are remembered.
const MAX_MODELS: usize = 1_000;
/// The most changes of the form for one completion.
pub(super) const MAX_CHANGES: usize = 8;
/// The parameters of requests that a server may refuse, and that a request can do without, by the last name in
/// their path.
const OPTIONAL: [&str; 12] = [
    "temperature",
    "top_p",
    "stream_options",
    "include_usage",
    "reasoning_effort",
    "parallel_tool_calls",
    "prompt_cache_key",
    "thinking",
    "include",
    "truncate",
    CACHE_CONTROL,
    REASONING_CONTENT,
];
/// The reasoning of earlier answers, a field of messages.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";
/// What marks the end of a prefix for the server's cache, a field of parts of messages.
pub(super) const CACHE_CONTROL: &str = "cache_control";
/// The same for parameters whose name is a word of its own in other errors, too.
const OPTIONAL_PHRASES: [(&str, &str); 8] = [
    ("block_binding", BLOCK_BINDING),
    ("does not support thinking", "think"),
    ("output_config", "output_config"),
    ("reasoning.summary", SUMMARY),
    (SUMMARIES, SUMMARY),
    ("'reasoning'", "reasoning"),
    ("\"reasoning\"", "reasoning"),
    ("`reasoning`", "reasoning"),
];
/// What becomes of reasoning that does not stand where it was made, a field of `thinking`.
pub(super) const BLOCK_BINDING: &str = "block_binding";
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
/// What a server says of reasoning that does not stand where it was made, in lower case.
const BOUND_ELSEWHERE: [&str; 2] = [
    "bound to a different conversation",
    "block_binding.prefix_mismatch_behavior",
];
/// How many pieces of reasoning that a model refused are remembered.
const MAX_REFUSED_THINKING: usize = 1_000;
/// What a server says of a model that calls no tools, in lower case.
const NO_TOOLS: [&str; 6] = [
    "does not support tools",
    "support tool use",
    "does not support function calling",
    "function calling is not enabled",
    "tools is not supported in this model",
    "--enable-auto-tool-choice",
];
/// How a server names the place of a tool: what stands before and after its number.
const TOOL_AT: [(&str, &str); 4] = [
    ("tools.", "."),
    ("tools[", "]"),
    ("function_declarations[", "]"),
    ("functionDeclarations[", "]"),
];
/// What an error says that names a tool, in lower case.
const ABOUT_TOOLS: [&str; 3] = ["schema", "invalid function", "invalid tool"];
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
    pub(super) left_out: BTreeSet<&'static str>,
    /// Which of OpenAI's protocols, if the server refused the other.
    pub(super) openai_api: Option<OpenAiApi>,
    /// The tools that the server refused, by their own names.
    pub(super) left_out_tools: BTreeSet<String>,
    /// The model calls no tools.
    pub(super) without_tools: bool,
    /// The origins of reasoning that the server refused, in the order of their names.
    pub(super) refused_thinking: BTreeSet<String>,
    /// What the catalog knows of the model.
    pub(super) traits: Option<ModelTraits>,
    /// What the server has told of the model.
    pub(super) details: Option<ModelDetails>,
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

    /// Which tools are not offered; another value after each change of that.
    pub(super) fn offered(&self) -> (bool, usize) {
        (self.without_tools, self.left_out_tools.len())
    }

    /// Changes the form so that the request may succeed, and says how; `None` if nothing can be left out.
    pub(super) fn adapt(
        &mut self,
        refusal: Refusal<'_>,
        request: &CompletionRequest<'_>,
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
        if says(&BOUND_ELSEWHERE) {
            let before = self.refused_thinking.len();
            let parts = request.messages.iter().flat_map(|message| &message.content);
            let origins = parts.filter_map(|part| match part {
                Content::Thinking(part) => part.origin.clone(),
                Content::RedactedThinking(part) => part.origin.clone(),
                _ => None,
            });
            self.refused_thinking.extend(origins);
            let is_new = self.refused_thinking.len() > before;
            while self.refused_thinking.len() > MAX_REFUSED_THINKING {
                self.refused_thinking.pop_first();
            }
            return is_new.then(|| "without earlier reasoning".to_owned());
        }
        if !request.tools.is_empty() && says(&NO_TOOLS) {
            self.without_tools = true;
            return Some("without tools".to_owned());
        }
        if let Some(tool) = refused_tool(refusal.words, request.tools) {
            let is_new = self.left_out_tools.insert(tool.to_owned());
            return is_new.then(|| format!("without the tool {tool}"));
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
    let mut phrases = OPTIONAL_PHRASES.iter();
    if let Some((_, name)) = phrases.find(|(phrase, _)| words.contains(phrase)) {
        return Some(name);
    }
    let is_separator = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let named = words
        .split(is_separator)
        .find_map(|word| OPTIONAL.iter().find(|name| **name == word));
    named.map(|name| match *name {
        // A field of the options, which are left out whole.
        "include_usage" => "stream_options",
        name => name,
    })
}

/// The tool that an error refuses, by its place in the request or by its name between quotes.
fn refused_tool<'t>(words: &str, tools: &'t [ToolSpec]) -> Option<&'t str> {
    for (sign, end) in TOOL_AT {
        let mut places = words.match_indices(sign);
        let at = places.find_map(|(at, _)| {
            let rest = &words[at + sign.len()..];
            let digits = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let ends = rest[digits..].starts_with(end);
            rest[..digits].parse().ok().filter(|_: &usize| ends)
        });
        if let Some(tool) = at.and_then(|at: usize| tools.get(at)) {
            return Some(&tool.name);
        }
    }
    let lower = words.to_lowercase();
    if !ABOUT_TOOLS.iter().any(|sign| lower.contains(sign)) {
        return None;
    }
    let quoted = |name: &str| {
        ['\'', '"', '`']
            .iter()
            .any(|q| words.contains(&format!("{q}{name}{q}")))
    };
    let found = tools
        .iter()
        .find(|tool| quoted(&encode_tool_name(&tool.name)));
    found.map(|tool| tool.name.as_str())
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
