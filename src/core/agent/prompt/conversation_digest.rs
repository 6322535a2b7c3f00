//! A conversation as shortened text, from which a model makes a summary or a name.

use crate::agent::turn::model_history::without_page_data;
use crate::conversation::{Content, Message, Outcome, Role};
use crate::provider::{audience_includes_model, result_text};
use std::borrow::Cow;
use std::collections::HashSet;

/// The longest part of a message in a digest, in bytes.
const MAX_PART: usize = 4_000;
/// The longest call or result of a tool in a digest, in bytes.
const MAX_TOOL_TEXT: usize = 1_500;

/// The conversation as text of about `budget` bytes at most. If it is longer, its middle is left out: the
/// beginning says what the user wants, the end how far the work is.
pub fn digest<'m>(messages: impl IntoIterator<Item = &'m Message>, budget: usize) -> String {
    let mut all = String::new();
    let mut with_page = HashSet::new();
    for message in messages
        .into_iter()
        .filter(|message| message.as_news().is_none())
    {
        let requests = message.tool_requests();
        with_page.extend(requests.filter(|it| it.has_page()).map(|it| it.id.as_str()));
        let has_page = |id: &str| with_page.contains(id);
        let message = without_page_data(Cow::Borrowed(message), has_page);
        for part in &message.content {
            let (label, text) = match part {
                Content::Text(text) if !audience_includes_model(text.annotations.as_ref()) => {
                    continue;
                }
                Content::Text(text) if message.role == Role::User => ("User", text.text.clone()),
                Content::Text(text) => ("Assistant", text.text.clone()),
                Content::Image(_) => ("User", "(an image)".to_owned()),
                Content::Audio(_) => ("User", "(audio)".to_owned()),
                Content::ToolRequest(request) => match &request.tool_call {
                    Outcome::Success { value } => {
                        let call = format!("{} {}", value.name, value.arguments.get());
                        ("Call", shortened(&call, MAX_TOOL_TEXT))
                    }
                    Outcome::Error { error } => ("Call", error.clone()),
                },
                Content::ToolResponse(response) => match &response.tool_result {
                    Outcome::Success { value } => {
                        ("Result", shortened(&result_text(value), MAX_TOOL_TEXT))
                    }
                    Outcome::Error { error } => ("Result", shortened(error, MAX_TOOL_TEXT)),
                },
                _ => continue,
            };
            all.push_str(&format!("{label}: {}\n\n", shortened(&text, MAX_PART)));
        }
    }
    shortened(&all, budget)
}

/// The text without its middle, if it is longer than about `most` bytes.
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
mod tests;
