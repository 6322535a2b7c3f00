//! A client without a transport, and helpers for expected answers.

use crossbeam_channel::{Receiver, unbounded};
use gosling::mcp::server::{Connection, ReplySink, Server};
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Long enough for a machine under load; only a failing test waits so long.
pub const DEADLINE: Duration = Duration::from_secs(10);

pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// A client without a transport.
pub struct Client {
    pub connection: Connection,
    pub sink: ReplySink,
    pub answers: Receiver<Value>,
}

impl Client {
    /// A client before `initialize`.
    pub fn new(server: Server) -> Self {
        let (sender, answers) = unbounded();
        let sink: ReplySink = Arc::new(move |message: Vec<u8>| {
            let _ = sender.send(serde_json::from_slice(&message).expect("the server writes JSON"));
        });
        let connection = Connection::new(server, &Cancel::new());
        Client {
            connection,
            sink,
            answers,
        }
    }

    /// A client after `initialize`.
    pub fn ready(server: Server, version: &str) -> Self {
        let client = Self::new(server);
        client.send(&INITIALIZE.replace("2025-11-25", version));
        assert_eq!(client.next()["result"]["protocolVersion"], version);
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    pub fn send(&self, line: &str) {
        self.connection.receive(line.as_bytes(), &self.sink);
    }

    pub fn next(&self) -> Value {
        self.answers.recv_timeout(DEADLINE).expect("an answer")
    }

    pub fn ask(&self, line: &str) -> Value {
        self.send(line);
        self.next()
    }

    /// Checks that no message is pending: everything sent before has been handled, and the next message
    /// answers this ping.
    pub fn is_silent(&self) {
        let pong = self.ask(r#"{"jsonrpc":"2.0","id":"silent?","method":"ping"}"#);
        assert_eq!(
            pong,
            json!({"jsonrpc": "2.0", "id": "silent?", "result": {}})
        );
    }

    /// Checks that each line gets exactly this answer; `null` for none.
    pub fn table(&self, rows: &[(&str, Value)]) {
        for (line, expected) in rows {
            self.send(line);
            if !expected.is_null() {
                assert_eq!(&self.next(), expected, "{line}");
            }
            self.is_silent();
        }
    }
}

pub fn error(id: impl Into<Value>, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "error": {"code": code, "message": message}})
}

pub fn result(id: impl Into<Value>, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

pub fn text(id: impl Into<Value>, text: &str) -> Value {
    result(id, json!({"content": [{"type": "text", "text": text}]}))
}

pub fn failed(id: impl Into<Value>, text: &str) -> Value {
    result(
        id,
        json!({"content": [{"type": "text", "text": text}], "isError": true}),
    )
}
