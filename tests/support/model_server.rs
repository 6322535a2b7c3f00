//! A scripted model server on loopback: sends the test's bytes for each request, in pieces and with pauses,
//! and records the requests and whether the client waited for the end.

use super::http_peer::{AfterReply, Peer, ReceivedRequest};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// One step of a reply.
#[derive(Clone)]
enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    /// Waits until the client closes the connection.
    Hold,
    Close,
}

/// The reply to one request.
#[derive(Clone, Default)]
pub struct Reply {
    steps: Vec<Step>,
}

impl Reply {
    /// A reply of these bytes.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::default().send(bytes)
    }

    /// A complete response. `head` is the rest of the status line with further header lines.
    pub fn new(head: &str, body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        let length = body.len();
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n");
        Reply::raw([head.as_bytes(), body].concat())
    }

    /// A complete response with a JSON body.
    pub fn json(status: &str, body: &str) -> Reply {
        Reply::new(&format!("{status}\r\nContent-Type: application/json"), body)
    }

    /// The head of an event stream in chunks.
    pub fn events() -> Reply {
        Reply::raw(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
    }

    /// A complete event stream.
    pub fn stream(body: impl AsRef<[u8]>) -> Reply {
        Reply::new("200 OK\r\nContent-Type: text/event-stream", body)
    }

    pub fn send(mut self, bytes: impl Into<Vec<u8>>) -> Reply {
        self.steps.push(Step::Send(bytes.into()));
        self
    }

    /// A chunk of the transfer encoding; the empty one ends the body.
    pub fn chunk(self, text: &str) -> Reply {
        self.send(format!("{:x}\r\n{text}\r\n", text.len()))
    }

    pub fn wait(mut self, time: Duration) -> Reply {
        self.steps.push(Step::Wait(time));
        self
    }

    pub fn hold(mut self) -> Reply {
        self.steps.push(Step::Hold);
        self
    }

    pub fn close(mut self) -> Reply {
        self.steps.push(Step::Close);
        self
    }
}

/// The server. The first request gets the first reply, and so on; requests after the last reply get 500. Questions for
/// the details of a model of Ollama do not count, and get 404.
pub struct ModelServer {
    pub url: String,
    peer: Peer,
    left: Arc<Left>,
}

/// How many clients closed their connection during a [`Reply::hold`].
#[derive(Default)]
struct Left {
    count: Mutex<usize>,
    changed: Condvar,
}

impl ModelServer {
    pub fn new(replies: Vec<Reply>) -> ModelServer {
        let next = AtomicUsize::new(0);
        ModelServer::with(move |seen| {
            if asks_for_details(seen) {
                return Reply::json("404 Not Found", r#"{"error":"not found"}"#);
            }
            let reply = replies.get(next.fetch_add(1, Ordering::SeqCst));
            reply
                .cloned()
                .unwrap_or_else(|| Reply::new("500 Nothing Left", ""))
        })
    }

    /// A server whose replies depend on the request.
    pub fn with(script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> ModelServer {
        let left = Arc::new(Left::default());
        let told = left.clone();
        let peer = Peer::new(move |seen, stream| play(&script(seen), stream, &told));
        ModelServer {
            url: peer.url.clone(),
            peer,
            left,
        }
    }

    /// All requests so far, but those for the details of a model.
    pub fn seen(&self) -> Vec<ReceivedRequest> {
        let mut seen = self.peer.seen();
        seen.retain(|request| !asks_for_details(request));
        seen
    }

    /// The requests for the details of a model so far.
    pub fn asked_for_details(&self) -> usize {
        self.peer
            .seen()
            .iter()
            .filter(|it| asks_for_details(it))
            .count()
    }

    /// The JSON bodies of all requests so far.
    pub fn bodies(&self) -> Vec<serde_json::Value> {
        let seen = self.seen();
        (seen
            .iter()
            .map(|seen| serde_json::from_str(&seen.body).unwrap()))
        .collect()
    }

    pub fn connections(&self) -> usize {
        self.peer.connections()
    }

    /// Waits for a request.
    pub fn wait_for_request(&self) {
        self.peer.wait_for("request", |_| true);
    }

    /// Waits until a client closes its connection during a [`Reply::hold`], and returns how long that took.
    #[track_caller]
    pub fn wait_for_hangup(&self) -> Duration {
        let begin = Instant::now();
        let mut count = self.left.count.lock().unwrap();
        while *count == 0 {
            assert!(begin.elapsed() < TEST_TIMEOUT, "the client did not hang up");
            count = self
                .left
                .changed
                .wait_timeout(count, TEST_TIMEOUT)
                .unwrap()
                .0;
        }
        begin.elapsed()
    }
}

fn asks_for_details(seen: &ReceivedRequest) -> bool {
    seen.path == "/api/show" || seen.path == "/api/ps"
}

fn play(reply: &Reply, stream: &mut TcpStream, left: &Left) -> AfterReply {
    for step in &reply.steps {
        match step {
            Step::Send(bytes) => {
                if stream.write_all(bytes).is_err() {
                    return AfterReply::Close;
                }
            }
            Step::Wait(time) => thread::sleep(*time),
            Step::Hold => {
                while matches!(stream.read(&mut [0; 64]), Ok(1..)) {}
                *left.count.lock().unwrap() += 1;
                left.changed.notify_all();
                return AfterReply::Close;
            }
            Step::Close => return AfterReply::Close,
        }
    }
    AfterReply::Keep
}

/// An event with this JSON as its data.
pub fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

/// A chunk of chat completions with this delta.
pub fn delta(delta: &str) -> String {
    event(&format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    ))
}

/// The last chunk.
pub fn finish(reason: &str) -> String {
    event(&format!(
        r#"{{"id":"chatcmpl-1","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#
    ))
}

/// The end of every stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// A stream with these pieces of text.
pub fn says(pieces: &[&str]) -> String {
    let mut stream: String = pieces
        .iter()
        .map(|piece| delta(&serde_json::json!({"content": piece}).to_string()))
        .collect();
    stream += &finish("stop");
    stream + DONE
}
