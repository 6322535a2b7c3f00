//! Reading exported sessions, as gosling and Goose write them.

use super::{ExtensionData, Message, Session};
use crate::text::printable;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::fmt;

/// The longest name that a session may have, in characters.
pub const MAX_NAME: usize = 200;

/// What belongs to the other installation, or follows from the rest. These fields may have values that only
/// later versions of Goose know.
const NOT_IMPORTED: [&str; 9] = [
    "id",
    "session_type",
    "created_at",
    "updated_at",
    "message_count",
    "schedule_id",
    "provider_name",
    "model_config",
    "counted_messages",
];

/// Why a text is not an exported session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError(String);

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is not an exported session: {}", self.0)
    }
}

impl std::error::Error for ImportError {}

/// The content of an exported session.
#[derive(Clone, Debug)]
pub struct Export {
    /// The session; its extensions, its recipe and its mode are those of the file.
    pub session: Session,
    /// The messages that the user sees.
    pub messages: Vec<Message>,
    /// What was left out because it would take effect unnoticed, as a phrase each.
    pub left_out: Vec<String>,
}

impl Session {
    /// Reads an exported session: a JSON object with its messages in `conversation`, or the older format of
    /// Goose, with the object in the first line and a message in each other line. The oldest of these name no
    /// working directory; it is empty then.
    ///
    /// Leaves out what belongs to the other installation: the id, the schedule, the provider and the model. Also
    /// leaves out what takes effect unnoticed: the container, the values of the recipe's parameters, which may
    /// name files, the data of extensions, and messages that are hidden from the user. If a hidden message was
    /// the summary of earlier ones, the model sees these again.
    ///
    /// # Errors
    /// When the text has neither format, or a message is invalid.
    pub fn from_export(text: &str) -> Result<Export, ImportError> {
        let text = crate::json::sanitize(text.trim_start_matches('\u{feff}').trim());
        let text = &*text;
        let (mut fields, messages, has_lines) = match crate::json::from_str::<Value>(text) {
            Ok(Value::Object(mut fields)) => {
                let messages = match fields.shift_remove("conversation") {
                    None | Some(Value::Null) => Vec::new(),
                    Some(Value::Array(messages)) => messages,
                    Some(_) => return Err(invalid("`conversation` is not a list of messages")),
                };
                let messages = messages.into_iter();
                let messages = messages.map(|message| crate::json::from_value(&message));
                (fields, Box::new(messages) as Messages, false)
            }
            Ok(_) => return Err(invalid("it is not a JSON object")),
            Err(error) => {
                let (fields, lines) = lines(text, &error)?;
                let messages = lines.into_iter().map(crate::json::from_str);
                (fields, Box::new(messages) as Messages, true)
            }
        };
        let is_old = has_lines && fields.contains_key("message_count");
        match fields.get("working_dir") {
            Some(Value::String(_)) => {}
            None | Some(Value::Null) if is_old => drop(fields.shift_remove("working_dir")),
            _ => return Err(invalid("it has no `working_dir`")),
        }
        if let Some(description) = fields.shift_remove("description")
            && !fields.contains_key("name")
        {
            fields.insert("name".to_owned(), description);
        }
        // Where Goose has the tokens from 1.39 on.
        for (name, prefix) in [("usage", ""), ("accumulated_usage", "accumulated_")] {
            for kind in ["input_tokens", "output_tokens", "total_tokens"] {
                if let Some(count) = fields.get(name).and_then(|usage| usage.get(kind)) {
                    let count = count.clone();
                    fields.entry(format!("{prefix}{kind}")).or_insert(count);
                }
            }
        }
        let mode = fields.shift_remove("goose_mode");
        for name in NOT_IMPORTED {
            fields.shift_remove(name);
        }
        let session = crate::json::from_object::<Session>(&fields).map_err(invalid)?;
        let messages = (messages.enumerate())
            .map(|(n, read)| read.map_err(|e| invalid(format_args!("message {}: {e}", n + 1))))
            .collect::<Result<_, _>>()?;
        let mut left_out = Vec::new();
        let extension_data = only_extensions(session.extension_data, &mut left_out);
        if session
            .user_recipe_values
            .is_some_and(|values| !values.is_empty())
        {
            left_out.push("the values of the recipe's parameters".to_owned());
        }
        let messages = visible(messages, &mut left_out);
        let session = Session {
            name: match session.name.trim() {
                "" => "New Chat".to_owned(),
                name => name.chars().take(MAX_NAME).collect(),
            },
            extension_data,
            user_recipe_values: None,
            goose_mode: mode.and_then(|mode| mode.as_str().map(str::to_owned)),
            // The model may see messages that the provider did not count.
            counted_messages: Some(0),
            ..session
        };
        Ok(Export {
            session,
            messages,
            left_out,
        })
    }
}

/// The messages of a file, each read when it is asked for. Lines are kept as text until then, which takes less
/// memory than values.
type Messages<'a> = Box<dyn Iterator<Item = serde_json::Result<Message>> + 'a>;

/// The list of enabled extensions of `data`, without everything else.
fn only_extensions(data: ExtensionData, left_out: &mut Vec<String>) -> ExtensionData {
    let mut alone = ExtensionData::default();
    alone.set_enabled(data.enabled().to_vec());
    alone.set_sandbox(data.sandbox());
    if let Some(container) = data.container() {
        left_out.push(format!("the container {}", printable(&container, 100)));
    }
    let kept = data.kept().map(|key| printable(key, 50));
    let kept: Vec<String> = kept.take(10).collect();
    if !kept.is_empty() {
        left_out.push(format!("what extensions keep: {}", kept.join(", ")));
    }
    alone
}

/// The messages that the user sees.
fn visible(mut messages: Vec<Message>, left_out: &mut Vec<String>) -> Vec<Message> {
    let is_hidden = |message: &Message| !message.metadata.user_visible;
    let Some(last) = messages.iter().rposition(is_hidden) else {
        return messages;
    };
    let all = messages.len();
    for message in &mut messages[..last] {
        message.metadata.agent_visible = true;
    }
    messages.retain(|message| !is_hidden(message));
    let hidden = all - messages.len();
    left_out.push(format!("messages that are hidden from the user: {hidden}"));
    messages
}

/// The object in the first line and the other lines. `error` is why the text is not one JSON value.
fn lines<'a>(
    text: &'a str,
    error: &serde_json::Error,
) -> Result<(Map<String, Value>, Vec<&'a str>), ImportError> {
    let mut lines = text.lines().enumerate();
    let first = lines
        .next()
        .and_then(|(_, line)| crate::json::from_str(line).ok());
    let Some(fields) = first else {
        return Err(invalid(error));
    };
    let mut messages = Vec::new();
    for (n, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        match crate::json::from_str::<IgnoredAny>(line) {
            Ok(_) => messages.push(line),
            Err(error) => return Err(invalid(format_args!("line {}: {error}", n + 1))),
        }
    }
    Ok((fields, messages))
}

fn invalid(reason: impl fmt::Display) -> ImportError {
    ImportError(reason.to_string())
}

#[cfg(test)]
mod tests;
