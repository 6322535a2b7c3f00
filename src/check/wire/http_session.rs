//! Messages to the server under test as single HTTP requests, with the headers of a session.

use super::client_kind::{ClientKind, initialize_params};
use super::http_probe::{HttpProbe, HttpReply};
use crate::findings::ShownExchange;
use crate::mcp::types::VERSIONS;
use serde_json::json;

const ACCEPT: &str = "application/json, text/event-stream";
/// The media type of a message.
pub(crate) const JSON: &str = "application/json";
/// The media type of an event stream.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// A session, or what comes before it.
pub(crate) struct HttpSession<'a> {
    pub(crate) probe: &'a HttpProbe,
    /// Its id, if the server gave it one.
    pub(crate) id: Option<String>,
    /// The agreed version of MCP; empty before that.
    pub(crate) version: String,
}

impl<'a> HttpSession<'a> {
    /// Before `initialize`.
    pub(crate) fn new(probe: &'a HttpProbe) -> Self {
        HttpSession {
            probe,
            id: None,
            version: String::new(),
        }
    }

    /// Sends a message with the headers of the session; `changed` replaces some, and removes those that it gives
    /// no value.
    pub(crate) fn post(
        &self,
        message: &str,
        changed: &[(&str, &str)],
    ) -> Result<HttpReply, ShownExchange> {
        self.send("POST", message, changed)
    }

    pub(crate) fn send(
        &self,
        method: &str,
        message: &str,
        changed: &[(&str, &str)],
    ) -> Result<HttpReply, ShownExchange> {
        let mut headers = vec![("accept", ACCEPT)];
        if method == "POST" {
            headers.push(("content-type", JSON));
        }
        if !self.version.is_empty() {
            headers.push(("mcp-protocol-version", &self.version));
        }
        if let Some(id) = &self.id {
            headers.push(("mcp-session-id", id));
        }
        headers.retain(|(name, _)| changed.iter().all(|(other, _)| other != name));
        let added = changed.iter().filter(|(_, value)| !value.is_empty());
        headers.extend(added);
        let until = if method == "GET" { "" } else { "\"jsonrpc\"" };
        self.probe.send(method, &headers, message, until)
    }
}

pub(crate) fn request(id: u32, method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}).to_string()
}

pub(crate) fn initialize() -> String {
    let params = initialize_params(ClientKind::Full, VERSIONS[0]);
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}
