//! A request as a handler gets it: decoded and complete, with a handle that detects that the client
//! disconnected.

use super::response::header;
use super::{Error, HangUp, Router, json_body};
use crate::sys::cancel::Cancel;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use tiny_http::{Header, Method};

/// One request with its whole body.
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path as sent: percent-encoded, without the query.
    pub path: String,
    /// The path parameters with their names in the route's pattern, percent-decoded.
    pub params: Vec<(Cow<'static, str>, String)>,
    /// The query's pairs in order, percent-decoded, with `+` as a space.
    pub query: Vec<(String, String)>,
    /// The header fields in order, without those that contain bytes other than ASCII, which are opaque (RFC
    /// 9110 §5.5).
    pub headers: Vec<Header>,
    /// The body, without its transfer coding.
    pub body: Vec<u8>,
    pub(super) hang_up: HangUp,
    pub(super) router: Arc<Router>,
}

impl Request {
    /// A request without header fields and body, for [`Router::respond`]. `target` is a path and perhaps a query, both
    /// percent-encoded.
    pub fn new(method: Method, target: &str) -> Request {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Request {
            method,
            path: path.to_owned(),
            params: Vec::new(),
            query: parse_query(query),
            headers: Vec::new(),
            body: Vec::new(),
            hang_up: HangUp::of_caller(&Cancel::new()),
            router: Arc::default(),
        }
    }

    /// The same request with this body of this media type.
    pub fn with_body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Request {
        let request = self.with_header("Content-Type", content_type);
        let body = body.into();
        Request { body, ..request }
    }

    /// The same request with this header field. Characters that a value cannot have become `?`.
    pub fn with_header(mut self, name: &str, value: &str) -> Request {
        self.headers.extend(header(name, value));
        self
    }

    /// The path parameter `name`; empty if the route's pattern has none of that name.
    pub fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The first query parameter `name`.
    pub fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The first query parameter `name`. Fails with 400 if there is none.
    pub fn required_query(&self, name: &str) -> Result<&str, Error> {
        self.query(name).ok_or_else(|| {
            Error::bad_request(format!(
                "Failed to deserialize query string: missing field `{name}`"
            ))
        })
    }

    /// The value of the first header field `name`, case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// The values of all header fields `name`, case-insensitive.
    pub fn header_values<'r>(&'r self, name: &str) -> impl Iterator<Item = &'r str> {
        find_headers(&self.headers, name)
    }

    /// The body as JSON.
    ///
    /// Fails with 415 if `Content-Type` is not JSON, 400 if the body is not JSON, 422 if the body does not fit
    /// `T`. The message says where.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        json_body::decode(self.header("Content-Type"), &self.body)
    }

    /// Fails with 415 if `Content-Type` is not JSON.
    pub fn expect_json(&self) -> Result<(), Error> {
        json_body::check_type(self.header("Content-Type"))
    }

    /// Whether the client has closed the connection. Costs one system call.
    pub fn hung_up(&self) -> bool {
        self.hang_up.happened()
    }

    /// A handle for [`Request::hung_up`] that works in other threads and after the handler has returned.
    pub fn hang_up(&self) -> HangUp {
        self.hang_up.clone()
    }

    /// The routes of the server that has this request.
    pub fn router(&self) -> Arc<Router> {
        self.router.clone()
    }
}

/// Omits header values and the body, which may contain secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method.as_str())
            .field("path", &self.path)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The value of the first of `headers` with this name, case-insensitive.
pub(super) fn find_header<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|header| has_name(header, name));
    found.map(|header| header.value.as_str())
}

/// The values of all fields with this name.
pub(super) fn find_headers<'a>(headers: &'a [Header], name: &str) -> impl Iterator<Item = &'a str> {
    let found = headers.iter().filter(|header| has_name(header, name));
    found.map(|header| header.value.as_str())
}

fn has_name(header: &Header, name: &str) -> bool {
    header.field.as_str().as_str().eq_ignore_ascii_case(name)
}

/// The pairs of a query string. Bytes that are not UTF-8 become U+FFFD.
pub(super) fn parse_query(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}

#[cfg(test)]
mod tests;
