//! A scripted HTTP server: records every request and replies with the test's bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for an event before it fails.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// One request that the server received.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// The number of its connection, from 1.
    pub connection: usize,
    /// The number of the request on its connection, from 1.
    pub nth: usize,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name);
        let first = found.next();
        assert!(found.next().is_none(), "{name} was sent twice");
        first.map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC id, as it is written.
    pub fn id(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["id"].to_string()
    }
}

/// What happens to the connection after a reply.
pub enum AfterReply {
    Keep,
    Close,
}

type Script = dyn Fn(&ReceivedRequest, &mut TcpStream) -> AfterReply + Send + Sync;

pub struct Peer {
    pub url: String,
    shared: Arc<Shared>,
    acceptor: Option<thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<ReceivedRequest>>,
    came: Condvar,
    streams: Mutex<Vec<TcpStream>>,
    stopped: AtomicBool,
}

impl Peer {
    /// Starts a server that calls `script` for each request, in the connection's thread.
    pub fn new(
        script: impl Fn(&ReceivedRequest, &mut TcpStream) -> AfterReply + Send + Sync + 'static,
    ) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let script: Arc<Script> = Arc::new(script);
        let at_work = shared.clone();
        let acceptor = thread::Builder::new().name("peer".into()).spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                if at_work.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let connection = {
                    let mut streams = at_work.streams.lock().unwrap();
                    streams.push(stream.try_clone().unwrap());
                    streams.len()
                };
                let (shared, script) = (at_work.clone(), script.clone());
                thread::spawn(move || serve(connection, stream, &shared, &*script));
            }
        });
        Peer {
            url,
            shared,
            acceptor: Some(acceptor.unwrap()),
        }
    }

    /// All requests so far, in the order in which they were received completely.
    pub fn seen(&self) -> Vec<ReceivedRequest> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.streams.lock().unwrap().len()
    }

    /// Waits for a request that `fits` accepts.
    pub fn wait_for(&self, what: &str, fits: impl Fn(&ReceivedRequest) -> bool) -> ReceivedRequest {
        let deadline = Instant::now() + TEST_TIMEOUT;
        let mut seen = self.shared.seen.lock().unwrap();
        loop {
            if let Some(request) = seen.iter().find(|seen| fits(seen)) {
                return request.clone();
            }
            assert!(Instant::now() < deadline, "no {what} among {seen:#?}");
            let wait = self.shared.came.wait_timeout(seen, TEST_TIMEOUT).unwrap();
            seen = wait.0;
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for stream in self.shared.streams.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn serve(connection: usize, mut stream: TcpStream, shared: &Shared, script: &Script) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut nth = 0;
    while let Some(mut seen) = read_request(&mut reader) {
        nth += 1;
        (seen.connection, seen.nth) = (connection, nth);
        shared.seen.lock().unwrap().push(seen.clone());
        shared.came.notify_all();
        if let AfterReply::Close = script(&seen, &mut stream) {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn read_request(reader: &mut impl BufRead) -> Option<ReceivedRequest> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut first = lines.first()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = (lines[1..].iter())
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedRequest {
        connection: 0,
        nth: 0,
        method,
        path,
        headers,
        body: String::from_utf8(body).unwrap(),
    })
}

/// Sends a complete response. `head` is the rest of the status line and further header lines.
pub fn answer(stream: &mut TcpStream, head: &str, body: &str) -> AfterReply {
    let length = body.len();
    send(
        stream,
        &format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}"),
    )
}

/// Sends 200 with a JSON body.
pub fn json(stream: &mut TcpStream, body: &str) -> AfterReply {
    answer(
        stream,
        "200 OK\r\nContent-Type: application/json; charset=utf-8",
        body,
    )
}

/// Sends `202 Accepted`, which the specification requires for messages without a response.
pub fn accepted(stream: &mut TcpStream) -> AfterReply {
    answer(stream, "202 Accepted", "")
}

/// Sends the head of an event stream in chunks.
pub fn begin_events(stream: &mut TcpStream) -> AfterReply {
    send(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
}

/// Sends a chunk of the stream; the empty one ends it.
pub fn chunk(stream: &mut TcpStream, text: &str) -> AfterReply {
    send(stream, &format!("{:x}\r\n{text}\r\n", text.len()))
}

/// Sends these bytes. An error closes the connection: the client has hung up.
pub fn send(stream: &mut TcpStream, text: &str) -> AfterReply {
    match stream.write_all(text.as_bytes()) {
        Ok(()) => AfterReply::Keep,
        Err(_) => AfterReply::Close,
    }
}

/// Sends nothing until the client hangs up.
pub fn wait_for_hangup(stream: &mut TcpStream) -> AfterReply {
    let _ = stream.read(&mut [0; 64]);
    AfterReply::Close
}

/// Replies as an MCP server with the tool `echo`, which always returns the text `says`. Without a `session`
/// it sends no session id.
pub fn answer_as_mcp_server(
    seen: &ReceivedRequest,
    stream: &mut TcpStream,
    session: Option<&str>,
    says: &str,
) -> AfterReply {
    let body: serde_json::Value = serde_json::from_str(&seen.body).unwrap_or_default();
    let result = match body["method"].as_str() {
        Some("initialize") => serde_json::json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "peer", "version": "1"},
        }),
        Some("tools/list") => {
            serde_json::json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
        }
        Some("tools/call") => serde_json::json!({"content": [{"type": "text", "text": says}]}),
        _ if seen.method == "GET" => return answer(stream, "405 Method Not Allowed", ""),
        _ => return accepted(stream),
    };
    let text = serde_json::json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
    let session = session.map_or(String::new(), |id| format!("\r\nMcp-Session-Id: {id}"));
    let head = format!("200 OK\r\nContent-Type: application/json{session}");
    answer(stream, &head, &text.to_string())
}
