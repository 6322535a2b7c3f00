//! The parameters of Goose's methods, and what they return.

use super::ConnectionState;
use crate::agent;
use crate::error_objects::{error_object, invalid_params};
use crate::mcp::jsonrpc::ErrorObject;
use crate::sys::cancel::Cancel;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A method: takes its parameters, and a token that is cancelled with the request.
pub(crate) type Method = fn(&ConnectionState, &Params, &Cancel) -> Outcome;

/// The result of a request, or why there is none.
pub(crate) type Outcome = Result<Value, ErrorObject>;

/// The parameters of a request.
pub(crate) struct Params {
    method: String,
    all: Value,
}

impl Params {
    pub(crate) fn read(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        let all = match params {
            Some(params) => crate::mcp::server::params::read_params(method, Some(params))?,
            None => json!({}),
        };
        Ok(Params {
            method: method.to_owned(),
            all,
        })
    }

    /// The value of a field; null if it is absent.
    pub(crate) fn value(&self, field: &str) -> &Value {
        &self.all[field]
    }

    /// The string in a field.
    pub(crate) fn text(&self, field: &str) -> Result<&str, ErrorObject> {
        let text = self.all[field].as_str();
        text.ok_or_else(|| self.invalid(field, "it is not a string"))
    }

    /// Whether a field is `true`.
    pub(crate) fn flag(&self, field: &str) -> bool {
        self.all[field] == Value::Bool(true)
    }

    /// A path with the string of a field as a segment.
    pub(crate) fn in_path(
        &self,
        before: &str,
        field: &str,
        behind: &str,
    ) -> Result<String, ErrorObject> {
        let segment = utf8_percent_encode(self.text(field)?, NON_ALPHANUMERIC);
        Ok(format!("{before}{segment}{behind}"))
    }

    pub(crate) fn invalid(&self, field: &str, why: &str) -> ErrorObject {
        invalid_params(&self.method, &format!("`{field}`: {why}"))
    }
}

/// The empty result of a change.
pub(crate) fn done<E: Into<agent::Error>>(outcome: Result<(), E>) -> Outcome {
    outcome.map(|()| json!({})).map_err(error_object)
}
