//! One HTTP request at a time, and assertions about its response.

use super::TEST_TIMEOUT;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The key of every test server.
pub const KEY: &str = "open sesame";

/// Sends a request; the response is read from the stream. Dropping the stream disconnects.
pub fn send(
    to: SocketAddr,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: Option<&str>,
) -> TcpStream {
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n");
    if let Some(key) = key {
        request += &format!("X-Secret-Key: {key}\r\n");
    }
    if let Some(body) = body {
        let length = body.len();
        request += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    }
    request += "\r\n";
    request += body.unwrap_or_default();
    let mut stream = TcpStream::connect(to).expect("the server listens");
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    /// The request, for failure messages.
    pub asked: String,
    pub status: u16,
    /// The head as received.
    pub head: String,
    /// The body as JSON; `null` if it is not JSON.
    pub body: Value,
    /// The body as text.
    pub text: String,
}

impl Answer {
    #[track_caller]
    pub fn read(asked: String, mut stream: TcpStream) -> Answer {
        let mut bytes = Vec::new();
        if let Err(error) = stream.read_to_end(&mut bytes) {
            panic!("{asked}: no answer: {error}");
        }
        let text = String::from_utf8(bytes).expect("the answer is text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            asked,
            status: status.expect("a status"),
            head: head.to_owned(),
            body: serde_json::from_str(body).unwrap_or_default(),
            text: body.to_owned(),
        }
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        let shown: String = self.text.chars().take(2_000).collect();
        assert_eq!(self.status, status, "{} answered {shown}", self.asked);
        self
    }

    /// Asserts that the body contains this text; an error must be JSON with a `message`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        let said = match self.status {
            200..300 => &self.text,
            _ => self.message(),
        };
        let shown: String = said.chars().take(2_000).collect();
        assert!(said.contains(text), "{}: {shown} lacks {text}", self.asked);
        self
    }

    #[track_caller]
    pub fn never_says(self, text: &str) -> Self {
        assert!(!self.text.contains(text), "{}: {}", self.asked, self.text);
        self
    }

    #[track_caller]
    pub fn gives(self, body: Value) -> Self {
        assert_eq!(self.body, body, "{}: {}", self.asked, self.text);
        self
    }

    #[track_caller]
    pub fn says_nothing(self) -> Self {
        assert_eq!(self.text, "", "{}", self.asked);
        self
    }

    /// The message of an error.
    #[track_caller]
    pub fn message(&self) -> &str {
        // For MCP, it is that of a JSON-RPC error.
        let error = self.body.get("error").unwrap_or(&self.body);
        let message = error["message"].as_str();
        message.unwrap_or_else(|| panic!("{}: no message in {:?}", self.asked, self.text))
    }

    /// The text of a tool result with one content.
    #[track_caller]
    pub fn content(&self) -> &str {
        let text = self.body["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{}: no text in {:?}", self.asked, self.text))
    }
}
