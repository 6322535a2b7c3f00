//! What the model is told of the session's surroundings, and when. The system prompt says how they are when the
//! session begins and stays as it is, because providers cache what a request begins with, and some refuse their
//! own reasoning behind anything that changed. What changes is told behind the messages so far, as
//! [news](Message::news), and stays there.

use crate::agent::Mode;
use crate::agent::prompt::checklist;
use crate::agent::prompt::system_prompt::{CUT, start, tools_note, without_tags};
use crate::conversation::Message;
use crate::provider::ToolSpec;
use crate::text::for_model;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// How much of a checklist is told, in bytes.
pub(in crate::agent) const MAX_CHECKLIST: usize = 64 << 10;

/// The tags of what news contains. No text between them contains another.
const DATE: &str = "date";
const MODE: &str = "mode";
const HINTS: &str = "hints";
const CHECKLIST: &str = "checklist";
const TAGS: [&str; 4] = [DATE, MODE, HINTS, CHECKLIST];
const LIST: &str = "This is your checklist as it is now:";

/// What the system prompt says and what may change.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::agent) struct Facts {
    /// As `YYYY-MM-DD`.
    pub(in crate::agent) date: String,
    pub(in crate::agent) mode: Mode,
    pub(in crate::agent) hints: String,
    /// The name and the instructions of each.
    pub(in crate::agent) extensions: Vec<(String, String)>,
}

/// What the system prompt of a session says.
pub(in crate::agent) struct ToldContext {
    facts: Facts,
    /// A hash of the tools. When they change, providers read everything anew, so that the system prompt may
    /// change, too.
    tools: u64,
}

impl ToldContext {
    /// The facts for the system prompt of a request now. `before` is what the previous request was sent with; `began`
    /// is the day on which the session began.
    pub(in crate::agent) fn update<'c>(
        before: &'c mut Option<ToldContext>,
        now: &Facts,
        began: &str,
        tools: &[ToolSpec],
    ) -> &'c Facts {
        let tools = hash(tools);
        let is_same =
            |told: &ToldContext| told.tools == tools && told.facts.extensions == now.extensions;
        if !before.as_ref().is_some_and(is_same) {
            let facts = Facts {
                date: began.to_owned(),
                ..now.clone()
            };
            *before = Some(ToldContext { facts, tools });
        }
        let told = before.get_or_insert_with(|| ToldContext {
            facts: now.clone(),
            tools,
        });
        &told.facts
    }
}

/// The news that the model has to be told: what is so now, and neither in the system prompt nor in the messages that
/// it sees. `list` is the checklist, if the session keeps one.
pub(in crate::agent) fn news(
    system: &Facts,
    now: &Facts,
    list: Option<&str>,
    messages: &[Arc<Message>],
) -> Option<Message> {
    let mut news = Vec::new();
    let mode = |facts: &Facts| tools_note(facts.mode, !facts.extensions.is_empty());
    let changes = [
        (DATE, "Today is", &*system.date, &*now.date),
        (
            MODE,
            "What may run without a question has changed. From now on:",
            mode(system),
            mode(now),
        ),
        (
            HINTS,
            "The notes of the person and the project have changed. These replace the earlier ones:",
            &*system.hints,
            &*now.hints,
        ),
    ];
    for (tag, intro, then, now) in changes {
        let now = plain(now);
        let is_told = told(messages, tag).map_or_else(|| plain(then) == now, |told| told == now);
        if !is_told {
            news.push(format!("{intro}\n\n{}", between_tags(tag, &now)));
        }
    }
    if let Some(list) = list {
        let now = checklist_text(list);
        if told_list(messages).unwrap_or_default() != now {
            news.push(format!("{LIST}\n\n{}", between_tags(CHECKLIST, &now)));
        }
    }
    (!news.is_empty()).then(|| Message::news(news.join("\n\n")))
}

/// What the latest news of the messages that the model sees contain between these tags.
fn told<'m>(messages: &'m [Arc<Message>], tag: &str) -> Option<&'m str> {
    let visible = messages.iter().rev().filter(|m| m.metadata.agent_visible);
    let mut news = visible.filter_map(|message| message.as_news());
    news.find_map(|news| in_tags(news, tag))
}

/// The checklist as the model wrote it last, or was told it after that.
fn told_list(messages: &[Arc<Message>]) -> Option<String> {
    let visible = messages.iter().rev().filter(|m| m.metadata.agent_visible);
    for message in visible {
        if let Some(list) = message.as_news().and_then(|it| in_tags(it, CHECKLIST)) {
            return Some(list.to_owned());
        }
        let written = message.tool_requests().filter_map(checklist::written);
        if let Some(list) = written.last() {
            return Some(checklist_text(&list));
        }
    }
    None
}

fn checklist_text(list: &str) -> String {
    let (text, is_cut) = start(list.trim(), MAX_CHECKLIST);
    plain(text) + if is_cut { CUT } else { "" }
}

/// The text without hidden characters and without the tags of news.
fn plain(text: &str) -> String {
    let text = for_model(text.trim());
    TAGS.iter()
        .fold(text.into_owned(), |text, tag| without_tags(&text, tag))
}

fn between_tags(tag: &str, text: &str) -> String {
    format!("<{tag}>\n{text}\n</{tag}>")
}

fn in_tags<'t>(news: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = news.split_once(&format!("<{tag}>\n"))?;
    let (text, _) = rest.split_once(&format!("\n</{tag}>"))?;
    Some(text)
}

fn hash(tools: &[ToolSpec]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for tool in tools {
        (&tool.name, &tool.description, tool.input_schema.get()).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
