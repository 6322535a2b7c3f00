//! A client of a WebSocket that can also send what it must not.

use super::TEST_TIMEOUT;
use super::acp_record::record;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

/// The key of the examples in RFC 6455, and what a server answers to it.
pub const HANDSHAKE_KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
pub const HANDSHAKE_ANSWER: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

pub const TEXT: u8 = 0x81;
pub const BINARY: u8 = 0x82;
pub const CLOSE: u8 = 0x88;
pub const PING: u8 = 0x89;
pub const PONG: u8 = 0x8a;

/// The header fields of a handshake.
pub fn handshake() -> String {
    format!(
        "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: {HANDSHAKE_KEY}\r\n"
    )
}

/// Sends a request without a body, in HTTP/1.1 unless the line has a version; returns the head of the response and the connection.
pub fn request(address: SocketAddr, line: &str, fields: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TEST_TIMEOUT)).unwrap();
    let version = if line.contains(" HTTP/") {
        ""
    } else {
        " HTTP/1.1"
    };
    let head = format!("{line}{version}\r\nHost: {address}\r\n{fields}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a whole head");
        head.push(byte[0]);
    }
    (String::from_utf8(head).unwrap(), stream)
}

/// The status of the response to such a request.
pub fn status(address: SocketAddr, line: &str, fields: &str) -> u16 {
    let (head, _) = request(address, line, fields);
    head[9..12].parse().unwrap()
}

pub struct WebSocketClient {
    pub stream: TcpStream,
    last_id: i64,
    /// The methods of the requests that were sent.
    methods: HashMap<i64, String>,
    /// Messages that nobody has waited for yet.
    pub messages: Vec<Value>,
}

impl WebSocketClient {
    #[track_caller]
    pub fn connect(address: SocketAddr, target: &str, fields: &str) -> Self {
        let fields = format!("{}{fields}", handshake());
        let (head, stream) = request(address, &format!("GET {target}"), &fields);
        assert!(
            head.starts_with("HTTP/1.1 101 ")
                && head.contains(&format!("Sec-WebSocket-Accept: {HANDSHAKE_ANSWER}\r\n"))
                && head.contains("Upgrade: websocket\r\n")
                && head.contains("Connection: Upgrade\r\n")
                && !head.contains("Content-Length"),
            "{head}"
        );
        WebSocketClient {
            stream,
            last_id: 0,
            methods: HashMap::new(),
            messages: Vec::new(),
        }
    }

    /// Sends a masked frame that begins with this byte.
    pub fn send(&mut self, first: u8, payload: &[u8]) {
        self.stream.write_all(&masked(first, payload)).unwrap();
    }

    /// The next frame: its first byte and its payload; `None` at the end of the connection.
    #[track_caller]
    pub fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        match self.stream.read(&mut head[..1]) {
            Ok(1) => {}
            Ok(_) => return None,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("no frame: {error}"),
        }
        self.stream.read_exact(&mut head[1..]).unwrap();
        assert_eq!(head[1] & 0x80, 0, "a server does not mask");
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length).unwrap();
                usize::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length).unwrap();
                u64::from_be_bytes(length) as usize
            }
            length => usize::from(length),
        };
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).unwrap();
        Some((head[0], payload))
    }

    /// Waits for the close frame and returns its code, then for the end of the connection.
    #[track_caller]
    pub fn closed(&mut self) -> u16 {
        loop {
            let (first, payload) = self.frame().expect("a close frame");
            if first == CLOSE {
                assert_eq!(self.frame(), None, "nothing follows a close frame");
                return u16::from_be_bytes([payload[0], payload[1]]);
            }
        }
    }

    pub fn shut_down(&self) {
        self.stream.shutdown(Shutdown::Both).unwrap();
    }

    /// Sends a request and returns its id.
    pub fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.methods.insert(id, method.to_owned());
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(TEXT, message.to_string().as_bytes());
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(TEXT, message.to_string().as_bytes());
    }

    /// Answers a request of the server.
    pub fn answer(&mut self, id: &Value, result: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.send(TEXT, message.to_string().as_bytes());
    }

    /// Waits for a message that is it.
    #[track_caller]
    pub fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.messages.iter().position(&is_it) {
                return self.messages.remove(at);
            }
            let (first, payload) = self.frame().expect("a message");
            if first == TEXT {
                let message: Value = serde_json::from_slice(&payload).expect("a text is JSON");
                let id = message["id"].as_i64();
                let answers = id.and_then(|id| self.methods.get(&id));
                record(answers.map(String::as_str), &message);
                self.messages.push(message);
            }
        }
    }

    #[track_caller]
    pub fn response(&mut self, id: i64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let response = self.response(id);
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    /// Waits for an update of this kind.
    #[track_caller]
    pub fn update(&mut self, kind: &str) -> Value {
        self.until(|message| message["params"]["update"]["sessionUpdate"] == *kind)["params"]["update"]
            .clone()
    }

    pub fn begin_prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.begin(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        )
    }
}

/// A frame of a client that begins with this byte.
pub fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut frame = vec![first];
    match payload.len() {
        length @ ..126 => frame.push(0x80 | length as u8),
        length @ ..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(
        payload
            .iter()
            .enumerate()
            .map(|(at, byte)| byte ^ mask[at % 4]),
    );
    frame
}
