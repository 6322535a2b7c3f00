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
        let (mut fields, messages) = match crate::json::from_str::<Value>(text) {
            Ok(Value::Object(mut fields)) => {
                let messages = match fields.shift_remove("conversation") {
                    None | Some(Value::Null) => Vec::new(),
                    Some(Value::Array(messages)) => messages,
                    Some(_) => return Err(invalid("`conversation` is not a list of messages")),
                };
                (fields, Messages::Values(messages))
            }
            Ok(_) => return Err(invalid("it is not a JSON object")),
            Err(error) => lines(text, &error)?,
        };
        let is_old = matches!(messages, Messages::Lines(_)) && fields.contains_key("message_count");
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
        let mode = fields.shift_remove("goose_mode");
        for name in NOT_IMPORTED {
            fields.shift_remove(name);
        }
        let session = crate::json::from_object::<Session>(&fields).map_err(invalid)?;
        let messages = messages.read()?;
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

/// The messages of a file, unread. Lines are kept as text, which takes less memory than values.
enum Messages<'a> {
    Values(Vec<Value>),
    Lines(Vec<&'a str>),
}

impl Messages<'_> {
    fn read(&self) -> Result<Vec<Message>, ImportError> {
        let refused = |n, error| invalid(format_args!("message {}: {error}", n + 1));
        match self {
            Messages::Values(messages) => (messages.iter().enumerate())
                .map(|(n, message)| crate::json::from_value(message).map_err(|e| refused(n, e)))
                .collect(),
            Messages::Lines(lines) => (lines.iter().enumerate())
                .map(|(n, line)| crate::json::from_str(line).map_err(|e| refused(n, e)))
                .collect(),
        }
    }
}

/// The list of enabled extensions of `data`, without everything else.
fn only_extensions(data: ExtensionData, left_out: &mut Vec<String>) -> ExtensionData {
    let mut alone = ExtensionData::default();
    alone.set_enabled(data.enabled().to_vec());
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
) -> Result<(Map<String, Value>, Messages<'a>), ImportError> {
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
    Ok((fields, Messages::Lines(messages)))
}

fn invalid(reason: impl fmt::Display) -> ImportError {
    ImportError(reason.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(text: &str) -> Value {
        json!({"id": null, "role": "user", "created": 1, "content": [{"type": "text", "text": text}]})
    }

    fn refused(text: &str) -> String {
        match Session::from_export(text) {
            Ok(read) => panic!("{text:?} read as {read:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_export_is_read_without_what_belongs_to_its_place() {
        let text = json!({
            "id": "../../etc", "working_dir": "/w", "name": "n", "user_set_name": true,
            "session_type": "hidden", "extension_data": {"todo.v0": {"content": "x"}},
            "accumulated_total_tokens": 5, "schedule_id": "s", "recipe": {"title": "T"},
            "conversation": [message("a"), message("b")], "message_count": 9,
            "provider_name": "p", "from_the_future": [],
        });
        let Export {
            session,
            messages,
            left_out,
        } = Session::from_export(&text.to_string()).unwrap();
        assert_eq!((session.id.as_str(), session.name.as_str()), ("", "n"));
        assert_eq!(session.accumulated_total_tokens, Some(5));
        assert_eq!(session.recipe, Some(json!({"title": "T"})));
        assert_eq!(session.extension_data, ExtensionData::default());
        assert_eq!(left_out, ["what extensions keep: todo.v0"]);
        assert!(session.user_set_name && session.schedule_id.is_none());
        assert!(session.provider_name.is_none() && session.conversation.is_none());
        let texts: Vec<_> = messages.iter().map(Message::concat_text).collect();
        assert_eq!(texts, ["a", "b"]);
    }

    #[test]
    fn the_tokens_of_an_export_cover_none_of_its_messages() {
        for counted in [json!(null), json!(2)] {
            let text = json!({"working_dir": "/w", "input_tokens": 5, "counted_messages": counted});
            let session = Session::from_export(&text.to_string()).unwrap().session;
            assert_eq!(session.counted_messages, Some(0));
        }
    }

    #[test]
    fn the_older_form_with_a_message_a_line_is_read() {
        let header = json!({"working_dir": "/w", "description": "d", "message_count": 2});
        let text = format!("{header}\n{}\n\n{}\n", message("a"), message("b"));
        let read = Session::from_export(&text).unwrap();
        assert_eq!((read.session.name.as_str(), read.messages.len()), ("d", 2));
    }

    #[test]
    fn a_session_file_of_an_early_goose_is_read() {
        let lines = [
            json!({"description": "List files", "message_count": 3, "total_tokens": 120, "input_tokens": 100,
                "output_tokens": 20, "schedule_id": null}),
            message("list the files"),
            json!({"role": "assistant", "created": 2, "content": [
                {"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value":
                    {"name": "developer__shell", "arguments": {"command": "ls"}}}},
                {"type": "toolConfirmationRequest", "id": "c", "toolName": "developer__shell",
                    "arguments": {}, "prompt": null},
            ]}),
            json!({"role": "user", "created": 3, "content": [
                {"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": [
                    {"type": "text", "text": "a.txt", "annotations": {"audience": ["user"], "priority": 0.0}},
                ]}},
            ]}),
        ];
        let text = lines.map(|line| line.to_string()).join("\n");
        let Export {
            session,
            messages,
            left_out,
        } = Session::from_export(&text).unwrap();
        assert_eq!(
            (session.name.as_str(), session.working_dir.to_str()),
            ("List files", Some(""))
        );
        assert_eq!(session.total_tokens, Some(120));
        assert!(left_out.is_empty());
        let response = messages[2].tool_responses().next().unwrap();
        let result = serde_json::to_value(&response.tool_result).unwrap();
        assert_eq!(result["value"]["content"][0]["text"], "a.txt");
    }

    #[test]
    fn what_only_a_later_goose_knows_does_not_hinder() {
        let text = json!({
            "id": 5, "working_dir": "/w", "name": "n", "session_type": "acp", "message_count": null,
            "created_at": 7, "updated_at": null, "provider_name": ["p"], "model_config": "m",
            "archived_at": null, "project_id": "x", "goose_mode": "auto", "thread_id": null,
            "conversation": [{"id": "m", "role": "user", "created": 1, "metadata":
                {"userVisible": true, "agentVisible": true, "inferenceMs": 5},
                "content": [{"type": "text", "text": "a", "annotations": null, "later": []}]}],
        });
        let read = Session::from_export(&text.to_string()).unwrap();
        assert_eq!((read.session.name.as_str(), read.messages.len()), ("n", 1));
    }

    #[test]
    fn every_kind_of_content_comes_through() {
        let content = json!([
            {"type": "toolRequest", "id": "1", "toolCall": {"status": "success",
                "value": {"name": "a__b", "arguments": {"x": [1, {"y": null}]}}}},
            {"type": "toolResponse", "id": "1", "toolResult": {"status": "success",
                "value": {"content": [{"type": "text", "text": "t"}], "isError": false}}},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "hologram", "x": [1, 2]},
        ]);
        let text = json!({"working_dir": "/w", "conversation": [
            {"role": "assistant", "created": 1, "content": content},
        ]});
        let read = Session::from_export(&text.to_string()).unwrap();
        let back = serde_json::to_value(&read.messages[0]).unwrap();
        assert_eq!(back["content"], content);
    }

    #[test]
    fn what_is_missing_takes_its_default_and_long_names_are_cut() {
        let read = Session::from_export(r#"{"working_dir":"/w"}"#).unwrap();
        assert_eq!(
            (read.session.name.as_str(), read.messages.len()),
            ("New Chat", 0)
        );
        assert!(read.left_out.is_empty());
        let text = json!({"working_dir": "/w", "name": "é".repeat(300)});
        let session = Session::from_export(&text.to_string()).unwrap().session;
        assert_eq!(session.name.chars().count(), MAX_NAME);
    }

    #[test]
    fn what_acts_unseen_is_left_out() {
        let mut messages: Vec<Value> = ["a", "b", "summary", "c", "d", "never"].map(message).into();
        for (n, user, agent) in [
            (0, true, false),
            (1, true, false),
            (2, false, true),
            (4, true, false),
            (5, false, false),
        ] {
            messages[n]["metadata"] = json!({"userVisible": user, "agentVisible": agent});
        }
        messages.push(messages[4].clone());
        let list = json!([{"type": "builtin", "name": "developer"}]);
        let text = json!({
            "working_dir": "/w", "conversation": messages,
            "user_recipe_values": {"key": "/home/u/.ssh/id_rsa"},
            "extension_data": {
                "enabled_extensions.v0": {"extensions": list, "more": 1},
                "container.v0": {"container_id": "prod\u{202e}"}, "a": {}, "imported.v0": {},
            },
        });
        let read = Session::from_export(&text.to_string()).unwrap();
        let messages = read.messages.iter();
        let messages: Vec<_> = messages
            .map(|it| (it.concat_text(), it.metadata.agent_visible))
            .collect();
        let expected = [
            ("a", true),
            ("b", true),
            ("c", true),
            ("d", true),
            ("d", false),
        ];
        assert_eq!(
            messages,
            expected.map(|(text, seen)| (text.to_owned(), seen))
        );
        assert_eq!(read.session.enabled_extensions(), list.as_array().unwrap());
        assert_eq!(read.session.extension_data.0.len(), 1);
        assert_eq!(read.session.user_recipe_values, None);
        assert_eq!(
            read.left_out,
            [
                "the container prod\\u{202e}",
                "what extensions keep: a, imported.v0",
                "the values of the recipe's parameters",
                "messages that are hidden from the user: 2",
            ]
        );
    }

    #[test]
    fn anything_else_is_refused_in_words() {
        for (text, says) in [
            ("", "EOF"),
            ("{", "EOF"),
            ("[]", "object"),
            ("{}", "working_dir"),
            (r#"{"working_dir": 5}"#, "working_dir"),
            (
                r#"{"working_dir": "/", "conversation": {}}"#,
                "conversation",
            ),
            (
                r#"{"working_dir": "/", "conversation": [{"role": "user"}]}"#,
                "message 1",
            ),
            (
                r#"{"working_dir": "/", "total_tokens": "x"}"#,
                "invalid type",
            ),
            ("{\"working_dir\": \"/\"}\n\nrubbish", "line 3: "),
            ("{\"message_count\": 1}", "working_dir"),
            ("{\"description\": \"d\"}\n{}", "working_dir"),
            ("{\"working_dir\": \"/\"}\n{\"n\": 1}", "message 1"),
        ] {
            assert!(refused(text).contains(says), "{text:?}: {}", refused(text));
        }
        refused(&"[".repeat(100_000));
    }
}
