//! The thread of one connection: reads requests and sends responses.

use super::chunked::{ChunkedDecoder, too_large};
use super::connections::SharedConnection;
use super::request::{find_header, find_headers, parse_query};
use super::request_head::{self, Expect, Framing, Head, HeadScanner};
use super::response::{BodyEnd, Events, Handler, Upgrade};
use super::router::{Access, Resource, Route, unknown_path};
use super::server_state::ServerState;
use super::{
    AtEnd, Credentials, Error, EventStream, HandshakeError, HangUp, Request, Response, Socket,
};
use crate::activity::Caller;
use crate::metric_counters::{METRICS, Refusal};
use crate::sys::{TimeLimit, caught};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tiny_http::Method;

/// Serves the connection until it ends.
pub(super) fn serve(shared: &ServerState, connection: &SharedConnection) {
    let handshake = match &shared.encryption {
        Some(encryption) if connection.peer.is_some() => {
            let limits = &shared.limits;
            let deadline = TimeLimit::new(limits.head_timeout).end();
            let stream = &connection.stream;
            stream.encrypt(&**encryption, deadline, limits.max_head_bytes)
        }
        _ => Ok(()),
    };
    if let Err(HandshakeError::Gone) = handshake {
        connection.stream.abort();
        return;
    }
    // Fails only if the client has disconnected.
    if let Ok(socket) = Socket::new(&connection.stream, &shared.limits) {
        let mut connection = Connection {
            shared,
            connection,
            socket,
            out: Vec::new(),
            status: 0,
        };
        match handshake {
            Ok(()) => while connection.serve_request() {},
            // It gets this without encryption.
            Err(HandshakeError::PlainHttp) => connection.refuse(Error::bad_request(
                "This port speaks https, and the request came without TLS: begin the address with https://",
            )),
            Err(_) => connection.socket.linger(),
        }
    }
    // A handler's `HangUp` may keep the socket open, but the client should see the end now.
    let _ = connection.stream.close(Shutdown::Both);
}

struct Connection<'a> {
    shared: &'a ServerState,
    connection: &'a SharedConnection,
    socket: Socket<'a>,
    /// The buffer for response heads, reused.
    out: Vec<u8>,
    /// The status that was sent last.
    status: u16,
}

/// Why no request could be read.
enum Failure {
    /// The client disconnected, or another thread closed the connection: there is no response.
    Gone,
    /// The request is refused. The connection ends, because the start of the next request is unknown.
    Refused(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(error)
    }
}

impl<'a> Connection<'a> {
    /// Reads one request and sends its response; false if the connection ends.
    fn serve_request(&mut self) -> bool {
        let mut head = match self.read_head() {
            Err(Failure::Gone) => return false,
            read => read,
        };
        let mut caller = Caller {
            front: "http",
            address: self.connection.peer,
            ..Caller::default()
        };
        let mut at_end: AtEnd = Box::new(|_, _| ());
        if let Some(ingress) = &self.shared.router.ingress {
            let refused;
            (at_end, refused) = ingress.arrives(&mut caller, head.as_mut().ok());
            head = refused.map_or(head, |error| Err(error.into()));
        }
        let before = self.socket.stream().count(0);
        self.status = 0;
        caller.asks(|| {
            let outcome = head.and_then(|head| self.answer(head));
            if let Err(Failure::Refused(error)) = &outcome {
                self.refuse(error.clone());
            }
            at_end(self.status, self.socket.stream().count(0) - before);
            outcome.unwrap_or(false)
        })
    }

    /// Sends `error`, and lets the client read it before the connection ends.
    fn refuse(&mut self, error: Error) {
        METRICS.refuse(Refusal::of_status(error.status.0));
        let mut response = error.into();
        self.shared.router.format_error(&mut response);
        let sent = self.send(&response, Some("close"), BodyEnd::Length, &response.body);
        if sent.is_ok() {
            self.socket.linger();
        }
    }

    /// Waits for a head and parses it.
    fn read_head(&mut self) -> Result<Head, Failure> {
        let limits = &self.shared.limits;
        let mut scan = HeadScanner::default();
        let mut deadline = TimeLimit::new(limits.head_timeout).end();
        // The next request may already be in the buffer.
        if !self.connection.set_reading() || self.shared.is_stopping() {
            return Err(Failure::Gone);
        }
        loop {
            if self.socket.buffered().is_empty() {
                self.wait_for_request()?;
                deadline = TimeLimit::new(limits.head_timeout).end();
            }
            if let Some(range) = scan.advance(self.socket.buffered(), limits)? {
                let end = range.end;
                let head = request_head::parse(&self.socket.buffered()[range])?;
                self.socket.consume(end);
                return Ok(head);
            }
            let length = self.socket.buffered().len();
            if scan.skip_blank(length) {
                self.socket.consume(length);
                continue;
            }
            self.fill("head", limits.head_timeout, deadline)?;
        }
    }

    /// Reads more of a `part` of the request, which must be complete at `deadline`, after `limit`.
    fn fill(&mut self, part: &str, limit: Duration, deadline: Instant) -> Result<(), Failure> {
        match self.socket.fill(deadline) {
            Ok(0) => Err(ended_early()),
            Ok(_) => Ok(()),
            Err(error) => Err(unread(part, limit, &error)),
        }
    }

    /// Marks the connection as idle and waits for the first byte of a request.
    fn wait_for_request(&mut self) -> Result<(), Failure> {
        self.socket.shrink_buffer();
        let resting = self.connection.set_idle(self.shared.age());
        if !resting || self.shared.is_stopping() {
            return Err(Failure::Gone);
        }
        let deadline = TimeLimit::new(self.shared.limits.idle_timeout).end();
        match self.socket.fill(deadline) {
            Ok(1..) if self.connection.set_reading() => Ok(()),
            _ => Err(Failure::Gone),
        }
    }

    /// Handles the request that `head` begins; false if the connection ends with it.
    fn answer(&mut self, mut head: Head) -> Result<bool, Failure> {
        let is_head = head.method == Method::Head;
        let keep_alive = head.keep_alive;
        let http_1_0 = head.version == (1, 0);
        if http_1_0 {
            // RFC 9110 §7.8.
            head.headers.retain(|header| !header.field.equiv("Upgrade"));
        }
        let (mut response, unread_body) = match self.find_route(&head) {
            Ok(found) => (self.call(found, head)?, false),
            Err(response) => {
                if let 401 | 403 | 500 = response.status.0 {
                    let subject = format!("{} {}", head.method, head.path);
                    self.shared.router.note("refused", &subject, &response);
                }
                if response.status.0 >= 400 {
                    METRICS.refuse(Refusal::of_status(response.status.0));
                }
                (response, head.framing != Framing::Empty)
            }
        };
        self.shared.router.format_error(&mut response);
        let events = match response.handler.take() {
            Some(Handler::Upgrade(upgrade)) => return self.upgrade(&response, upgrade),
            Some(Handler::Events(events)) if !is_head => Some(events),
            Some(Handler::Events(_)) | None => None,
        };
        let end = match events {
            None => BodyEnd::Length,
            Some(_) if http_1_0 => BodyEnd::Close,
            Some(_) => BodyEnd::Chunks,
        };
        let keeps_open =
            keep_alive && end != BodyEnd::Close && !unread_body && !self.shared.is_stopping();
        let connection = if !keeps_open {
            Some("close")
        } else if http_1_0 {
            Some("keep-alive")
        } else {
            None
        };
        if let Some(events) = events {
            return Ok(self.stream(&response, events, connection, end)? && keeps_open);
        }
        let body = match &*response.body {
            body if !is_head && response.has_body() => body,
            _ => &[],
        };
        self.send(&response, connection, BodyEnd::Length, body)?;
        if !keeps_open && (unread_body || !self.socket.buffered().is_empty()) {
            self.socket.linger();
        }
        Ok(keeps_open)
    }

    /// Authorizes the request and selects its route, from the head alone. The order of the checks is part of
    /// the contract: a client without the key must not learn which paths exist.
    fn find_route(&self, head: &Head) -> Result<RouteMatch<'a>, Response> {
        let resource = self.shared.router.find(&head.path);
        let access = resource.map_or(Access::Keyed, |resource| resource.access(&head.method));
        self.check_sender(head, access)?;
        let is_options = head.method == Method::Options;
        if is_options && find_header(&head.headers, "Access-Control-Request-Method").is_some() {
            return Err(preflight());
        }
        self.authorize(head, access, resource)?;
        if is_options && head.path == "*" {
            return Err(Response::empty(200));
        }
        let Some(resource) = resource else {
            return Err(unknown_path(&head.path).into());
        };
        let Some(route) = resource.route(&head.method) else {
            return Err(resource.unknown_method(&head.path, &head.method).into());
        };
        if access < Access::Keyed && head.framing != Framing::Empty {
            let message = format!("{} takes no body: send none", head.path);
            return Err(Error::new(413, message).into());
        }
        let most = self.shared.limits.max_body_bytes as u64;
        if matches!(head.framing, Framing::Sized(length) if length > most) {
            return Err(too_large().into());
        }
        if head.expect == Expect::Unknown {
            let message = "This server meets no expectation but `100-continue`";
            return Err(Error::new(417, message).into());
        }
        let router = &self.shared.router;
        if access > Access::Keyless {
            router.of_client(|keys, name| keys.permit(name, &resource.operation(route)))?;
        }
        Ok(RouteMatch { resource, route })
    }

    /// Checks for which host the request is meant and which page sends it, where access is not public.
    fn check_sender(&self, head: &Head, access: Access) -> Result<(), Error> {
        if access == Access::Public {
            return Ok(());
        }
        let access_control = &self.shared.access_control;
        if let Some(authority) = &head.authority {
            access_control.check_host(authority)?;
        }
        let mut origins = find_headers(&head.headers, "Origin");
        origins.try_for_each(|origin| access_control.check_origin(origin))
    }

    /// Finds out who sends the request, where that matters.
    fn authorize(
        &self,
        head: &Head,
        access: Access,
        resource: Option<&Resource>,
    ) -> Result<(), Error> {
        let access_control = &self.shared.access_control;
        if access > Access::Keyless {
            let caller = Caller::current();
            let credentials = Credentials {
                method: &head.method,
                path: &head.path,
                headers: &head.headers,
                peer: caller.address,
                query: head.query.as_deref(),
                access,
                resource,
                connection: &self.connection.stream,
            };
            let keys = self.shared.router.keys();
            let what = format_args!("authentication path={:?}", head.path);
            let client = caught(what, || access_control.authenticate(&credentials, keys));
            let client = client.unwrap_or_else(|_| {
                Err(Error::internal(
                    "The server could not find out who you are; its log says why",
                ))
            })?;
            let _ = caller.key.set(client.name);
            client.rights.map(|rights| caller.rights.set(rights));
        }
        if access < Access::TokenKeyed {
            return Ok(());
        }
        self.connection.set_authenticated();
        if access == Access::TokenKeyed {
            let mut origins = find_headers(&head.headers, "Origin");
            origins.try_for_each(|origin| access_control.check_page_origin(origin))?;
        }
        Ok(())
    }

    /// Reads the body and calls the handler.
    fn call(&mut self, found: RouteMatch<'_>, head: Head) -> Result<Response, Failure> {
        let params = found.resource.params(&head.path);
        let body = self.read_body(&head)?;
        let params = match params {
            Ok(params) => params,
            Err(error) => return Ok(error.into()),
        };
        if !self.connection.set_handling() {
            return Err(Failure::Gone);
        }
        let request = Request {
            method: head.method,
            path: head.path,
            params,
            query: head.query.as_deref().map(parse_query).unwrap_or_default(),
            headers: head.headers,
            body,
            hang_up: HangUp::of_socket(&self.connection.stream),
            router: Arc::clone(&self.shared.router),
        };
        METRICS.requests.add(1);
        let Request { method, path, .. } = &request;
        let router = &self.shared.router;
        let subject = match method {
            Method::Get | Method::Head => None,
            method => Some(format!("{method} {path}")),
        };
        let permitted = router.of_client(|keys, name| {
            let operation = found.resource.operation(found.route);
            let params = request
                .params
                .iter()
                .map(|(name, value)| (&**name, &**value));
            let pairs = request.query.iter();
            let pairs = pairs.map(|(name, value)| (&**name, &**value));
            let parameters: Vec<_> = params.chain(pairs).collect();
            keys.permit_request(name, &operation, &parameters, &request.body)
        });
        let operation = || found.resource.operation(found.route);
        if let Err(error) = permitted.and_then(|()| router.check(operation)) {
            let response = error.into();
            let subject = format!("{method} {path}");
            router.note("refused", &subject, &response);
            return Ok(response);
        }
        let begun = match subject.as_deref().map(|it| router.begin(it)).transpose() {
            Ok(begun) => begun.flatten(),
            Err(error) => return Ok(error.into()),
        };
        let what = format_args!("handler method={method} path={path:?}");
        let mut response = match caught(what, || (found.route.handler)(&request)) {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => error.into(),
            Err(_) => Error::internal("The server failed at this request; its log says how").into(),
        };
        router.redact(&mut response);
        match (begun, &subject) {
            (Some(begun), _) => begun.end(&response.status.0.to_string(), "", None),
            (None, Some(subject)) => router.note("request", subject, &response),
            (None, None) => {}
        }
        Ok(response)
    }

    fn read_body(&mut self, head: &Head) -> Result<Vec<u8>, Failure> {
        let limits = &self.shared.limits;
        let mut body = Vec::new();
        if head.framing == Framing::Empty {
            return Ok(body);
        }
        // A client that has begun to send the body does not wait for 100 (RFC 9110 §10.1.1).
        if head.expect == Expect::Continue && self.socket.buffered().is_empty() {
            self.socket
                .send(b"HTTP/1.1 100 Continue\r\n\r\n", &[])
                .map_err(|_| self.unsent())?;
        }
        let deadline = TimeLimit::new(limits.body_timeout).end();
        match head.framing {
            Framing::Sized(length) => {
                let length = usize::try_from(length).map_err(|_| too_large())?;
                self.socket
                    .read_sized(length, deadline, &mut body)
                    .map_err(|error| unread("body", limits.body_timeout, &error))?;
            }
            _ => self.read_chunked(deadline, &mut body)?,
        }
        Ok(body)
    }

    fn read_chunked(&mut self, deadline: Instant, body: &mut Vec<u8>) -> Result<(), Failure> {
        let limits = &self.shared.limits;
        let mut decoder = ChunkedDecoder::new(limits.max_body_bytes);
        loop {
            let taken = decoder.decode(self.socket.buffered(), body)?;
            self.socket.consume(taken);
            if decoder.is_done() {
                return Ok(());
            }
            self.fill("body", limits.body_timeout, deadline)?;
        }
    }

    /// Sends the head of `response`, then `body`.
    fn send(
        &mut self,
        response: &Response,
        connection: Option<&str>,
        end: BodyEnd,
        body: &[u8],
    ) -> Result<(), Failure> {
        self.status = response.status.0;
        self.out.clear();
        response.write_head(&mut self.out, connection, end);
        let sent = self.socket.send(&self.out, body);
        sent.map_err(|_| self.unsent())
    }

    /// Sends the head of an event stream and runs its handler, which writes the body; false if the connection
    /// cannot be reused.
    fn stream(
        &mut self,
        head: &Response,
        events: Events,
        connection: Option<&str>,
        end: BodyEnd,
    ) -> Result<bool, Failure> {
        self.send(head, connection, end, &[])?;
        let SharedConnection { stream, peer, .. } = self.connection;
        let mut stream = EventStream::open(
            stream,
            *peer,
            end == BodyEnd::Chunks,
            self.shared.limits.write_timeout,
            events.keep_alive,
        );
        if caught("handler of an event stream", || (events.run)(&mut stream)).is_err() {
            // The missing final chunk tells the client that the body is incomplete.
            drop(stream);
            self.connection.stream.abort();
            return Err(Failure::Gone);
        }
        Ok(stream.close())
    }

    /// Sends the head of the response that changes the protocol, and runs its handler; the connection ends with it.
    fn upgrade(&mut self, head: &Response, run: Upgrade) -> Result<bool, Failure> {
        self.send(head, Some("Upgrade"), BodyEnd::Length, &[])?;
        if caught("handler of an upgrade", || run(&mut self.socket)).is_ok() {
            self.socket.linger();
        }
        Ok(false)
    }

    /// Breaks the connection after a response could not be sent whole. With TLS, an orderly end would tell the
    /// client that it was.
    fn unsent(&self) -> Failure {
        self.connection.stream.abort();
        Failure::Gone
    }
}

struct RouteMatch<'a> {
    resource: &'a Resource,
    route: &'a Route,
}

/// Allows every page to call with any method and header: access depends on the key (Fetch, CORS protocol).
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
