//! Short answers of a model beside a turn: names, summaries and recipes.

use crate::agent::Error;
use crate::agent::prompt::conversation_digest::digest;
use crate::agent::prompt::prompt_kind::PromptKind;
use crate::agent::session::model_selection::Models;
use crate::agent::turn::token_estimate::Estimate;
use crate::agent::turn::turn_channel::Model;
use crate::conversation::{Message, Role, Session};
use crate::provider::{self, CompletionRequest, DeltaSink, Purpose, StopReason};
use crate::sys::cancel::Cancel;
use serde_json::Value;

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

/// What the model of a session answers beside a turn.
pub struct SideAnswer {
    /// The provider of the model.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The text of the answer.
    pub text: String,
}

impl Models<'_> {
    /// Asks the session's model about its conversation, as far as the user sees it, beside a turn. The model gets it
    /// as text of about `budget` bytes at most, with the system prompt `prompt`. Nothing is stored.
    ///
    /// # Errors
    /// When the session has no messages or no model, or the model fails.
    pub fn ask_about(
        self,
        session: &Session,
        prompt: &PromptKind,
        budget: usize,
        cancel: &Cancel,
    ) -> Result<SideAnswer, Error> {
        let messages = (self.stores.sessions).conversation(&session.id)?;
        let messages = messages.unwrap_or_default();
        let shown = messages
            .iter()
            .filter(|message| message.metadata.user_visible);
        let text = digest(shown, budget);
        if text.trim().is_empty() {
            return Err(Error::config("the session has no messages"));
        }
        let model = self.of(session)?;
        let system = self.stores.prompts.text(prompt, &Value::Null);
        let (text, _) = ask(&model, &system, "", &text, Purpose::Summary, cancel)?;
        Ok(SideAnswer {
            provider: model.provider.name().to_owned(),
            model: model.config.model_name,
            text,
        })
    }
}

/// Asks the model about a conversation, which `digest` is, with a line before it. Returns the text of the answer, and
/// whether it is complete.
pub(in crate::agent) fn ask(
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
