//! Single HTTP requests to the server under test, with any headers and bodies, and a strict parser of event
//! streams.

use crate::findings::{Fault, ShownExchange};
use crate::mcp::transport::http::HttpOptions;
use crate::text::printable;
use gosling_outbound::{AddressCache, Target, TargetOptions, error_cause, media_type};
use serde_json::Value;
use std::io::Read;
use std::time::{Duration, Instant};
use ureq::http::header::{HeaderName, HeaderValue};
use ureq::http::{HeaderMap, Method};

/// The most bytes of a body that are read.
const MAX_BODY: usize = 1 << 20;
/// The longest text of an exchange, in characters.
const MAX_EXCERPT: usize = 300;

/// Sends requests, each on a connection of its own.
pub(crate) struct HttpProbe {
    target: Target,
    timeout: Duration,
    /// Whether the server is on this machine.
    pub(crate) is_local: bool,
}

/// A response.
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) media_type: String,
    pub(crate) body: Vec<u8>,
    pub(crate) exchange: ShownExchange,
}

impl HttpReply {
    /// The value of a header, if it is visible ASCII.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The status and media type, in words.
    pub(crate) fn describe(&self) -> String {
        match self.media_type.as_str() {
            "" => format!("HTTP {}", self.status),
            media_type => format!("HTTP {} with {}", self.status, printable(media_type, 60)),
        }
    }

    /// The response as what is wrong: that `what` got it.
    pub(crate) fn fault(&self, what: &str) -> Fault {
        let detail = format!("{what} got {}", self.describe());
        (detail, self.exchange.clone())
    }

    /// The messages of the body, and the first violation of the format of event streams.
    pub(crate) fn messages(&self) -> (Vec<Value>, Option<String>) {
        if self.media_type == "text/event-stream" {
            let (events, fault) = events(&self.body);
            let messages = events
                .iter()
                .filter_map(|data| crate::text::json::from_str(data).ok());
            (messages.collect(), fault)
        } else {
            let message = crate::text::json::from_slice(&self.body).ok();
            (message.into_iter().collect(), None)
        }
    }
}

impl HttpProbe {
    /// A probe of the server with these options.
    ///
    /// # Errors
    /// The options are invalid.
    pub(crate) fn new(options: &HttpOptions, timeout: Duration) -> Result<Self, String> {
        let target = TargetOptions {
            uri: &options.uri,
            headers: &options.headers,
            offline: options.offline,
            connect_timeout: timeout,
            read_timeout: Some(timeout),
            idle_timeout: timeout,
        };
        let is_local = gosling_outbound::is_loopback_url(&options.uri);
        Ok(HttpProbe {
            target: Target::new(&target, AddressCache::default())?,
            timeout,
            is_local,
        })
    }

    /// Sends a request. Reads the body to its end; of an event stream until an event contains `until`, and nothing
    /// if that is empty.
    ///
    /// # Errors
    /// There is no response: why, as an exchange.
    pub(crate) fn send(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
        until: &str,
    ) -> Result<HttpReply, ShownExchange> {
        let shown = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}, "));
        let sent = format!("{method} {}{body}", shown.collect::<String>());
        let sent = printable(&self.target.redact(&sent), MAX_EXCERPT);
        let failed = |reason: String| ShownExchange {
            sent: sent.clone(),
            received: printable(&self.target.redact(&reason), MAX_EXCERPT),
        };
        let pairs = headers.iter().filter_map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(value).ok()?))
        });
        let method = Method::from_bytes(method.as_bytes()).map_err(|e| failed(e.to_string()))?;
        let connection = self.target.connection();
        let deadline = Instant::now() + self.timeout;
        connection.progress.begin_request();
        connection.progress.set_read_deadline(deadline);
        connection.progress.limit_bytes(2 * MAX_BODY);
        let agent = &connection.agent;
        let outcome = if method == Method::POST {
            let request = self
                .target
                .request(method, self.target.uri(), pairs, body.to_owned());
            agent.run(request)
        } else {
            let request = self.target.request(method, self.target.uri(), pairs, ());
            agent.run(request)
        };
        let response = outcome.map_err(|error| failed(error_cause(&error)))?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let media_type = media_type(&headers);
        let is_stream = media_type == "text/event-stream";
        let mut reader = response.into_body().into_reader();
        let mut body = Vec::new();
        let mut piece = [0; 8 << 10];
        // The head of a stream that nothing is expected on is enough.
        let is_enough = is_stream && until.is_empty();
        while !is_enough && body.len() < MAX_BODY && Instant::now() < deadline {
            match reader.read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(read) => body.extend_from_slice(&piece[..read]),
            }
            if is_stream && has_event_with(&body, until) {
                // The next event may have come in part.
                body.truncate(end_of_events(&body));
                break;
            }
        }
        let text = String::from_utf8_lossy(&body);
        let received = format!("HTTP {status}, {media_type}: {text}");
        let exchange = failed(received);
        Ok(HttpReply {
            status,
            headers,
            media_type,
            body,
            exchange,
        })
    }
}

/// Whether an event that contains the text is complete.
fn has_event_with(body: &[u8], text: &str) -> bool {
    let body = String::from_utf8_lossy(body)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    body.rfind("\n\n")
        .is_some_and(|end| body[..end].contains(text))
}

/// Where the last complete event ends.
fn end_of_events(body: &[u8]) -> usize {
    let ends = [&b"\n\n"[..], b"\r\r", b"\r\n\r\n"].into_iter();
    let ends =
        ends.filter_map(|end| Some(body.windows(end.len()).rposition(|it| it == end)? + end.len()));
    ends.max().unwrap_or(body.len())
}

/// The data of the events, and the first violation of the format: HTML Living Standard §9.2.6, and MCP
/// 2025-11-25, basic/transports: one message in each event.
pub(crate) fn events(body: &[u8]) -> (Vec<String>, Option<String>) {
    let mut fault = None;
    let mut note = |what: String| {
        fault.get_or_insert(what);
    };
    if std::str::from_utf8(body).is_err() {
        note("the stream is not UTF-8".to_owned());
    }
    let text = String::from_utf8_lossy(body)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut events = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    let mut has_fields = false;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else {
            // The connection was closed in the middle of a line.
            break;
        };
        if line.is_empty() {
            let whole = std::mem::take(&mut data).join("\n");
            has_fields = false;
            if whole.is_empty() {
                continue;
            }
            if crate::text::json::from_str::<Value>(&whole).is_err() {
                let shown = printable(&whole, 60);
                note(format!("the data of an event is not one message: {shown}"));
            }
            events.push(whole);
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        has_fields = true;
        match field {
            "" | "event" | "id" => {}
            "data" => data.push(value),
            "retry" => {
                if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
                    note("`retry` is not a number".to_owned());
                }
            }
            _ => note(format!(
                "a line has the unknown field {:?}",
                printable(field, 40)
            )),
        }
    }
    if has_fields && !data.is_empty() {
        note("the stream ends without the empty line after its last event".to_owned());
    }
    (events, fault)
}

#[cfg(test)]
mod tests;
