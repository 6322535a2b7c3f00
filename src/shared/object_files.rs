//! Objects in files and texts: JSON or YAML.

use gosling_core::json;
use gosling_core::store::{self, Error, files};
use serde_json::{Map, Value};
use std::path::Path;

/// Reads the object in the file `path`: JSON if its name ends with `.json`, else YAML. `None` if it does not
/// exist.
///
/// # Errors
/// [`Error::Broken`] when it does not parse or is larger than `limit` bytes, [`Error::Io`] when it
/// cannot be read.
pub fn read_object(path: &Path, limit: u64) -> store::Result<Option<Map<String, Value>>> {
    Ok(read_object_with_text(path, limit)?.map(|(object, _)| object))
}

/// As [`read_object`], with the text of the file, without a byte order mark.
///
/// # Errors
/// As [`read_object`].
pub fn read_object_with_text(
    path: &Path,
    limit: u64,
) -> store::Result<Option<(Map<String, Value>, String)>> {
    let Some((content, _)) = files::read_file(path, limit)? else {
        return Ok(None);
    };
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
    let object = if path.extension().is_some_and(|it| it == "json") {
        json::from_str(&json::sanitize_bytes(content)).map_err(|error| {
            Error::broken_at(path, (error.line(), error.column()), error.to_string())
        })?
    } else {
        let mapping = store::parse_yaml(content);
        let mapping = mapping.map_err(|flaw| Error::broken_at(path, flaw.place, flaw.reason))?;
        store::yaml_to_json_object(&mapping)
    };
    let text = String::from_utf8_lossy(content).into_owned();
    Ok(Some((object, text)))
}

/// Parses a YAML text to a JSON object.
///
/// # Errors
/// Where and why the text is invalid.
pub fn parse_yaml_object(text: &str) -> Result<Map<String, Value>, String> {
    let mapping = store::parse_yaml(text.as_bytes()).map_err(|flaw| match flaw.place.0 {
        0 => flaw.reason,
        line => format!("line {line}: {}", flaw.reason),
    })?;
    Ok(store::yaml_to_json_object(&mapping))
}

/// Serializes a JSON object to YAML.
///
/// # Errors
/// Why it has no faithful form in YAML.
pub fn render_yaml_object(fields: &Map<String, Value>) -> Result<String, String> {
    let fields = fields.iter();
    let mapping = fields.map(|(key, value)| (key.as_str().into(), store::yaml_from_json(value)));
    store::render_yaml(&mapping.collect())
}
