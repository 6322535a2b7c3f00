//! The name of a session, made by its model from the first messages. It is made in the background after the
//! first turn, or beside it for clients that read the name at its end, so that no answer waits for it.

use crate::agent::prompt::conversation_digest::digest;
use crate::agent::prompt::prompt_kind::PromptKind;
use crate::agent::prompt::short_answer::{ask, without_reasoning};
use crate::agent::session::model_selection::Models;
use crate::agent::session::observers::SessionObservers;
use crate::agent::session::session_agent::Agent;
use crate::agent::turn::turn_channel::Model;
use crate::conversation::{Message, Role, Session};
use crate::provider::FastModel;
use crate::provider::{Purpose, StopReason};
use crate::store::Sessions;
use crate::sys::cancel::Cancel;
use serde_json::Value;
use std::sync::Arc;

/// The size of the digest that the model gets, in bytes.
const DIGEST_SIZE: usize = 4_000;
/// The longest name, in characters.
const MAX_NAME: usize = 80;

/// The prompt for the name of a session.
const SESSION_NAME_TEXT: &str = "You name chats. Answer with a name for the session that you are shown, four words at \
most, in the language of the user, and with nothing else: no quotes, no explanation.";

/// The system prompt of requests for a session's name.
pub static SESSION_NAME: PromptKind = PromptKind {
    file: "session_name.md",
    description: "Prompt for the name of a session",
    default_text: || SESSION_NAME_TEXT.to_owned(),
    variables: "",
};

/// Starts to name the agent's session in the background, if it has no name. A name that the user chose stays.
pub(in crate::agent) fn name_in_background(
    agent: &Arc<Agent>,
    models: Models<'_>,
    observers: &SessionObservers,
) {
    let Models { stores, catalog } = models;
    if !agent.take_unnamed() {
        return;
    }
    let (Some(model), _) = agent.channel.model() else {
        return;
    };
    let namer = SessionNamer {
        sessions: stores.sessions.clone(),
        observers: observers.clone(),
        id: agent.session_id.clone(),
        system: stores.prompts.text(&SESSION_NAME, &Value::Null),
        fast: catalog.fast_model(
            model.provider.name(),
            &model.config.model_name,
            DIGEST_SIZE as u64,
        ),
        model,
        cancel: agent.cancel().clone(),
    };
    // A session that cannot be named now keeps its name.
    let _ = agent.in_background("name", move || namer.run());
}

/// Names one session.
struct SessionNamer {
    sessions: Arc<Sessions>,
    observers: SessionObservers,
    id: String,
    system: String,
    model: Model,
    fast: Option<FastModel>,
    cancel: Cancel,
}

impl SessionNamer {
    fn run(&self) {
        let session = self.sessions.load(&self.id).ok().flatten();
        if !session.is_some_and(|session| is_unnamed(&session)) {
            return;
        }
        let Ok(Some(messages)) = self.sessions.conversation(&self.id) else {
            return;
        };
        let mut name = self.ask_model(&messages);
        if name.is_empty() {
            let first = messages.iter().find(|message| has_topic(message));
            name = name_from(&first.map(Message::concat_text).unwrap_or_default());
        }
        if name.is_empty() || self.cancel.is_cancelled() {
            return;
        }
        let stored = self.sessions.update(&self.id, |session| {
            if is_unnamed(session) {
                session.name = name;
            }
        });
        match stored {
            Ok(session) => {
                (self.observers).tell(|it| it.named(&self.id, &session.name));
            }
            Err(error) => log::debug!(
                "name of a session not stored session={} reason={error}",
                self.id
            ),
        }
    }

    /// The name that the model gives; empty if it gives none.
    fn ask_model(&self, messages: &[Message]) -> String {
        let is_shown = |m: &&Message| m.metadata.user_visible && m.metadata.agent_visible;
        let first = messages.iter().filter(is_shown).take(4);
        let text = digest(first, DIGEST_SIZE);
        let line = "Name this session:\n\n";
        let answer = self.model.ask_fast_first(self.fast.as_ref(), |model| {
            let (system, purpose) = (&self.system, Purpose::Name);
            ask(model, system, line, &text, purpose, &self.cancel)
        });
        match answer {
            Ok((text, stop)) => name_from(complete_lines(&text, stop)),
            Err(error) => {
                let id = &self.id;
                log::debug!("session not named by its model session={id} reason={error}");
                String::new()
            }
        }
    }
}

fn is_unnamed(session: &Session) -> bool {
    !session.user_set_name && session.name == "New Chat"
}

/// Whether the message can say what the session is about: a message of the user that is not a command.
pub fn has_topic(message: &Message) -> bool {
    let metadata = message.metadata;
    message.role == Role::User && metadata.user_visible && metadata.agent_visible
}

/// The lines of an answer, without the last one if the answer is cut off.
fn complete_lines(text: &str, stop: StopReason) -> &str {
    match stop {
        StopReason::Complete => text,
        StopReason::Length | StopReason::Filtered => {
            text.rsplit_once('\n').map_or("", |(lines, _)| lines)
        }
    }
}

/// The first line that is not blank, as a name.
fn name_from(text: &str) -> String {
    let text = without_reasoning(text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    let bare = line.trim_matches(['"', '\'', '`', '*', '#', '.', ' ', '“', '”']);
    let mut name = String::new();
    for c in bare.chars().filter(|c| !c.is_control()) {
        if name.chars().count() == MAX_NAME {
            name.push('…');
            break;
        }
        name.push(c);
    }
    name
}

#[cfg(test)]
mod tests;
