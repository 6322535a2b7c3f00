//! Parameters of requests and notifications, and what is wrong with them.

use crate::jsonrpc::{ErrorObject, INVALID_PARAMS, begins_with};
use gosling_text::printable;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The longest name of a place in parameters that an error quotes, in characters.
const MAX_PLACE: usize = 100;

/// Reads the parameters of a method. Unknown members are ignored, and an empty array may be an object.
///
/// # Errors
/// -32602 with the member that does not fit.
pub fn read_params<T: DeserializeOwned>(
    method: &str,
    params: Option<&RawValue>,
) -> Result<T, ErrorObject> {
    gosling_text::json::from_str_of_php(params.map_or("{}", RawValue::get))
        .map_err(|e| argument_error(method, params, &e))
}

fn argument_error(
    method: &str,
    params: Option<&RawValue>,
    error: &serde_json::Error,
) -> ErrorObject {
    let json = params.map_or("{}", RawValue::get);
    let what = if begins_with(json, '{') {
        place_and_reason(json, error)
    } else {
        "not an object".to_owned()
    };
    let text = format!("Invalid `params` of `{method}`: {what}");
    ErrorObject::new(INVALID_PARAMS, text)
}

/// What is wrong in which place of a JSON text.
pub fn place_and_reason(json: &str, error: &serde_json::Error) -> String {
    match printable(&gosling_text::json::place_of(error, json), MAX_PLACE) {
        place if place.is_empty() => reason(error),
        place => format!("`{place}`: {}", reason(error)),
    }
}

/// serde's message without the position, which counts from the start of a fragment that the client never saw.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}
