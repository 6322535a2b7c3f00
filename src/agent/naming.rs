//! A name for the session, made by its model from what was said first. It is made in the background,
//! after the first turn, so that no answer waits for it.

use super::Registry;
use super::context;
use super::live::Agent;
use crate::conversation::{Message, Role};
use crate::provider::{Ask, ModelConfig, Purpose, Unheard};
use std::sync::Arc;

/// How much of what was said is looked at, in bytes.
const DIGEST: usize = 4_000;
/// The longest name, in characters.
const LONGEST: usize = 80;
/// How many tokens a name may cost.
const TOKENS: u64 = 200;

const SYSTEM: &str = "You name chats. Answer with a name for the session that you are shown, four words at \
most, in the language of the user, and with nothing else: no quotes, no explanation.";

impl Registry {
    /// Begins to name the session, if it has no name yet. A name that a person chose stays.
    pub(super) fn name_in_background(&self, agent: &Arc<Agent>, id: &str) {
        if !agent.wants_name() {
            return;
        }
        let sessions = self.stores().sessions.clone();
        let (Some(model), _) = agent.floor.model() else {
            return;
        };
        let (id, cancel) = (id.to_owned(), agent.cancel().clone());
        let named = move || {
            let unnamed =
                |s: &crate::conversation::Session| !s.user_set_name && s.name == "New Chat";
            if !sessions
                .load(&id)
                .ok()
                .flatten()
                .is_some_and(|session| unnamed(&session))
            {
                return;
            }
            let Ok(Some(messages)) = sessions.conversation(&id) else {
                return;
            };
            let both = |m: &&Message| m.metadata.user_visible && m.metadata.agent_visible;
            let shown = messages.iter().filter(both).take(4);
            let digest = context::digest(shown, DIGEST);
            let question = format!("Name this session:\n\n<conversation>\n{digest}</conversation>");
            let question = Message::text(Role::User, question);
            let config = ModelConfig {
                max_tokens: Some(TOKENS),
                ..model.config.clone()
            };
            let ask = Ask {
                model: &config,
                system: SYSTEM,
                messages: &[&question],
                tools: &[],
                purpose: Purpose::Name,
            };
            let name = match model.provider.ask(&ask, &cancel, &mut Unheard) {
                Ok(answer) => tidy(&Message::new(Role::Assistant, answer.content).concat_text()),
                Err(error) => {
                    log::debug!("session not named by its model session={id} reason={error}");
                    String::new()
                }
            };
            let first = messages.iter().find(|m| tells(m));
            let name = match name.is_empty() {
                true => tidy(&first.map(Message::concat_text).unwrap_or_default()),
                false => name,
            };
            if name.is_empty() || cancel.is_cancelled() {
                return;
            }
            let stored = sessions.update(&id, |session| {
                if unnamed(session) {
                    session.name = name;
                }
            });
            if let Err(error) = stored {
                log::debug!("name of a session not stored session={id} reason={error}");
            }
        };
        agent.in_background("name", named);
    }
}

/// Whether the message says what the session is about: the user's words, but no command.
pub(super) fn tells(message: &Message) -> bool {
    let metadata = message.metadata;
    message.role == Role::User && metadata.user_visible && metadata.agent_visible
}

/// The first line that says something, as a name.
fn tidy(text: &str) -> String {
    // Some models think aloud before they answer.
    let text = text.rsplit("</think>").next().unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    let bare = line.trim_matches(['"', '\'', '`', '*', '#', '.', ' ', '“', '”']);
    let mut name = String::new();
    for c in bare.chars().filter(|c| !c.is_control()) {
        if name.chars().count() == LONGEST {
            name.push('…');
            break;
        }
        name.push(c);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_short_line_without_ornament() {
        assert_eq!(
            tidy("\n  **\"Adding two numbers.\"**\nBecause…"),
            "Adding two numbers"
        );
        assert_eq!(tidy("<think>hm\nhm</think>\nSums"), "Sums");
        assert_eq!(tidy("a\u{1b}[31mb"), "a[31mb");
        assert_eq!(tidy(&"é".repeat(200)).chars().count(), LONGEST + 1);
        assert_eq!(tidy(" \n "), "");
    }
}
