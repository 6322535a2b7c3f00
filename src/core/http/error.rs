//! A refused request: a status and one sentence, sent as `{"message": …}` unless the router has another error
//! format.

use super::response::{Response, header};
use std::fmt;
use tiny_http::{Header, StatusCode};

/// Why the server refuses a request: the status, and a sentence that says what to do.
#[derive(Debug, Clone)]
pub struct Error {
    /// The status of the response, 4xx or 5xx.
    pub status: StatusCode,
    /// What failed and what to do.
    pub message: String,
    headers: Vec<Header>,
    class: Option<&'static str>,
}

impl Error {
    /// An error with this status.
    pub fn new(status: u16, message: impl Into<String>) -> Error {
        Error {
            status: StatusCode(status),
            message: message.into(),
            headers: Vec::new(),
            class: None,
        }
    }

    /// 400: the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Error {
        Error::new(400, message)
    }

    /// 404: the resource does not exist.
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(404, message)
    }

    /// 422: the request is well-formed, but cannot be carried out.
    pub fn unprocessable(message: impl Into<String>) -> Error {
        Error::new(422, message)
    }

    /// 500: the server failed.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(500, message)
    }

    /// Adds the field `class` to the body: what kind of failure it was, for programs.
    pub fn class(mut self, class: Option<&'static str>) -> Error {
        self.class = class;
        self
    }

    /// Says first why it is so.
    pub fn because(mut self, reason: &str) -> Error {
        self.message = format!("{reason}. {}", self.message);
        self
    }

    /// Adds a header field, as [`Response::header`] does.
    pub fn header(mut self, name: &str, value: &str) -> Error {
        self.headers.extend(header(name, value));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<Error> for Response {
    fn from(error: Error) -> Response {
        let mut body = serde_json::json!({ "message": error.message });
        if let Some(class) = error.class {
            body["class"] = class.into();
        }
        let mut response = Response::bytes("application/json", body.to_string());
        response.status = error.status;
        response.headers.extend(error.headers);
        response.error_message = Some(error.message);
        response
    }
}
