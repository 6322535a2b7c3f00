//! The history for a request to the model. The stored messages may have been cut off by a crash, written by
//! another program, or edited by a client; models refuse calls without results and results without calls.

use crate::conversation::{Content, Message, Metadata, Outcome, Role, ToolRequest, ToolResponse};
use crate::provider::has_content_for_model;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The result of a call whose result is missing.
const LOST: &str =
    "The call was interrupted before it gave an answer; whether it had an effect is not known.";
/// The first message of a history that begins with an answer.
const BEGINNING: &str = "(The beginning of this conversation is not available.)";

/// The messages that the model sees, repaired so that
///
/// - none is empty, and none has parts that are only for the user, or data that is only for a page;
/// - the results of all calls of one message are in the next message, in the order of the calls, and no
///   result is without a call;
/// - the first message is the user's.
pub(in crate::agent) fn repaired(messages: &[Arc<Message>]) -> Vec<Cow<'_, Message>> {
    let is_of_user =
        |part: &Content| !matches!(part, Content::ToolResponse(_) | Content::ToolRequest(_));
    let mut out: Vec<Cow<'_, Message>> = Vec::with_capacity(messages.len());
    let visible = messages.iter().filter(|m| m.metadata.agent_visible);
    let mut visible = visible.map(Arc::as_ref).peekable();
    while let Some(message) = visible.next() {
        if out.is_empty() && message.role == Role::Assistant {
            out.push(Cow::Owned(Message::text(Role::User, BEGINNING)));
        }
        let Some(message) = (match message.role {
            Role::Assistant => shown(message),
            // Results that follow their call are added with the call, below.
            Role::User => kept(message, is_of_user),
        }) else {
            continue;
        };
        let calls: Vec<&ToolRequest> = message.tool_requests().collect();
        if calls.is_empty() {
            out.push(message);
            continue;
        }
        let mut followers = Vec::new();
        while let Some(next) = visible.next_if(|next| next.role == Role::User) {
            followers.push(next);
        }
        let has_page = |id: &str| calls.iter().any(|call| call.id == id && call.has_page());
        let answers = without_page_data(results_of(&calls, &followers), has_page);
        out.push(message);
        out.push(answers);
        out.extend(followers.into_iter().filter_map(|it| kept(it, is_of_user)));
    }
    out
}

/// The message without the structured content of results of tools that have a page: it is for the page, and the content
/// beside it for the model (MCP Apps, data passing). Where there is no content for the model, it stays. `has_page` gets
/// the id of a result.
pub(in crate::agent) fn without_page_data(
    mut message: Cow<'_, Message>,
    has_page: impl Fn(&str) -> bool,
) -> Cow<'_, Message> {
    let is_for_page = |part: &Content| {
        let Content::ToolResponse(ToolResponse {
            id, tool_result, ..
        }) = part
        else {
            return false;
        };
        let result = tool_result
            .value()
            .filter(|it| it.structured_content.is_some());
        result.is_some_and(|result| has_page(id) && has_content_for_model(result))
    };
    if message.content.iter().any(is_for_page) {
        for part in &mut message.to_mut().content {
            if is_for_page(part)
                && let Content::ToolResponse(response) = part
                && let Outcome::Success { value } = &mut response.tool_result
            {
                value.structured_content = None;
            }
        }
    }
    message
}

/// Whether the message holds nothing but results of unknown or answered calls.
pub(in crate::agent) fn is_stray(message: &Message, before: &[Arc<Message>]) -> bool {
    let is_open = |id: &str| {
        let parts = before.iter().rev().flat_map(|m| m.content.iter().rev());
        let mut open = parts.filter_map(|part| match part {
            Content::ToolRequest(request) if request.id == id => Some(true),
            Content::ToolResponse(response) if response.id == id => Some(false),
            _ => None,
        });
        open.next() == Some(true)
    };
    let is_stray = |part: &Content| matches!(part, Content::ToolResponse(r) if !is_open(&r.id));
    !message.content.is_empty() && message.content.iter().all(is_stray)
}

/// The message with the parts that the model may see, whatever its position; `None` if none is left.
pub(in crate::agent) fn shown(message: &Message) -> Option<Cow<'_, Message>> {
    match message.role {
        Role::Assistant => kept(message, |part| !matches!(part, Content::ToolResponse(_))),
        Role::User => kept(message, |part| !matches!(part, Content::ToolRequest(_))),
    }
}

/// The message with the parts that the model may see and `filter` accepts; `None` if none is left.
fn kept<'m>(message: &'m Message, filter: impl Fn(&Content) -> bool) -> Option<Cow<'m, Message>> {
    let is_kept = |part: &Content| {
        filter(part)
            && match part {
                Content::Text(text) => !text.text.trim().is_empty(),
                Content::Image(_)
                | Content::Audio(_)
                | Content::ToolRequest(_)
                | Content::ToolResponse(_)
                | Content::Thinking(_)
                | Content::RedactedThinking(_)
                | Content::Reasoning(_) => true,
                Content::FrontendToolRequest(_)
                | Content::ActionRequired(_)
                | Content::SystemNotification(_)
                | Content::Other(_) => false,
            }
    };
    let count = message.content.iter().filter(|part| is_kept(part)).count();
    let has_content = |part: &Content| {
        !matches!(
            part,
            Content::Thinking(_) | Content::RedactedThinking(_) | Content::Reasoning(_)
        )
    };
    // Reasoning alone does not make a message.
    let mut parts = message.content.iter();
    if !parts.any(|part| is_kept(part) && has_content(part)) {
        return None;
    }
    if count == message.content.len() {
        return Some(Cow::Borrowed(message));
    }
    let mut message = message.clone();
    message.content.retain(is_kept);
    Some(Cow::Owned(message))
}

/// The message with the results of `calls`, taken from the user messages that follow.
fn results_of<'m>(calls: &[&ToolRequest], followers: &[&'m Message]) -> Cow<'m, Message> {
    let is_complete = |message: &Message| {
        let parts = message.content.iter();
        message.content.len() == calls.len()
            && parts
                .zip(calls)
                .all(|(part, call)| matches!(part, Content::ToolResponse(r) if r.id == call.id))
    };
    if let Some(first) = followers.first()
        && is_complete(first)
    {
        return Cow::Borrowed(first);
    }
    let mut answers: HashMap<&str, &ToolResponse> = HashMap::new();
    for response in followers.iter().flat_map(|m| m.tool_responses()) {
        answers.entry(&response.id).or_insert(response);
    }
    let content = calls.iter().map(|call| {
        Content::ToolResponse(match answers.get(call.id.as_str()) {
            Some(response) => (*response).clone(),
            None => ToolResponse {
                id: call.id.clone(),
                tool_result: Outcome::Error {
                    error: LOST.to_owned(),
                },
                metadata: None,
            },
        })
    });
    let created = followers.first().map_or(0, |first| first.created);
    Cow::Owned(Message {
        id: None,
        role: Role::User,
        created,
        content: content.collect(),
        metadata: Metadata::default(),
    })
}

#[cfg(test)]
mod tests;
