//! `/sessions/{id}/events`, `…/reply` and `…/cancel` on a real server: a listener reads the frames of a session
//! and checks each, and requests are posted beside it.

use super::TEST_TIMEOUT;
use super::client::{Answer, KEY};
use super::server::Session;
use super::turns::user;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A frame of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The id; `None` for a frame without one.
    pub id: Option<u64>,
    pub event: Value,
}

impl Frame {
    pub fn kind(&self) -> &str {
        self.event["type"].as_str().expect("a type")
    }

    /// The parts of its message.
    pub fn parts(&self) -> impl Iterator<Item = &Value> {
        self.event["message"]["content"]
            .as_array()
            .into_iter()
            .flatten()
    }
}

/// A request id: a UUID.
pub fn request_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("0190b5e2-7c4f-7d2a-9c3e-{n:012x}")
}

impl Session<'_> {
    fn path(&self, route: &str) -> String {
        format!("/sessions/{}/{route}", self.id)
    }

    /// Posts a request with this message; returns its id.
    #[track_caller]
    pub fn asks_for(&self, text: &str) -> String {
        let id = request_id();
        self.posts(&id, user(text)).is(200);
        id
    }

    /// Posts a request with this message.
    #[track_caller]
    pub fn posts(&self, id: &str, message: Value) -> Answer {
        let body = json!({"request_id": id, "user_message": message});
        self.server.post(&self.path("reply"), body)
    }

    #[track_caller]
    pub fn cancels(&self, id: &str) -> Answer {
        let body = json!({"request_id": id});
        self.server.post(&self.path("cancel"), body)
    }

    /// Opens the stream of events. Dropping it disconnects.
    #[track_caller]
    pub fn listens(&self) -> EventReader {
        self.opens_events("").listener()
    }

    /// Opens the stream with this `Last-Event-ID`.
    #[track_caller]
    pub fn listens_after(&self, id: impl std::fmt::Display) -> EventReader {
        self.opens_events(&format!("Last-Event-ID: {id}\r\n"))
            .listener()
    }

    #[track_caller]
    fn opens_events(&self, fields: &str) -> Connection {
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: localhost\r\nX-Secret-Key: {KEY}\r\n{fields}\r\n",
            self.path("events")
        );
        let mut socket = TcpStream::connect(self.server.address()).expect("the server listens");
        socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        Connection { socket }
    }

    /// Opens the stream and reads nothing.
    #[track_caller]
    pub fn opens_events_without_reading(&self) -> TcpStream {
        self.opens_events("").socket
    }
}

struct Connection {
    socket: TcpStream,
}

impl Connection {
    #[track_caller]
    fn listener(self) -> EventReader {
        let mut reader = BufReader::new(self.socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let n = reader.read_line(&mut head).expect("a head");
            assert!(n > 0, "the connection ended in {head:?}");
        }
        assert!(head.contains(" 200 OK"), "{head}");
        assert!(head.contains("Content-Type: text/event-stream"), "{head}");
        EventReader {
            reader,
            body: String::new(),
            frames: Vec::new(),
            pings: 0,
        }
    }
}

/// A listener of a session's events.
pub struct EventReader {
    reader: BufReader<TcpStream>,
    body: String,
    /// The frames so far.
    pub frames: Vec<Frame>,
    /// The number of pings so far.
    pub pings: u64,
}

impl EventReader {
    /// The next frame; `None` at the end of the stream. Counts pings.
    #[track_caller]
    pub fn next(&mut self) -> Option<Frame> {
        // Pings alone would keep a test waiting.
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            assert!(
                Instant::now() < deadline,
                "only pings after {:?}",
                self.frames
            );
            if let Some(end) = self.body.find("\n\n") {
                let text: String = self.body.drain(..end + 2).collect();
                if let Some(ping) = text.strip_prefix(": ping ") {
                    assert_eq!(ping.trim_end().parse(), Ok(self.pings), "{text:?}");
                    self.pings += 1;
                    continue;
                }
                let frame = parsed(&text);
                if let (Some(id), Some(last)) = (frame.id, self.last_id()) {
                    assert!(id == last + 1 || id == 0, "{id} follows {last}");
                }
                self.frames.push(frame.clone());
                return Some(frame);
            }
            if !self.fill() {
                assert_eq!(self.body, "", "half a frame");
                return None;
            }
        }
    }

    /// Reads the next chunk; false at the end of the stream.
    #[track_caller]
    fn fill(&mut self) -> bool {
        let mut size = String::new();
        if self.reader.read_line(&mut size).unwrap_or(0) == 0 {
            return false;
        }
        let size = usize::from_str_radix(size.trim_end(), 16).expect("a chunk's size");
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).expect("a whole chunk");
        chunk.truncate(size);
        self.body += &String::from_utf8(chunk).expect("text");
        size > 0
    }

    /// The id of the last frame that has one.
    pub fn last_id(&self) -> Option<u64> {
        self.frames.iter().rev().find_map(|frame| frame.id)
    }

    /// Reads until `pick` returns a value.
    #[track_caller]
    pub fn until<T>(&mut self, what: &str, pick: impl Fn(&Frame) -> Option<T>) -> T {
        loop {
            let Some(frame) = self.next() else {
                panic!("no {what} among {:?}", self.frames);
            };
            if let Some(found) = pick(&frame) {
                return found;
            }
        }
    }

    /// Reads until this request has ended; returns its frames since the beginning.
    #[track_caller]
    pub fn until_end_of(&mut self, request: &str) -> Vec<Frame> {
        let is_end = |frame: &Frame| {
            let is_last = matches!(frame.kind(), "Finish" | "Error");
            (is_last && frame.event["chat_request_id"] == request).then_some(())
        };
        if self.frames.iter().find_map(is_end).is_none() {
            self.until("end", is_end);
        }
        let mut frames = self.frames.clone();
        frames.retain(|frame| frame.event["chat_request_id"] == request);
        frames
    }

    /// Reads until the request has finished; returns the model's text.
    #[track_caller]
    pub fn until_finish_of(&mut self, request: &str) -> String {
        let frames = self.until_end_of(request);
        let last = frames.last().expect("a frame");
        assert_eq!(last.kind(), "Finish", "{frames:?}");
        assert_eq!(last.event["reason"], "stop");
        assert!(last.event["token_state"]["inputTokens"].is_i64());
        text_of(&frames)
    }

    /// Reads until the model has produced this text.
    #[track_caller]
    pub fn until_text(&mut self, text: &str) -> &mut Self {
        while !text_of(&self.frames).contains(text) {
            assert!(
                self.next().is_some(),
                "{text:?} not among {:?}",
                self.frames
            );
        }
        self
    }

    /// Reads until a part of this type arrives.
    #[track_caller]
    pub fn until_part(&mut self, kind: &str) -> Value {
        self.until(kind, |frame| {
            frame.parts().find(|part| part["type"] == kind).cloned()
        })
    }

    /// Reads the only event: the error of a client that has to read the session again.
    #[track_caller]
    pub fn ends_too_far_behind(self) {
        let frames = self.until_end();
        let [error] = &frames[..] else {
            panic!("not one event: {frames:?}");
        };
        assert_eq!(error.id, Some(0));
        let text = error.event["error"].as_str().expect("a sentence");
        assert!(text.starts_with("Client too far behind"), "{text}");
        assert!(error.event.get("request_id").is_none());
        assert!(error.event.get("chat_request_id").is_none());
    }

    /// Reads to the end of the stream.
    #[track_caller]
    pub fn until_end(mut self) -> Vec<Frame> {
        while self.next().is_some() {}
        self.frames
    }
}

/// The text of the model.
pub fn text_of(frames: &[Frame]) -> String {
    let by_model = frames
        .iter()
        .filter(|frame| frame.event["message"]["role"] == "assistant");
    by_model
        .flat_map(Frame::parts)
        .filter_map(|part| part["text"].as_str())
        .collect()
}

/// Parses a frame, and checks what must hold for every one.
#[track_caller]
fn parsed(text: &str) -> Frame {
    let (id, data) = match text.strip_prefix("id: ") {
        Some(rest) => {
            let (id, data) = rest.split_once('\n').expect("data follows the id");
            (Some(id.parse().expect("an id is a number")), data)
        }
        None => (None, text),
    };
    let data = data.strip_prefix("data: ").expect("data");
    assert_eq!(data.matches('\n').count(), 2, "one line: {data:?}");
    let event: Value = serde_json::from_str(data).expect("an event is JSON");
    match event["type"].as_str().expect("a type") {
        "ActiveRequests" => assert!(id.is_none() && event["request_ids"].is_array(), "{text}"),
        "Message" => {
            assert!(event["token_state"]["inputTokens"].is_i64(), "{event}");
            assert!(event["message"]["content"].is_array(), "{event}");
            assert_eq!(event["request_id"], event["chat_request_id"], "{event}");
        }
        "Notification" => assert_ne!(event["request_id"], event["chat_request_id"]),
        "Error" | "Finish" | "UpdateConversation" => {}
        other => panic!("{other} is not part of these routes"),
    }
    Frame { id, event }
}
