//! The text of `session.json`. Fields and types that only a later version knows stay.

use crate::conversation::{Session, SessionType};
use crate::store::{Error, Result, files};
use serde_json::{Map, Value};
use std::path::Path;

/// The fields of a session that its JSON leaves out when they have no value.
const LEFT_OUT_IF_NONE: [&str; 4] = [
    "accumulated_cost",
    "archived_at",
    "project_id",
    "goose_mode",
];
/// Fields that are not stored, because they follow from `messages.jsonl`.
const DERIVED: [&str; 2] = ["conversation", "message_count"];

/// The field of [`Session::session_type`].
const TYPE: &str = "session_type";

/// The field of [`Session::counted_messages`], which is stored but not in API responses.
const COUNTED: &str = "counted_messages";

pub fn parse<T: serde::de::DeserializeOwned>(content: &[u8], path: &Path) -> Result<T> {
    let text = crate::json::sanitize_bytes(content);
    // As `render` writes it; all of them are read for a list.
    let is_ours = |rest: &str| rest.starts_with("\": 1,") || rest.starts_with("\": 1\n");
    if !text.split(files::FORMAT).skip(1).all(is_ours) {
        files::check_json_format(path, content)?;
    }
    crate::json::from_str(&text).map_err(|error| {
        let place = (error.line(), error.column());
        Error::broken_at(path, place, "it is not the JSON of a session")
    })
}

/// Serializes `session` over the `stored` fields, so that unknown fields stay.
pub fn render(path: &Path, mut stored: Map<String, Value>, session: &Session) -> Result<Vec<u8>> {
    let unwritable = |error: serde_json::Error| Error::unwritable(path, error.to_string());
    let Value::Object(fields) = crate::json::to_value(session).map_err(unwritable)? else {
        return Err(Error::broken(path, "a session must be a JSON object"));
    };
    // A type that only a later version knows stays.
    let is_unknown = |stored: &Value| crate::json::from_value::<SessionType>(stored).is_err();
    let later_type = stored.get(TYPE).filter(|it| is_unknown(it)).cloned();
    for name in LEFT_OUT_IF_NONE {
        stored.shift_remove(name);
    }
    stored.extend(fields);
    if let Some(later_type) = later_type
        && session.session_type == SessionType::default()
    {
        stored.insert(TYPE.to_owned(), later_type);
    }
    for name in DERIVED {
        stored.shift_remove(name);
    }
    stored.insert(files::FORMAT.to_owned(), 1.into());
    match session.counted_messages {
        Some(messages) => stored.insert(COUNTED.to_owned(), messages.into()),
        None => stored.shift_remove(COUNTED),
    };
    serde_json::to_vec_pretty(&stored).map_err(unwritable)
}
