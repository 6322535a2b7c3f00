//! The client's end of the HTTP transport for tests: records messages and failures and waits for them.

use super::http_peer::{AfterReply, Peer, ReceivedRequest, TEST_TIMEOUT, accepted, answer, json};
use gosling::mcp::transport::http::{HttpOptions, HttpTransport};
use gosling::mcp::transport::{MessageHandler, Stream, Transport, TransportError};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The messages and failures that the transport reported.
#[derive(Default)]
pub struct Log {
    entries: Mutex<Vec<Entry>>,
    came: Condvar,
}

#[derive(Clone, Debug)]
pub enum Entry {
    Message(String),
    Failed(i64, TransportError),
}

impl Log {
    pub fn add(&self, entry: Entry) {
        self.entries.lock().unwrap().push(entry);
        self.came.notify_all();
    }

    pub fn find<T>(&self, what: &str, pick: impl Fn(&Entry) -> Option<T>) -> T {
        let deadline = Instant::now() + TEST_TIMEOUT;
        let mut entries = self.entries.lock().unwrap();
        loop {
            if let Some(found) = entries.iter().find_map(&pick) {
                return found;
            }
            assert!(Instant::now() < deadline, "no {what} among {entries:?}");
            entries = self.came.wait_timeout(entries, TEST_TIMEOUT).unwrap().0;
        }
    }

    pub fn message(&self, part: &str) -> String {
        self.find(part, |entry| match entry {
            Entry::Message(text) if text.contains(part) => Some(text.clone()),
            _ => None,
        })
    }

    pub fn failure(&self, id: i64) -> TransportError {
        self.find("failure", |entry| match entry {
            Entry::Failed(failed, error) if *failed == id => Some(error.clone()),
            _ => None,
        })
    }

    pub fn messages(&self) -> Vec<String> {
        let entries = self.entries.lock().unwrap();
        let text = |entry: &Entry| match entry {
            Entry::Message(text) => Some(text.clone()),
            Entry::Failed(..) => None,
        };
        entries.iter().filter_map(text).collect()
    }

    pub fn failures(&self) -> usize {
        let entries = self.entries.lock().unwrap();
        let failed = |entry: &&Entry| matches!(entry, Entry::Failed(..));
        entries.iter().filter(failed).count()
    }
}

impl MessageHandler for Log {
    fn message(&self, bytes: &[u8], _: Stream) {
        self.add(Entry::Message(String::from_utf8(bytes.to_vec()).unwrap()));
    }

    fn failed(&self, request: i64, error: TransportError) {
        self.add(Entry::Failed(request, error));
    }

    fn closed(&self, error: TransportError) {
        panic!("HTTP has no connection that could be closed: {error}");
    }
}

pub struct Client {
    pub transport: HttpTransport,
    pub log: Arc<Log>,
}

impl Client {
    pub fn of(peer: &Peer, name: &str) -> Client {
        Client::with(HttpOptions::new(name, &peer.url))
    }

    pub fn with(options: HttpOptions) -> Client {
        let transport = HttpTransport::new(options).unwrap();
        let log = Arc::new(Log::default());
        transport.start(log.clone()).unwrap();
        Client { transport, log }
    }

    pub fn request(&self, id: i64, method: &str) {
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        self.transport.send(message.into(), Some(id)).unwrap();
    }

    pub fn notify(&self, method: &str) {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}"}}"#);
        self.transport.send(message.into(), None).unwrap();
    }

    /// Sends a request and returns its response.
    pub fn call(&self, id: i64, method: &str) -> String {
        self.request(id, method);
        self.log.message(&format!(r#""id":{id},"#))
    }

    pub fn initialize(&self) {
        self.call(0, "initialize");
        self.transport.negotiated("2025-11-25");
        self.notify("initialized");
    }
}

/// The number of threads whose name has this prefix (Linux truncates names to 15 bytes).
#[cfg(target_os = "linux")]
pub fn threads(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    let names = tasks.filter_map(|task| name(task.ok()?));
    names.filter(|name| name.starts_with(prefix)).count()
}

/// The number of threads whose name has this prefix.
#[cfg(windows)]
pub fn threads(prefix: &str) -> usize {
    #[path = "windows_threads.rs"]
    mod windows_threads;
    let names = windows_threads::names(std::process::id()).into_iter();
    names.filter(|name| name.starts_with(prefix)).count()
}

#[cfg(not(any(target_os = "linux", windows)))]
pub fn threads(_prefix: &str) -> usize {
    0
}

pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come true");
        thread::sleep(Duration::from_millis(5));
    }
}

/// An empty result.
pub fn result(id: impl std::fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// An event with this data.
pub fn event(data: &str) -> String {
    format!("event: message\ndata: {data}\n\n")
}

/// Replies as most servers do: 405 to GET, 202 to a message without a response, a result to the rest.
pub fn answer_as_usual(seen: &ReceivedRequest, stream: &mut TcpStream) -> AfterReply {
    match (seen.method.as_str(), seen.id().as_str()) {
        ("POST", "null") => accepted(stream),
        ("POST", id) => json(stream, &result(id)),
        _ => answer(stream, "405 Method Not Allowed", ""),
    }
}
