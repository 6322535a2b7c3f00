//! A server with a small router, and a client that sends and receives bytes.

use gosling::http::{Access, AccessControl, Error, Limits, Request, Response, Router, Server};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

pub const KEY: &str = "X-Secret-Key: open sesame\r\n";
/// The timeout of all waits: longer than any of them should take.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The body of `/typed`.
#[derive(serde::Deserialize)]
struct Typed {
    x: u8,
}

pub struct Edge {
    pub server: Server,
    /// Number of handlers that have entered `/wait`.
    pub waiting: Arc<AtomicUsize>,
    /// Sending to it or dropping it lets `/wait` respond.
    pub gate: Option<mpsc::Sender<()>>,
    /// Receives a message when `/hang` detects that its client has left.
    pub left: mpsc::Receiver<()>,
}

pub fn limits() -> Limits {
    Limits {
        max_head_bytes: 8 << 10,
        max_headers: 20,
        max_body_bytes: 1 << 20,
        ..Limits::default()
    }
}

pub fn edge() -> Edge {
    edge_with(limits())
}

pub fn edge_with(limits: Limits) -> Edge {
    edge_bound(limits, |router, guard, limits| {
        Server::bind("127.0.0.1:0", router, guard, limits)
    })
}

/// The same with the server that `bind` makes.
pub fn edge_bound(
    limits: Limits,
    bind: impl FnOnce(Router, AccessControl, Limits) -> std::io::Result<Server>,
) -> Edge {
    let waiting = Arc::new(AtomicUsize::new(0));
    let (gate, opened) = mpsc::channel::<()>();
    let (tell, left) = mpsc::channel();
    let entered = Arc::clone(&waiting);
    let opened = std::sync::Mutex::new(opened);
    let router = Router::new()
        .get("/status", Access::Public, |_| Ok(Response::text("ok")))
        .get("/page", Access::Keyless, |_| Ok(Response::text("page")))
        .get("/empty", Access::Keyed, |_| Ok(Response::empty(200)))
        .get("/nothing", Access::Keyed, |_| Ok(Response::empty(204)))
        .get("/hello/{name}", Access::Keyed, |request| {
            let greeting = request.query("greeting").unwrap_or("hello");
            Ok(Response::text(format!(
                "{greeting}, {}",
                request.param("name")
            )))
        })
        .get("/tools", Access::Keyed, |request| {
            request.required_query("session_id").map(Response::text)
        })
        .post("/echo", Access::Keyed, |request| {
            Ok(Response::bytes(
                "application/octet-stream",
                request.body.clone(),
            ))
        })
        .post("/json", Access::Keyed, |request| {
            let value: serde_json::Value = request.json()?;
            Ok(Response::json(&value))
        })
        .post("/typed", Access::Keyed, |request| {
            let Typed { x } = request.json()?;
            Ok(Response::json(&x))
        })
        .get("/big", Access::Keyed, |_| {
            Ok(Response::bytes("text/plain", vec![b'x'; 8 << 20]))
        })
        .get("/stream", Access::Keyed, |request| {
            let breaks_off = request.query("breaks_off").is_some();
            Ok(Response::stream("application/x-bytes", move |out| {
                out.write_all(b"begin ")?;
                out.write_all(&vec![b'x'; 1 << 20])?;
                if breaks_off {
                    return Err(std::io::Error::other("on purpose"));
                }
                out.write_all(b" end")
            }))
        })
        .get("/refuse", Access::Keyed, |_| {
            Err(Error::new(418, "short\nand \"stout\""))
        })
        // A panic without a message and backtrace: with backtraces on, reading the symbols may take longer than
        // the test waits.
        .get("/panic", Access::Keyed, |_| {
            std::panic::resume_unwind(Box::new("on purpose"))
        })
        .get("/wait", Access::Keyed, move |_| {
            entered.fetch_add(1, Ordering::SeqCst);
            let _ = opened.lock().unwrap().recv_timeout(TEST_TIMEOUT);
            Ok(Response::text("waited"))
        })
        .get("/hang", Access::Keyed, move |request: &Request| {
            let hang_up = request.hang_up();
            let deadline = Instant::now() + TEST_TIMEOUT;
            while !hang_up.happened() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
            if request.hung_up() {
                let _ = tell.send(());
            }
            Ok(Response::empty(200))
        });
    let guard =
        AccessControl::new(Some(b"open sesame".to_vec()), vec!["my-box".into()]).any_origin();
    Edge {
        server: bind(router, guard, limits).unwrap(),
        waiting,
        gate: Some(gate),
        left,
    }
}

impl Edge {
    pub fn connect(&self) -> Client {
        Client::to(self.server.local_addr())
    }

    /// A client that has sent `request`.
    pub fn says(&self, request: impl AsRef<[u8]>) -> Client {
        let mut client = self.connect();
        client.send(request);
        client
    }

    /// Waits until `count` handlers have entered `/wait`.
    pub fn until_waiting(&self, count: usize) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        while self.waiting.load(Ordering::SeqCst) < count {
            assert!(Instant::now() < deadline, "no handler was called");
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn is_alive(&self) {
        let reply = self.says("GET /status HTTP/1.1\r\nHost: a\r\n\r\n").reply();
        assert_eq!((reply.status, reply.text()), (200, "ok"));
    }
}

pub struct Client<S = TcpStream> {
    pub stream: BufReader<S>,
}

impl Client {
    pub fn to(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        Client {
            stream: BufReader::new(stream),
        }
    }
}

impl<S: Read + Write> Client<S> {
    /// The server may stop reading a request that it refuses, so a failed send is not an error.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.get_mut().write_all(bytes.as_ref());
    }

    pub fn reply(&mut self) -> Reply {
        self.try_reply(true).expect("an answer")
    }

    pub fn reply_to_head(&mut self) -> Reply {
        self.try_reply(false).expect("an answer")
    }

    pub fn try_reply(&mut self, with_body: bool) -> Option<Reply> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            match self.stream.read_line(&mut line) {
                Ok(0) | Err(_) => return None,
                Ok(_) if line == "\r\n" => break,
                Ok(_) => lines.push(line.strip_suffix("\r\n").unwrap().to_string()),
            }
        }
        let status = lines.remove(0);
        let mut reply = Reply {
            status: status.split(' ').nth(1).unwrap().parse().unwrap(),
            headers: lines,
            body: Vec::new(),
        };
        if let (true, Some(length)) = (with_body, reply.header("content-length")) {
            reply.body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut reply.body).unwrap();
        }
        Some(reply)
    }

    /// The body in chunks that follows a head, and whether it has its end.
    pub fn chunks(&mut self) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).unwrap_or(0) == 0 {
                return (body, false);
            }
            let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).unwrap();
            assert!(chunk.ends_with(b"\r\n"));
            if size == 0 {
                return (body, true);
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    /// Whether the server closes the connection without sending anything more.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        rest.is_empty()
    }
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn message(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        body["message"].as_str().unwrap().to_string()
    }
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{KEY}\r\n")
}

pub fn post(path: &str, fields: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{KEY}{fields}\r\n{body}")
}

pub fn echo(fields: &str, body: &str) -> String {
    post("/echo", fields, body)
}
