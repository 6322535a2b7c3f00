//! Exported sessions, as this program and Goose write them.

use super::{Message, Session};
use serde_json::{Map, Value};
use std::fmt;

/// The longest name that a session may have, in characters.
pub const MAX_NAME: usize = 200;

/// Why a text is no exported session, worded for whoever chose the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError(String);

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is no exported session: {}", self.0)
    }
}

impl std::error::Error for ImportError {}

impl Session {
    /// Reads an exported session: a JSON object with its messages in `conversation`, or, as Goose
    /// once wrote it, an object on the first line and a message on each other.
    ///
    /// What belongs to the place that it comes from is left behind: its id, its schedule, its provider
    /// and its model. All that is known stays as it was.
    ///
    /// # Errors
    /// When it is neither, or a message is none.
    pub fn from_export(text: &str) -> Result<(Self, Vec<Message>), ImportError> {
        let text = text.trim_start_matches('\u{feff}').trim();
        let (mut fields, messages) = match crate::json::from_str::<Value>(text) {
            Ok(Value::Object(mut fields)) => {
                let messages = match fields.shift_remove("conversation") {
                    None | Some(Value::Null) => Vec::new(),
                    Some(Value::Array(messages)) => messages,
                    Some(_) => return Err(told("`conversation` is no list of messages")),
                };
                (fields, messages)
            }
            Ok(_) => return Err(told("it is no JSON object")),
            Err(error) => lines(text).ok_or_else(|| told(error))?,
        };
        if !matches!(fields.get("working_dir"), Some(Value::String(_))) {
            return Err(told("it has no `working_dir`"));
        }
        if let Some(description) = fields.shift_remove("description")
            && !fields.contains_key("name")
        {
            fields.insert("name".to_owned(), description);
        }
        let like = crate::json::from_object::<Session>(&fields).map_err(told)?;
        let messages = messages
            .iter()
            .enumerate()
            .map(|(n, message)| {
                let refused = |error| told(format_args!("message {}: {error}", n + 1));
                crate::json::from_value(message).map_err(refused)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let session = Session {
            id: String::new(),
            name: match like.name.trim() {
                "" => "New Chat".to_owned(),
                name => name.chars().take(MAX_NAME).collect(),
            },
            session_type: Default::default(),
            schedule_id: None,
            provider_name: None,
            model_config: None,
            ..like
        };
        Ok((session, messages))
    }
}

/// The first line's object and the other lines' values, if that is what there is.
fn lines(text: &str) -> Option<(Map<String, Value>, Vec<Value>)> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let fields = crate::json::from_str(lines.next()?).ok()?;
    let messages: Option<Vec<_>> = lines.map(|line| crate::json::from_str(line).ok()).collect();
    messages.map(|messages| (fields, messages))
}

fn told(reason: impl fmt::Display) -> ImportError {
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
        let (session, messages) = Session::from_export(&text.to_string()).unwrap();
        assert_eq!((session.id.as_str(), session.name.as_str()), ("", "n"));
        assert_eq!(session.accumulated_total_tokens, Some(5));
        assert_eq!(session.recipe, Some(json!({"title": "T"})));
        assert_eq!(session.extension_data.0["todo.v0"]["content"], "x");
        assert!(session.user_set_name && session.schedule_id.is_none());
        assert!(session.provider_name.is_none() && session.conversation.is_none());
        let texts: Vec<_> = messages.iter().map(Message::concat_text).collect();
        assert_eq!(texts, ["a", "b"]);
    }

    #[test]
    fn the_older_form_with_a_message_a_line_is_read() {
        let header = json!({"working_dir": "/w", "description": "d", "message_count": 2});
        let text = format!("{header}\n{}\n\n{}\n", message("a"), message("b"));
        let (session, messages) = Session::from_export(&text).unwrap();
        assert_eq!((session.name.as_str(), messages.len()), ("d", 2));
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
        let (_, messages) = Session::from_export(&text.to_string()).unwrap();
        let back = serde_json::to_value(&messages[0]).unwrap();
        assert_eq!(back["content"], content);
    }

    #[test]
    fn what_is_missing_takes_its_default_and_long_names_are_cut() {
        let (session, messages) = Session::from_export(r#"{"working_dir":"/w"}"#).unwrap();
        assert_eq!((session.name.as_str(), messages.len()), ("New Chat", 0));
        let text = json!({"working_dir": "/w", "name": "é".repeat(300)});
        let (session, _) = Session::from_export(&text.to_string()).unwrap();
        assert_eq!(session.name.chars().count(), MAX_NAME);
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
            ("{\"working_dir\": \"/\"}\nrubbish", "trailing"),
            ("{\"working_dir\": \"/\"}\n{\"n\": 1}", "message 1"),
        ] {
            assert!(refused(text).contains(says), "{text:?}: {}", refused(text));
        }
        refused(&"[".repeat(100_000));
    }
}
