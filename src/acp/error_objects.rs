//! Errors of the core as errors of JSON-RPC, for the client.

use crate::agent::Error;
use crate::mcp::jsonrpc::{
    ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RESOURCE_NOT_FOUND,
};
use crate::provider::{self, ErrorClass};
use crate::text::printable;

/// The error code that tells the client to authenticate; the user has to configure a model.
pub(crate) const AUTHENTICATION_REQUIRED: i64 = -32000;
/// The longest text about a failure, in characters.
pub(crate) const MAX_SENTENCE: usize = 2_000;

/// The error for the client.
pub(crate) fn error_object(error: impl Into<Error>) -> ErrorObject {
    match error.into() {
        Error::Model(error) => model_error(&error, false),
        error @ Error::NoSession => ErrorObject::new(RESOURCE_NOT_FOUND, error.to_string()),
        error @ Error::Working { .. } => ErrorObject::new(INVALID_REQUEST, error.to_string()),
        error @ (Error::NoTurn | Error::WorkingDir { .. } | Error::Config { .. }) => {
            ErrorObject::new(INVALID_PARAMS, error.to_string())
        }
        error => ErrorObject::new(INTERNAL_ERROR, error.to_string()),
    }
}

/// The error for a request to the model that failed, before its answer began or in it.
pub(crate) fn model_error(error: &provider::Error, has_begun: bool) -> ErrorObject {
    let code = match error.class {
        ErrorClass::Config | ErrorClass::Authentication => AUTHENTICATION_REQUIRED,
        _ => INTERNAL_ERROR,
    };
    let message = printable(&error.to_string(), MAX_SENTENCE);
    let what = if has_begun {
        "The model's answer broke off"
    } else {
        "The model gave no answer"
    };
    ErrorObject::new(code, format!("{what}: {message}"))
}

/// An error about the parameters of a method; `why` is a sentence that begins with the field.
pub(crate) fn invalid_params(method: &str, why: &str) -> ErrorObject {
    let text = format!("Invalid `params` of `{method}`: {why}");
    ErrorObject::new(INVALID_PARAMS, text)
}
