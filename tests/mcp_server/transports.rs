//! The loops that serve a connection over pipes and over memory: SERVER §4.2.

use crate::client::*;
use crate::lab::*;
use crossbeam_channel::{Sender, unbounded};
use gosling::mcp::server::{
    Context, GRACE, MAX_LINE, Server, Tool, memory, serve_memory, serve_stdio,
};
use gosling::mcp::transport::{MessageHandler, Stream, Transport, TransportError};
use gosling::mcp::types::CallToolResult;
use gosling_demo as demo;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A server on pipes, as in a process.
struct Pipes {
    to: Option<PipeWriter>,
    from: BufReader<PipeReader>,
    server: JoinHandle<io::Result<()>>,
}

fn pipes(server: Server) -> Pipes {
    let (input, to) = io::pipe().expect("a pipe");
    let (from, output) = io::pipe().expect("a pipe");
    let serve = move || serve_stdio(server, BufReader::new(input), output);
    Pipes {
        to: Some(to),
        from: BufReader::new(from),
        server: thread::spawn(serve),
    }
}

impl Pipes {
    fn send(&mut self, bytes: &[u8]) {
        self.to
            .as_mut()
            .expect("open")
            .write_all(bytes)
            .expect("the server reads");
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("UTF-8");
        assert!(line.ends_with('\n'), "{line:?}");
        serde_json::from_str(&line).expect("one message on each line")
    }

    /// Closes stdin; returns the remaining output and the server's result.
    fn end(mut self) -> (String, io::Result<()>) {
        self.to = None;
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).expect("UTF-8");
        (rest, self.server.join().expect("no panic"))
    }
}

#[test]
fn stdio_carries_one_message_a_line_and_ends_with_stdin() {
    let mut pipes = pipes(lab().server);
    pipes.send(INITIALIZE.as_bytes());
    pipes.send(b"\r\n\n  \n");
    assert_eq!(pipes.next()["id"], 0);
    pipes.send(b"Hello \xff\n");
    assert_eq!(pipes.next()["error"]["code"], -32700);
    pipes.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"lines\"}}\n");
    assert_eq!(
        pipes.next(),
        result(1, json!({"content": [], "structuredContent": {"a": 1}}))
    );
    pipes.send(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
    let (rest, ended) = pipes.end();
    assert_eq!(
        rest, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n",
        "the last line needs no end"
    );
    ended.expect("a clean end");
}

#[test]
fn what_was_asked_last_is_answered_although_stdin_has_ended() {
    let slow = Tool::new("slow", "", |_: Value, context: &Context| {
        assert!(context.pause(Duration::from_millis(100)), "not cancelled");
        Ok(CallToolResult::text("done"))
    });
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}"#;
    let lines = format!("{INITIALIZE}\n{call}\n");
    let written = Written::default();
    let server = Server::new("slow", "1").tool(slow);
    serve_stdio(server, lines.as_bytes(), written.clone()).expect("a clean end");
    let bytes = written.0.lock().expect("no panic").clone();
    let text = String::from_utf8(bytes).expect("UTF-8");
    assert!(text.contains(r#""text":"done""#), "{text}");
}

#[test]
fn the_end_of_stdin_cancels_what_goes_on_without_answering_it() {
    let Lab {
        server,
        started: at_work,
        release: _release,
    } = lab();
    let mut pipes = pipes(server);
    pipes.send(INITIALIZE.as_bytes());
    pipes.send(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"wait\"}}\n");
    assert_eq!(pipes.next()["id"], 0);
    started(&at_work);
    let begin = Instant::now();
    let (rest, ended) = pipes.end();
    assert_eq!(rest, "");
    ended.expect("a clean end");
    assert!(
        begin.elapsed() < GRACE,
        "cancelled after a second, not waited out"
    );
}

#[test]
fn a_stdout_that_nobody_reads_any_more_ends_the_server_and_its_calls() {
    let Lab {
        server,
        started: at_work,
        release: _release,
    } = lab();
    let Pipes { to, from, server } = pipes(server);
    let mut to = to.expect("open");
    to.write_all(INITIALIZE.as_bytes())
        .expect("the server reads");
    to.write_all(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"wait\"}}\n").expect("the server reads");
    started(&at_work);
    drop(from);
    to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n")
        .expect("the server reads");
    server
        .join()
        .expect("no panic")
        .expect("a client that left is no failure");
}

/// A full disk.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::StorageFull, "full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_fails_otherwise_is_an_error() {
    let lines = format!("{INITIALIZE}\n{INITIALIZE}\n");
    let ended = serve_stdio(demo::server(false), lines.as_bytes(), Full);
    assert_eq!(ended.map_err(|e| e.kind()), Err(io::ErrorKind::StorageFull));
}

/// Collects the server's output.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_line_without_end_is_refused_and_the_next_one_is_heard() {
    let ping = b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".as_slice();
    let endless = || io::repeat(b'x').take(2 * MAX_LINE as u64);
    let refused = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{{\"code\":-32700,\"message\":\"The line has more than {MAX_LINE} bytes and is skipped\"}}}}\n"
    );

    let written = Written::default();
    let input = BufReader::with_capacity(1 << 20, endless().chain(ping));
    serve_stdio(demo::server(false), input, written.clone()).expect("a clean end");
    let pong = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    assert_eq!(
        *written.0.lock().expect("no panic"),
        format!("{refused}{pong}").as_bytes()
    );

    let written = Written::default();
    let input = BufReader::with_capacity(1 << 20, endless());
    serve_stdio(demo::server(false), input, written.clone()).expect("a clean end");
    assert_eq!(*written.0.lock().expect("no panic"), refused.as_bytes());
}

/// Passes on the messages of a transport.
struct Inbox(Sender<Value>);

impl MessageHandler for Inbox {
    fn message(&self, bytes: &[u8], _: Stream) {
        let _ = self.0.send(serde_json::from_slice(bytes).expect("JSON"));
    }

    fn failed(&self, _: i64, _: TransportError) {}

    fn closed(&self, _: TransportError) {}
}

#[test]
fn the_same_server_speaks_over_memory() {
    let (client, end) = memory::pair();
    let (sender, answers) = unbounded();
    client.start(Arc::new(Inbox(sender))).expect("a connection");
    let server = thread::spawn(|| serve_memory(demo::server(false), end));
    client.send(INITIALIZE.into(), Some(0)).expect("room");
    assert_eq!(answers.recv_timeout(DEADLINE).expect("an answer")["id"], 0);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"steps":1000,"step_ms":60000}}}"#;
    client.send(call.into(), Some(1)).expect("room");
    let log = answers.recv_timeout(DEADLINE).expect("a log message");
    assert_eq!(log["method"], "notifications/message");
    client.close();
    server
        .join()
        .expect("the call was cancelled and the server has ended");
}
