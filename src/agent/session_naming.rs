//! A name for the session, made by its model from what was said first. It is made in the background,
//! after the first turn, so that no answer waits for it.

use super::Registry;
use super::session_agent::Agent;
use super::token_estimate::{self, Estimate};
use crate::conversation::{Message, Role};
use crate::provider::{CompletionRequest, DeltaSink, Purpose};
use crate::sys::cancel::Cancel;
use std::sync::Arc;

/// How much of what was said is looked at, in bytes.
const DIGEST: usize = 4_000;
/// The longest name, in characters.
const LONGEST: usize = 80;
/// How much a model may say, thoughts included, before the request for a name is cancelled, in bytes.
///
/// This bounds answers that come as a stream. One that comes as a whole has its end already; the provider's
/// own limit on output bounds it. The request sends no limit in tokens: a small one cuts off a model that
/// thinks before it answers, and servers with a small context refuse a large one.
const MOST_SAID: usize = 64 << 10;
/// What encloses thoughts that come as text.
const THOUGHTS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
];

const SYSTEM: &str = "You name chats. Answer with a name for the session that you are shown, four words at \
most, in the language of the user, and with nothing else: no quotes, no explanation.";

impl Registry {
    /// Begins to name the session, if it has no name yet. A name that a person chose stays.
    pub(super) fn name_in_background(&self, agent: &Arc<Agent>, id: &str) {
        if !agent.wants_name() {
            return;
        }
        let sessions = self.stores().sessions.clone();
        let (Some(model), _) = agent.channel.model() else {
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
            let digest = token_estimate::digest(shown, DIGEST);
            let question = format!("Name this session:\n\n<conversation>\n{digest}</conversation>");
            let question = Message::text(Role::User, question);
            let ask = CompletionRequest {
                model: &model.config,
                system: SYSTEM,
                messages: &[&question],
                note: None,
                tools: &[],
                purpose: Purpose::Name,
                input: Estimate::default().tokens(digest.len()),
            };
            let mut bound = Bound::new(cancel.child());
            let asked = bound.cancel.clone();
            let name = match model.provider.complete(&ask, &asked, &mut bound) {
                Ok(answer) => tidy(&Message::new(Role::Assistant, answer.content).concat_text()),
                Err(error) => {
                    log::debug!("session not named by its model session={id} reason={error}");
                    String::new()
                }
            };
            let first = messages.iter().find(|m| tells(m));
            let name = if name.is_empty() {
                tidy(&first.map(Message::concat_text).unwrap_or_default())
            } else {
                name
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

/// Cancels a model that says too much for a name.
struct Bound {
    cancel: Cancel,
    said: usize,
}

impl Bound {
    fn new(cancel: Cancel) -> Self {
        Bound { cancel, said: 0 }
    }
}

impl DeltaSink for Bound {
    fn text(&mut self, text: &str) {
        self.said += text.len();
        if self.said > MOST_SAID {
            self.cancel.cancel();
        }
    }

    fn reasoning(&mut self, text: &str) {
        self.text(text);
    }
}

/// Whether the message says what the session is about: the user's words, but no command.
pub(super) fn tells(message: &Message) -> bool {
    let metadata = message.metadata;
    message.role == Role::User && metadata.user_visible && metadata.agent_visible
}

/// What follows the thoughts that some models write into their text; nothing if a thought has no end.
fn without_thoughts(text: &str) -> &str {
    for (open, close) in THOUGHTS {
        if let Some((_, answer)) = text.rsplit_once(close) {
            return answer;
        }
        if text.trim_start().starts_with(open) {
            return "";
        }
    }
    text
}

/// The first line that says something, as a name.
fn tidy(text: &str) -> String {
    let text = without_thoughts(text);
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
        assert_eq!(tidy("hm</think>Sums"), "Sums");
        assert_eq!(tidy("[THINK]hm[/THINK]Sums"), "Sums");
        assert_eq!(tidy("\n<think>\nOkay, the user"), "");
        assert_eq!(tidy("a\u{1b}[31mb"), "a[31mb");
        assert_eq!(tidy(&"é".repeat(200)).chars().count(), LONGEST + 1);
        assert_eq!(tidy(" \n "), "");
    }
}
