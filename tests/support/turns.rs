//! Turns of a conversation on a real server: messages, calls and questions, in order. Every event stream is
//! checked for validity.

use super::TEST_TIMEOUT;
use super::client::{Answer, KEY};
use super::server::{RunningServer, Server, Session};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;

impl Server {
    /// A server whose model responds from this script, see `src/core/provider/scripted.rs`.
    pub fn scripted(script: Value) -> Server {
        let server = Server::new();
        write_script(server.root(), &script);
        let path = server.root().join("script.json");
        server
            .setting("GOOSE_PROVIDER", "scripted")
            .setting("GOOSE_MODEL", "script")
            .setting("GOOSE_SCRIPT", path.to_string_lossy().into_owned())
    }

    /// With the builtin server `developer` in every session.
    pub fn with_developer(self) -> Server {
        let developer = json!({"enabled": true, "type": "builtin", "name": "developer"});
        self.setting("extensions", json!({ "developer": developer }))
    }
}

fn write_script(root: &Path, script: &Value) {
    std::fs::write(root.join("script.json"), script.to_string()).unwrap();
}

impl RunningServer {
    /// Changes the model's script.
    pub fn plays(&self, script: Value) {
        write_script(self.root(), &script);
    }

    /// Changes a setting through the API.
    #[track_caller]
    pub fn set(&self, key: &str, value: impl Into<Value>) {
        let body = json!({"key": key, "value": value.into(), "is_secret": false});
        self.post("/config/upsert", body).is(200);
    }
}

/// A message of the user.
pub fn user(text: &str) -> Value {
    json!({
        "id": null, "role": "user", "created": 1_700_000_000,
        "content": [{"type": "text", "text": text}],
        "metadata": {"userVisible": true, "agentVisible": true},
    })
}

/// A message of the model.
pub fn assistant(text: &str) -> Value {
    let mut message = user(text);
    message["role"] = "assistant".into();
    message
}

impl Session<'_> {
    /// Sends a message and waits for the end of the turn.
    #[track_caller]
    pub fn say(&self, text: &str) -> Turn {
        self.begin_turn(text).rest()
    }

    /// Sends a message and returns the stream of events. Dropping the stream disconnects.
    #[track_caller]
    pub fn begin_turn(&self, text: &str) -> Stream {
        self.reply(json!({"user_message": user(text)}))
    }

    /// Begins a turn with this body.
    #[track_caller]
    pub fn reply(&self, mut body: Value) -> Stream {
        body["session_id"] = self.id.as_str().into();
        let stream = TcpStream::connect(self.server.address()).expect("the server listens");
        Stream::begin(stream, &body.to_string(), "1.1")
    }

    /// Allows or denies a tool call.
    #[track_caller]
    pub fn confirm(&self, id: &str, action: &str) {
        let body = json!({"id": id, "action": action, "sessionId": self.id});
        let answer = self.server.post("/action-required/tool-confirmation", body);
        answer.is(200).gives(json!({}));
    }

    /// The stored session.
    #[track_caller]
    pub fn stored(&self) -> Value {
        self.server
            .get(&format!("/sessions/{}", self.id))
            .is(200)
            .body
    }

    /// The stored messages.
    #[track_caller]
    pub fn conversation(&self) -> Vec<Value> {
        let stored = self.stored();
        stored["conversation"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    /// Each stored message as its role and its parts, for example `user: hello`.
    #[track_caller]
    pub fn transcript(&self) -> Vec<String> {
        self.conversation().iter().map(shown).collect()
    }

    /// The stored messages that the model sees, as in [`transcript`](Session::transcript).
    #[track_caller]
    pub fn seen_by_model(&self) -> Vec<String> {
        let mut messages = self.conversation();
        messages.retain(|message| message["metadata"]["agentVisible"] == true);
        messages.iter().map(shown).collect()
    }

    /// Sends the user's response to an elicitation, which begins no turn.
    #[track_caller]
    pub fn fills_in(&self, id: &str, data: Value) {
        let data = json!({"actionType": "elicitationResponse", "id": id, "user_data": data});
        let turn = self.sends(json!([{"type": "actionRequired", "data": data}]));
        assert_eq!(turn.finishes().events.len(), 1, "only the end");
    }

    /// Sends a message of these parts and waits for the end of the turn.
    #[track_caller]
    pub fn sends(&self, content: Value) -> Turn {
        let mut message = user("");
        message["content"] = content;
        self.reply(json!({"user_message": message})).rest()
    }

    /// Selects this model.
    #[track_caller]
    pub fn uses(&self, mut choice: Value) -> Answer {
        choice["provider"] = "scripted".into();
        self.post("/agent/update_provider", choice)
    }
}

/// A message as its role and its parts.
pub fn shown(message: &Value) -> String {
    let parts = message["content"].as_array().expect("content").iter();
    let parts = parts.map(|part| match part["type"].as_str().unwrap_or_default() {
        "text" => part["text"].as_str().expect("text").to_owned(),
        "toolRequest" => format!("call {}", part["id"].as_str().expect("an id")),
        "toolResponse" => format!("result {}", result_of(part)),
        other => format!("({other})"),
    });
    let role = message["role"].as_str().expect("a role");
    format!("{role}: {}", parts.collect::<Vec<_>>().join(" | "))
}

/// The texts of a tool's response.
pub fn result_of(response: &Value) -> String {
    let result = &response["toolResult"];
    if let Some(error) = result["error"].as_str() {
        return error.to_owned();
    }
    let parts = result["value"]["content"].as_array().expect("content");
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// A turn in progress.
pub struct Stream {
    socket: TcpStream,
    pub head: String,
    raw: Vec<u8>,
    body: Vec<u8>,
    chunked: bool,
    ended: bool,
    pub events: Vec<Value>,
}

impl Stream {
    /// Sends the request on this connection and reads the head of the response.
    #[track_caller]
    pub fn begin(mut socket: TcpStream, body: &str, version: &str) -> Stream {
        let length = body.len();
        let head = format!(
            "POST /reply HTTP/{version}\r\nHost: localhost\r\nX-Secret-Key: {KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(body.as_bytes()).unwrap();
        let mut stream = Stream {
            socket,
            head: String::new(),
            raw: Vec::new(),
            body: Vec::new(),
            chunked: false,
            ended: false,
            events: Vec::new(),
        };
        let end = loop {
            if let Some(at) = find(&stream.raw, b"\r\n\r\n") {
                break at;
            }
            assert!(stream.fill(), "the connection ended before the head");
        };
        stream.head = String::from_utf8(stream.raw[..end].to_vec()).expect("the head is text");
        stream.raw.drain(..end + 4);
        stream.chunked = stream.head.contains("Transfer-Encoding: chunked");
        assert!(stream.head.contains(" 200 OK"), "{}", stream.head);
        stream
    }

    /// Reads more; false at the end of the connection.
    #[track_caller]
    fn fill(&mut self) -> bool {
        let mut buffer = vec![0; 256 << 10];
        match self.socket.read(&mut buffer) {
            Ok(0) => false,
            Ok(n) => {
                self.raw.extend_from_slice(&buffer[..n]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            // For example because the machine was suspended.
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) => panic!("the stream stopped after {:?}: {error}", self.events),
        }
    }

    /// Moves received bytes into the body.
    fn decode(&mut self) {
        if !self.chunked {
            self.body.append(&mut self.raw);
            return;
        }
        while !self.ended {
            let Some(line) = find(&self.raw, b"\r\n") else {
                return;
            };
            let size = std::str::from_utf8(&self.raw[..line]).expect("a chunk's size");
            let size = usize::from_str_radix(size, 16).expect("a chunk's size");
            if self.raw.len() < line + 2 + size + 2 {
                return;
            }
            let end = line + 2 + size;
            assert_eq!(
                &self.raw[end..end + 2],
                b"\r\n",
                "a chunk ends in a line end"
            );
            self.body.extend_from_slice(&self.raw[line + 2..end]);
            self.raw.drain(..end + 2);
            self.ended = size == 0;
        }
    }

    /// The next event, also a ping; `None` at the end of the stream.
    #[track_caller]
    pub fn any(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = find(&self.body, b"\n\n") {
                let frame: Vec<u8> = self.body.drain(..end + 2).collect();
                let frame = String::from_utf8(frame).expect("an event is text");
                let data = frame.strip_prefix("data: ").expect("an event begins so");
                assert_eq!(data.matches('\n').count(), 2, "one line: {data:?}");
                let event: Value = serde_json::from_str(data).expect("an event is JSON");
                check(&event, self.events.last());
                self.events.push(event.clone());
                return Some(event);
            }
            self.decode();
            if find(&self.body, b"\n\n").is_some() {
                continue;
            }
            if self.ended {
                assert!(self.body.is_empty(), "half an event: {:?}", self.body);
                return None;
            }
            if !self.fill() {
                assert!(
                    !self.chunked,
                    "the stream broke off after {:?}",
                    self.events
                );
                self.ended = true;
            }
        }
    }

    /// Reads events until `pick` returns a value.
    #[track_caller]
    pub fn until<T>(&mut self, what: &str, pick: impl Fn(&Value) -> Option<T>) -> T {
        loop {
            let Some(event) = self.any() else {
                panic!("no {what} among {:?}", self.events);
            };
            if let Some(found) = pick(&event) {
                return found;
            }
        }
    }

    /// Reads until the model has produced this text.
    #[track_caller]
    pub fn wait_for_text(&mut self, text: &str) -> &mut Self {
        while !text_of_events(&self.events).contains(text) {
            assert!(self.any().is_some(), "{text:?} not among {:?}", self.events);
        }
        self
    }

    /// Reads until the model has called a tool.
    #[track_caller]
    pub fn calls(&mut self) -> String {
        self.until("call", |event| {
            let part = parts(event).find(|part| part["type"] == "toolRequest")?;
            Some(part["id"].as_str()?.to_owned())
        })
    }

    /// Reads until the user is asked to confirm a call; returns its id.
    #[track_caller]
    pub fn asks(&mut self) -> String {
        self.until("question", |event| {
            let part = parts(event).find(|part| part["type"] == "actionRequired")?;
            assert_eq!(part["data"]["actionType"], "toolConfirmation");
            Some(part["data"]["id"].as_str()?.to_owned())
        })
    }

    /// Reads until a server elicits input; returns the id and the question.
    #[track_caller]
    pub fn elicits(&mut self) -> (String, Value) {
        self.until("elicitation", |event| {
            let part = parts(event).find(|part| part["type"] == "actionRequired")?;
            assert_eq!(part["data"]["actionType"], "elicitation");
            assert_eq!(event["message"]["metadata"]["agentVisible"], false);
            Some((
                part["data"]["id"].as_str()?.to_owned(),
                part["data"].clone(),
            ))
        })
    }

    /// Reads until the client is asked to run one of its tools; returns the call's id and the call.
    #[track_caller]
    pub fn delegates(&mut self) -> (String, Value) {
        self.until("call of the client's tool", |event| {
            let part = parts(event).find(|part| part["type"] == "frontendToolRequest")?;
            assert_eq!(event["message"]["metadata"]["agentVisible"], false);
            Some((part["id"].as_str()?.to_owned(), part["toolCall"].clone()))
        })
    }

    /// Reads the rest.
    #[track_caller]
    pub fn rest(mut self) -> Turn {
        while self.any().is_some() {}
        self.turn()
    }

    /// The bytes received.
    #[track_caller]
    fn turn(self) -> Turn {
        let kind = self.events.last().and_then(|last| last["type"].as_str());
        assert!(
            matches!(kind, Some("Finish" | "Error")),
            "the stream ends with {kind:?}: {:?}",
            self.events
        );
        Turn {
            head: self.head,
            events: self.events,
        }
    }

    /// Reads the rest and returns the turn, the connection, and the bytes after the stream.
    #[track_caller]
    pub fn rest_and_connection(mut self) -> (Turn, TcpStream, String) {
        while self.any().is_some() {}
        let socket = self.socket.try_clone().unwrap();
        let more = String::from_utf8(std::mem::take(&mut self.raw)).expect("text");
        (self.turn(), socket, more)
    }

    /// Sends bytes that the server does not expect now.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }
}

/// Checks what must hold for every event.
#[track_caller]
fn check(event: &Value, before: Option<&Value>) {
    let last = before.map(|event| event["type"].as_str().unwrap_or_default());
    assert!(
        !matches!(last, Some("Finish" | "Error")),
        "{event} comes after the end"
    );
    if event["type"] == "Message" {
        let message = &event["message"];
        assert!(message["metadata"]["userVisible"].is_boolean(), "{event}");
        assert!(message["metadata"]["agentVisible"].is_boolean(), "{event}");
        assert!(message["created"].as_i64() > Some(1_700_000_000), "{event}");
        assert!(message["content"].is_array(), "{event}");
        assert!(event["token_state"]["inputTokens"].is_i64(), "{event}");
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn parts(event: &Value) -> impl Iterator<Item = &Value> {
    event["message"]["content"].as_array().into_iter().flatten()
}

fn text_of_events(events: &[Value]) -> String {
    let by_model = events
        .iter()
        .filter(|e| e["message"]["role"] == "assistant");
    by_model
        .flat_map(parts)
        .filter_map(|part| part["text"].as_str().filter(|_| part["type"] == "text"))
        .collect()
}

/// A complete turn.
pub struct Turn {
    pub head: String,
    pub events: Vec<Value>,
}

impl Turn {
    /// The text of the model, joined.
    pub fn text(&self) -> String {
        text_of_events(&self.events)
    }

    /// Asserts that the model's text contains this.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        let said = self.text();
        assert!(
            said.contains(text),
            "{said:?} lacks {text:?}: {:?}",
            self.events
        );
        self
    }

    #[track_caller]
    pub fn never_says(self, text: &str) -> Self {
        assert!(!self.text().contains(text), "{:?}", self.events);
        self
    }

    /// Asserts that this text is nowhere in the stream.
    #[track_caller]
    pub fn never_has(self, text: &str) -> Self {
        let all = Value::from(self.events.clone()).to_string();
        assert!(!all.contains(text), "{all}");
        self
    }

    /// Asserts that the turn ended without an error.
    #[track_caller]
    pub fn finishes(self) -> Self {
        let last = self.events.last().expect("an event");
        assert_eq!(last["type"], "Finish", "{:?}", self.events);
        assert_eq!(last["reason"], "stop", "{last}");
        self
    }

    /// Asserts that the turn ended with an error that contains this text.
    #[track_caller]
    pub fn fails(self, text: &str) -> Self {
        let last = self.events.last().expect("an event");
        assert_eq!(last["type"], "Error", "{:?}", self.events);
        let error = last["error"].as_str().expect("a sentence");
        assert!(error.contains(text), "{error:?} lacks {text:?}");
        self
    }

    /// The events of this type.
    pub fn events_of(&self, kind: &str) -> Vec<&Value> {
        let events = self.events.iter();
        events.filter(|event| event["type"] == kind).collect()
    }

    /// The parts of this type in all messages.
    pub fn parts_of(&self, kind: &str) -> Vec<&Value> {
        let parts = self.events.iter().flat_map(parts);
        parts.filter(|part| part["type"] == kind).collect()
    }

    /// The tool calls of the model.
    pub fn calls(&self) -> Vec<&Value> {
        self.parts_of("toolRequest")
    }

    /// The tool results, in order.
    pub fn results(&self) -> Vec<String> {
        let responses = self.parts_of("toolResponse").into_iter();
        responses.map(result_of).collect()
    }

    /// Asserts the tool results.
    #[track_caller]
    pub fn gives(self, results: &[&str]) -> Self {
        assert_eq!(self.results(), results, "{:?}", self.events);
        self
    }

    /// The notices of this kind to the user.
    pub fn notices(&self, kind: &str) -> Vec<String> {
        let notices = self.parts_of("systemNotification").into_iter();
        let notices = notices.filter(|notice| notice["notificationType"] == kind);
        let texts = notices.filter_map(|notice| notice["msg"].as_str());
        texts.map(str::to_owned).collect()
    }

    /// The notifications of MCP servers about running calls.
    pub fn notifications(&self) -> Vec<&Value> {
        self.events_of("Notification")
    }

    /// The token counts at the end.
    pub fn tokens(&self) -> Value {
        self.events.last().expect("an event")["token_state"].clone()
    }

    /// The index of the first event that satisfies `what`.
    #[track_caller]
    pub fn place(&self, what: impl Fn(&Value) -> bool) -> usize {
        let place = self.events.iter().position(what);
        place.unwrap_or_else(|| panic!("not among {:?}", self.events))
    }
}
