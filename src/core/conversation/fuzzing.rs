//! Fuzz target for exported sessions.

use super::session_import::Export;
use super::{MAX_NAME, Message, Session, SessionType};
use crate::json;
use serde_json::Value;

/// Checks that an import leaves out what it must, and that exporting and importing it again changes nothing.
pub fn import(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let export = match Session::from_export(&text) {
        Ok(export) => export,
        Err(error) => return assert!(error.to_string().len() < 500 + 6 * input.len()),
    };
    let session = &export.session;
    assert!(session.id.is_empty() && session.schedule_id.is_none());
    assert!(session.provider_name.is_none() && session.model_config.is_none());
    assert!(session.user_recipe_values.is_none());
    assert!(session.extension_data.container().is_none());
    assert_eq!(session.session_type, SessionType::default());
    assert!(!session.name.trim().is_empty() && session.name.chars().count() <= MAX_NAME);
    let is_shown = |message: &Message| message.metadata.user_visible;
    assert!(export.messages.iter().all(is_shown));
    let is_printable = |phrase: &String| !phrase.is_empty() && !phrase.contains(char::is_control);
    assert!(export.left_out.iter().all(is_printable));

    let text = written(&export);
    let again = Session::from_export(&text).expect("an export can be imported");
    assert!(again.left_out.is_empty(), "{:?}", again.left_out);
    assert_eq!(written(&again), text);
    for message in &export.messages {
        let text = serde_json::to_string(message).expect("a message can be written");
        let again: Message = json::from_str(&text).expect("a message can be read");
        assert_eq!(
            again.tool_requests().count(),
            message.tool_requests().count()
        );
        assert_eq!(
            again.tool_responses().count(),
            message.tool_responses().count()
        );
        let again = serde_json::to_string(&again).expect("a message can be written");
        assert_eq!(again, text);
    }
}

fn written(export: &Export) -> String {
    let mut fields = json::to_value(&export.session).expect("a session can be written");
    fields["conversation"] = json::to_value(&export.messages).expect("messages can be written");
    Value::to_string(&fields)
}
