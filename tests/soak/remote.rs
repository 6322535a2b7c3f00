//! An MCP server over Streamable HTTP that keeps nothing of earlier requests, and a proxy in front of it whose
//! connections can be cut.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Responds under any path; a session belongs to the path under which it began.
pub struct Remote {
    pub address: SocketAddr,
    sessions: Arc<Sessions>,
}

#[derive(Default)]
struct Sessions {
    /// The path of each session.
    known: Mutex<HashMap<String, String>>,
    next: AtomicU64,
}

impl Remote {
    pub fn start() -> Remote {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sessions = Arc::new(Sessions::default());
        let shared = sessions.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                // An error means that the client disconnected.
                thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
        Remote { address, sessions }
    }

    /// Forgets all sessions under this path.
    pub fn forgets(&self, path: &str) {
        let mut known = self.sessions.known.lock().unwrap();
        known.retain(|_, of| of != path);
    }

    /// The number of sessions that clients have not ended, and the number they have begun.
    pub fn sessions(&self) -> (u64, u64) {
        let left = self.sessions.known.lock().unwrap().len() as u64;
        (left, self.sessions.next.load(Ordering::SeqCst))
    }
}

struct Request {
    method: String,
    path: String,
    session: Option<String>,
    body: Value,
}

fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        let fields = lines.iter().filter_map(|line| line.split_once(':'));
        let mut found = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim().to_owned())
    };
    let length = header("content-length").and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let mut first = lines.first().map_or("", String::as_str).split(' ');
    let mut word = || first.next().unwrap_or_default().to_owned();
    Ok(Some(Request {
        method: word(),
        path: word(),
        session: header("mcp-session-id"),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }))
}

fn serve(stream: &TcpStream, sessions: &Sessions) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = read(&mut reader)? {
        respond(stream, &request, sessions)?;
    }
    Ok(())
}

fn respond(mut stream: &TcpStream, request: &Request, sessions: &Sessions) -> io::Result<()> {
    let begins = request.body["method"] == "initialize";
    let known = {
        let known = sessions.known.lock().unwrap();
        request
            .session
            .as_ref()
            .is_some_and(|id| known.contains_key(id))
    };
    if !begins && !known {
        return whole(stream, "404 Not Found", "");
    }
    match request.method.as_str() {
        "GET" => return chatter(stream),
        "DELETE" => {
            let mut known = sessions.known.lock().unwrap();
            known.remove(request.session.as_deref().unwrap_or_default());
            drop(known);
            return whole(stream, "204 No Content", "");
        }
        _ => {}
    }
    let id = &request.body["id"];
    if id.is_null() {
        return whole(stream, "202 Accepted", "");
    }
    let mut head = String::new();
    if begins {
        let session = format!("s{}", sessions.next.fetch_add(1, Ordering::SeqCst));
        head = format!("\r\nMcp-Session-Id: {session}");
        let mut known = sessions.known.lock().unwrap();
        known.insert(session, request.path.clone());
    }
    let params = &request.body["params"];
    let arguments = &params["arguments"];
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result(&request.body)}).to_string();
    let tool = params["name"].as_str().unwrap_or_default();
    // Some responses are one body, some the end of a stream.
    let plain = tool.is_empty() || tool == "echo" && id.as_u64().unwrap_or(0).is_multiple_of(2);
    if plain {
        let head = format!("200 OK\r\nContent-Type: application/json{head}");
        return whole(stream, &head, &answer);
    }
    begin_events(stream)?;
    let token = &params["_meta"]["progressToken"];
    let progress = |n: usize| {
        let params = json!({"progressToken": token, "progress": n});
        notification("notifications/progress", &params)
    };
    match tool {
        "slow" => {
            let end = Instant::now() + Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0));
            for n in 1.. {
                if Instant::now() > end {
                    break;
                }
                thread::sleep(Duration::from_millis(20));
                event(stream, &progress(n))?;
            }
        }
        "flood" => {
            let said = json!({"level": "info", "data": "x".repeat(200)});
            let said = notification("notifications/message", &said);
            for _ in 0..500 {
                event(stream, &said)?;
            }
        }
        _ => event(stream, &progress(1))?,
    }
    event(stream, &answer)?;
    stream.write_all(b"0\r\n\r\n")
}

fn result(body: &Value) -> Value {
    let tools = ["echo", "slow", "flood"];
    let tools = tools.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    let params = &body["params"];
    match body["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": true}, "resources": {}},
            "serverInfo": {"name": "remote", "version": "1"},
        }),
        "tools/list" => json!({ "tools": tools }),
        "resources/list" => json!({"resources": [{"uri": "note://one", "name": "one"}]}),
        "resources/read" => {
            json!({"contents": [{"uri": params["uri"], "text": "a note of the remote server"}]})
        }
        "tools/call" => {
            let text = params["arguments"]["message"].as_str().unwrap_or("done");
            json!({"content": [{"type": "text", "text": text}]})
        }
        _ => json!({}),
    }
}

/// The stream for notifications of the server, open for a while.
fn chatter(stream: &TcpStream) -> io::Result<()> {
    begin_events(stream)?;
    for n in 0..40 {
        let changed = notification("notifications/tools/list_changed", &json!({}));
        match n % 4 {
            0 => event(stream, &changed)?,
            _ => chunk(stream, ": nothing new\n\n")?,
        }
        thread::sleep(Duration::from_millis(250));
    }
    stream.shutdown(Shutdown::Both)
}

fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

fn whole(mut stream: &TcpStream, head: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes())
}

fn begin_events(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
}

fn event(stream: &TcpStream, data: &str) -> io::Result<()> {
    chunk(stream, &format!("event: message\ndata: {data}\n\n"))
}

fn chunk(mut stream: &TcpStream, text: &str) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

/// Forwards connections to an address, until it is stopped.
pub struct Line {
    pub address: SocketAddr,
    shared: Arc<Wire>,
    acceptor: Option<JoinHandle<()>>,
}

struct Wire {
    to: SocketAddr,
    /// Connections are refused.
    down: AtomicBool,
    /// Connections are accepted, and everything sent is lost.
    mute: AtomicBool,
    next: AtomicU64,
    ends: Mutex<HashMap<u64, [TcpStream; 2]>>,
}

impl Line {
    pub fn to(to: SocketAddr) -> Line {
        // Below the ports that the system assigns, so that no other process gets its port while it is down.
        // else gets its port.
        let from = 20_000 + u64::from(std::process::id()) % 8_000;
        let mut ports = (from..32_000).cycle().take(12_000).map(|port| port as u16);
        let listener = ports.find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
        let listener = listener.expect("a free port");
        let mut line = Line {
            address: listener.local_addr().unwrap(),
            shared: Arc::new(Wire {
                to,
                down: AtomicBool::new(false),
                mute: AtomicBool::new(false),
                next: AtomicU64::new(0),
                ends: Mutex::default(),
            }),
            acceptor: None,
        };
        line.listen(listener);
        line
    }

    fn listen(&mut self, listener: TcpListener) {
        let shared = self.shared.clone();
        self.acceptor = Some(thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.down.load(Ordering::SeqCst) {
                    return;
                }
                shared.clone().connect(stream);
            }
        }));
    }

    /// Ends all connections; new ones work.
    pub fn cut(&self) {
        for ends in self.shared.ends.lock().unwrap().values() {
            for end in ends {
                let _ = end.shutdown(Shutdown::Both);
            }
        }
    }

    /// Ends all connections and refuses new ones.
    pub fn refuse(&mut self) {
        self.shared.down.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
        self.cut();
    }

    /// Loses everything that is sent.
    pub fn lose(&self) {
        self.shared.mute.store(true, Ordering::SeqCst);
    }

    /// Forwards again. Connections that have lost data end.
    pub fn mend(&mut self) {
        if self.shared.mute.swap(false, Ordering::SeqCst) {
            self.cut();
        }
        if self.shared.down.swap(false, Ordering::SeqCst) {
            let listener = super::support::until("the port of the line", || {
                TcpListener::bind(self.address).ok()
            });
            self.listen(listener);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.refuse();
    }
}

impl Wire {
    fn connect(self: Arc<Self>, near: TcpStream) {
        let Ok(far) = TcpStream::connect(self.to) else {
            return;
        };
        let copy = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let ends = [copy(&near), copy(&far)];
        self.ends.lock().unwrap().insert(number, ends);
        for (from, to) in [(copy(&near), copy(&far)), (far, near)] {
            let wire = self.clone();
            thread::spawn(move || {
                wire.pump(&from, &to);
                let _ = from.shutdown(Shutdown::Both);
                let _ = to.shutdown(Shutdown::Both);
                wire.ends.lock().unwrap().remove(&number);
            });
        }
    }

    fn pump(&self, mut from: &TcpStream, mut to: &TcpStream) {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            if !self.mute.load(Ordering::SeqCst) && to.write_all(&buffer[..n]).is_err() {
                return;
            }
        }
    }
}
