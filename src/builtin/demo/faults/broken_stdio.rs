//! The broken server on stdin and stdout. Every line is handled in the order in which it comes.

use super::Fault;
use super::messages::{Broken, Incoming};
use gosling_mcp::server::{Connection, ReplySink, Server};
use gosling_sys::cancel::Cancel;
use gosling_sys::lock;
use serde_json::Value;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The longest line that the fault `line-limit` reads, in bytes.
const LINE_LIMIT: usize = 64 << 10;
/// How many requests `ping` may follow each other, and how many of those after them the fault `overload` loses.
const UNDER_LOAD: std::ops::Range<usize> = 20..50;
/// How long calls may run after the end of the input.
const INPUT_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves the client at stdin and stdout with the demo server and this fault.
///
/// # Errors
/// stdin cannot be read.
pub fn serve(server: Server, fault: &'static Fault) -> io::Result<()> {
    let connection = Connection::new(server, &Cancel::new());
    let broken = Arc::new(Mutex::new(Broken::new(fault)));
    let rewriter = broken.clone();
    let sink: ReplySink = Arc::new(move |message| {
        let out = lock(&rewriter).outgoing(&message);
        write_lines(out);
    });
    if fault.name == "banner" {
        write_lines(vec!["gosling's demo server is ready".to_owned()]);
    }
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    let mut pings = 0;
    let mut after_blank = false;
    let mut has_called = false;
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        if text.trim().is_empty() {
            after_blank = true;
            continue;
        }
        let is_lost = match fault.name {
            "line-limit" => line.len() > LINE_LIMIT,
            "splits-lines" => text.contains('\u{2028}'),
            "no-crlf" => text.ends_with("\r\n"),
            "no-blank-lines" => after_blank,
            "loses-under-load" => UNDER_LOAD.contains(&pings),
            _ => false,
        };
        after_blank = false;
        let message: Option<Value> = gosling_text::json::from_str(&text).ok();
        let method = message.as_ref().map(|it| it["method"].clone());
        pings = if method == Some("ping".into()) {
            pings + 1
        } else {
            0
        };
        has_called |= method == Some("tools/call".into());
        if is_lost {
            continue;
        }
        let Some(message) = message else {
            if fault.name == "ends-at-parse-error" {
                break;
            }
            connection.receive(&line, &sink);
            continue;
        };
        // The lock is not held while the server works, because it answers in the same thread.
        let incoming = lock(&broken).incoming(message);
        match incoming {
            Incoming::Pass(message) => connection.receive(message.to_string().as_bytes(), &sink),
            Incoming::Answer(lines) => write_lines(lines),
            Incoming::Ignore => {}
            Incoming::End => break,
        }
    }
    connection.settle(INPUT_END_TIMEOUT);
    if fault.name == "outlives-stdin" && has_called {
        loop {
            thread::park();
        }
    }
    Ok(())
}

/// Writes whole lines. A client that has left ends the server by its input.
fn write_lines(lines: Vec<String>) {
    let mut out = io::stdout().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    let _ = out.flush();
}
