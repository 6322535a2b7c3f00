//! One connection's thread: read a request, answer it, and again.

use std::any::Any;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tiny_http::Method;

use super::body::{Chunked, too_large};
use super::head::{self, Expect, Framing, Head, Scan};
use super::listener::Shared;
use super::registry::Slot;
use super::request::{find_header, find_headers, parse_query};
use super::response::{End, Events};
use super::router::{Access, Resource, Route};
use super::wire::Wire;
use super::{Error, EventStream, HangUp, Request, Response};

/// Serves the connection until it ends.
pub(super) fn serve(shared: &Shared, slot: &Slot) {
    // Fails only if the client is gone already.
    if let Ok(wire) = Wire::new(&slot.stream, &shared.limits) {
        let mut connection = Connection {
            shared,
            slot,
            wire,
            out: Vec::new(),
        };
        while connection.exchange() {}
    }
    // A handler's `HangUp` may keep the socket open, but the client is to see its end now.
    let _ = slot.stream.shutdown(Shutdown::Both);
}

struct Connection<'a> {
    shared: &'a Shared,
    slot: &'a Slot,
    wire: Wire<'a>,
    /// The head of a response, kept for the next.
    out: Vec<u8>,
}

/// Why no request could be read.
enum Failure {
    /// The client left, or the connection was closed: there is nobody to answer.
    Gone,
    /// The request is refused, and as it is not known where the next begins, the connection ends.
    Refused(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(error)
    }
}

impl<'a> Connection<'a> {
    /// Reads and answers one request; false if the connection ends.
    fn exchange(&mut self) -> bool {
        let outcome = self.read_head().and_then(|head| self.answer(head));
        match outcome {
            Ok(goes_on) => goes_on,
            Err(Failure::Gone) => false,
            Err(Failure::Refused(error)) => {
                let mut response = error.into();
                self.shared.router.word(&mut response);
                if self.send(&response, false, Some("close")).is_ok() {
                    self.wire.linger(self.shared.limits.linger);
                }
                false
            }
        }
    }

    /// Waits for a head and parses it.
    fn read_head(&mut self) -> Result<Head, Failure> {
        let limits = &self.shared.limits;
        let mut scan = Scan::default();
        let mut deadline = Instant::now() + limits.head;
        // The next request may have been read ahead.
        if !self.slot.wake() || self.shared.is_stopping() {
            return Err(Failure::Gone);
        }
        loop {
            if self.wire.buffered().is_empty() {
                self.wait_for_request()?;
                deadline = Instant::now() + limits.head;
            }
            if let Some(range) = scan.advance(self.wire.buffered(), limits)? {
                let end = range.end;
                let head = head::parse(&self.wire.buffered()[range])?;
                self.wire.consume(end);
                return Ok(head);
            }
            let length = self.wire.buffered().len();
            if scan.skip_blank(length) {
                self.wire.consume(length);
                continue;
            }
            match self.wire.fill(deadline) {
                Ok(0) => return Err(ended_early()),
                Ok(_) => {}
                Err(error) => return Err(unread("head", limits.head, &error)),
            }
        }
    }

    /// Rests until the first byte of a request.
    fn wait_for_request(&mut self) -> Result<(), Failure> {
        self.wire.rest();
        let resting = self.slot.rest(self.shared.age());
        if !resting || self.shared.is_stopping() {
            return Err(Failure::Gone);
        }
        match self.wire.fill(Instant::now() + self.shared.limits.idle) {
            Ok(1..) if self.slot.wake() => Ok(()),
            _ => Err(Failure::Gone),
        }
    }

    /// Answers the request that `head` begins; false if the connection ends with it.
    fn answer(&mut self, head: Head) -> Result<bool, Failure> {
        let is_head = head.method == Method::Head;
        let keep_alive = head.keep_alive;
        let http_1_0 = head.version == (1, 0);
        let (mut response, unread_body) = match self.judge(&head) {
            Ok(found) => (self.call(found, head)?, false),
            Err(response) => (response, head.framing != Framing::Empty),
        };
        self.shared.router.word(&mut response);
        let events = response.events.take().filter(|_| !is_head);
        let end = match events {
            None => End::Length,
            Some(_) if http_1_0 => End::Close,
            Some(_) => End::Chunks,
        };
        let goes_on = keep_alive && end != End::Close && !unread_body && !self.shared.is_stopping();
        let connection = match goes_on {
            false => Some("close"),
            true if http_1_0 => Some("keep-alive"),
            true => None,
        };
        if let Some(events) = events {
            return Ok(self.stream(&response, events, connection, end)? && goes_on);
        }
        self.send(&response, is_head, connection)
            .map_err(|_| Failure::Gone)?;
        if !goes_on && (unread_body || !self.wire.buffered().is_empty()) {
            self.wire.linger(self.shared.limits.linger);
        }
        Ok(goes_on)
    }

    /// Decides from the head alone whether a handler may be called, and which. The order is part of the
    /// contract: who has no key learns nothing, not even which paths exist.
    fn judge(&self, head: &Head) -> Result<Found<'a>, Response> {
        let Shared { router, guard, .. } = self.shared;
        let resource = router.find(&head.path);
        let access = resource.map_or(Access::Keyed, |resource| resource.access(&head.method));
        if let (Some(authority), true) = (&head.authority, access > Access::Public) {
            guard.check_host(authority)?;
        }
        if access > Access::Public {
            for origin in find_headers(&head.headers, "Origin") {
                guard.check_origin(origin)?;
            }
        }
        let is_options = head.method == Method::Options;
        if is_options && find_header(&head.headers, "Access-Control-Request-Method").is_some() {
            return Err(preflight());
        }
        if access == Access::Keyed {
            guard.check_key(find_header(&head.headers, "X-Secret-Key"))?;
            self.slot.show_key();
        }
        if is_options && head.path == "*" {
            return Err(Response::empty(200));
        }
        let Some(resource) = resource else {
            return Err(Error::not_found(format!("There is nothing at {}", head.path)).into());
        };
        let Some(route) = resource.route(&head.method) else {
            let message = format!("{} does not take {}", head.path, head.method);
            let allow = resource.allow();
            return Err(Error::new(405, message).header("Allow", &allow).into());
        };
        if access < Access::Keyed && head.framing != Framing::Empty {
            let message = format!("{} takes no body: send none", head.path);
            return Err(Error::new(413, message).into());
        }
        if matches!(head.framing, Framing::Sized(length) if length > self.body_limit()) {
            return Err(too_large().into());
        }
        if head.expect == Expect::Unknown {
            let message = "This server meets no expectation but `100-continue`";
            return Err(Error::new(417, message).into());
        }
        Ok(Found { resource, route })
    }

    /// Reads the body and calls the handler.
    fn call(&mut self, found: Found<'_>, head: Head) -> Result<Response, Failure> {
        let params = found.resource.params(&head.path);
        let body = self.read_body(&head)?;
        let params = match params {
            Ok(params) => params,
            Err(error) => return Ok(error.into()),
        };
        if !self.slot.handle() {
            return Err(Failure::Gone);
        }
        let request = Request {
            method: head.method,
            path: head.path,
            params,
            query: head.query.as_deref().map(parse_query).unwrap_or_default(),
            headers: head.headers,
            body,
            peer: self.slot.peer,
            hang_up: HangUp(Arc::clone(&self.slot.stream)),
        };
        // A handler that panics may leave its own data half changed; the edge's is not touched by it.
        let outcome = catch_unwind(AssertUnwindSafe(|| (found.route.handler)(&request)));
        Ok(match outcome {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => error.into(),
            Err(panic) => {
                let Request { method, path, .. } = &request;
                log::error!(
                    "handler failed method={method} path={path:?} reason={:?}",
                    panic_text(panic.as_ref())
                );
                Error::internal("The server failed at this request; its log says how").into()
            }
        })
    }

    fn read_body(&mut self, head: &Head) -> Result<Vec<u8>, Failure> {
        let limits = &self.shared.limits;
        let mut body = Vec::new();
        if head.framing == Framing::Empty {
            return Ok(body);
        }
        // A client that has begun to send does not wait any more (RFC 9110 §10.1.1).
        if head.expect == Expect::Continue && self.wire.buffered().is_empty() {
            self.wire
                .send(b"HTTP/1.1 100 Continue\r\n\r\n", &[], limits.write)
                .map_err(|_| Failure::Gone)?;
        }
        let deadline = Instant::now() + limits.body;
        match head.framing {
            Framing::Sized(length) => {
                let length = usize::try_from(length).map_err(|_| too_large())?;
                self.wire
                    .read_sized(length, deadline, &mut body)
                    .map_err(|error| unread("body", limits.body, &error))?;
            }
            _ => self.read_chunked(deadline, &mut body)?,
        }
        Ok(body)
    }

    fn read_chunked(&mut self, deadline: Instant, body: &mut Vec<u8>) -> Result<(), Failure> {
        let limits = &self.shared.limits;
        let mut decoder = Chunked::new(limits.body_bytes);
        loop {
            let taken = decoder.decode(self.wire.buffered(), body)?;
            self.wire.consume(taken);
            if decoder.is_done() {
                return Ok(());
            }
            match self.wire.fill(deadline) {
                Ok(0) => return Err(ended_early()),
                Ok(_) => {}
                Err(error) => return Err(unread("body", limits.body, &error)),
            }
        }
    }

    /// Sends `response`, without its body if `is_head`.
    fn send(
        &mut self,
        response: &Response,
        is_head: bool,
        connection: Option<&str>,
    ) -> io::Result<()> {
        self.out.clear();
        response.write_head(&mut self.out, connection, End::Length);
        let body = match is_head || !response.has_body() {
            true => &[],
            false => response.body.as_slice(),
        };
        self.wire.send(&self.out, body, self.shared.limits.write)
    }

    /// Sends the head of an event stream and lets its handler write the body; false if the connection
    /// is of no more use.
    fn stream(
        &mut self,
        head: &Response,
        events: Events,
        connection: Option<&str>,
        end: End,
    ) -> Result<bool, Failure> {
        let limit = self.shared.limits.write;
        self.out.clear();
        head.write_head(&mut self.out, connection, end);
        self.wire
            .send(&self.out, &[], limit)
            .map_err(|_| Failure::Gone)?;
        let Slot { stream, peer, .. } = self.slot;
        let mut stream =
            EventStream::open(stream, *peer, end == End::Chunks, limit, events.keep_alive);
        let outcome = catch_unwind(AssertUnwindSafe(|| (events.run)(&mut stream)));
        if let Err(panic) = outcome {
            // An end in the middle of the body tells the client that it is not whole.
            let reason = panic_text(panic.as_ref());
            log::error!("handler of an event stream failed reason={reason:?}");
            return Err(Failure::Gone);
        }
        Ok(stream.close())
    }

    fn body_limit(&self) -> u64 {
        self.shared.limits.body_bytes as u64
    }
}

struct Found<'a> {
    resource: &'a Resource,
    route: &'a Route,
}

/// Any page may call, with any method and any header: what it needs is the key (Fetch, CORS protocol).
fn preflight() -> Response {
    Response::empty(200)
        .header("Access-Control-Allow-Methods", "*")
        .header("Access-Control-Allow-Headers", "*")
}

fn ended_early() -> Failure {
    Error::bad_request("The connection ended in the middle of the request").into()
}

fn unread(part: &str, limit: Duration, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::TimedOut => Error::new(
            408,
            format!("The {part} of the request did not arrive within {limit:?}"),
        )
        .into(),
        ErrorKind::UnexpectedEof => ended_early(),
        _ => Failure::Gone,
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without words")
}
