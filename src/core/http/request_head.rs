//! The parser of request heads, without I/O: where the head ends, method, target, fields, framing of the body.

use super::{Error, Limits};
use crate::text::after_http_scheme;
use std::ops::Range;
use std::str::FromStr;
use tiny_http::{HTTPVersion, Header, Method};

/// Number of empty lines before a request line that are skipped (RFC 9112 §2.2).
const BLANK_LINES: usize = 2;
/// Number of digits of a `Content-Length` that always fit into 64 bits.
const LENGTH_DIGITS: usize = 19;

/// A parsed request line with its header fields.
#[derive(Debug)]
pub struct Head {
    /// The method.
    pub method: Method,
    /// The path of the target, percent-encoded; `*` for `OPTIONS *`, empty for `CONNECT`.
    pub path: String,
    /// The part of the target after `?`.
    pub query: Option<String>,
    /// The `host[:port]` of the target or, if it has none, of the `Host` field.
    pub authority: Option<String>,
    /// The header fields in order, without those that contain bytes other than ASCII.
    pub headers: Vec<Header>,
    pub(super) framing: Framing,
    pub(super) expect: Expect,
    pub(super) version: HTTPVersion,
    /// Whether the connection may continue after the response (RFC 9112 §9.3).
    pub(super) keep_alive: bool,
}

/// How the body of a request is delimited (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Empty,
    Sized(u64),
    Chunked,
}

/// What the client expects before it sends the body (RFC 9110 §10.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    Nothing,
    Continue,
    Unknown,
}

/// Finds the end of a head that arrives in pieces, and refuses the first invalid byte.
#[derive(Debug, Default)]
pub(super) struct HeadScanner {
    /// Where the head begins, after empty lines.
    start: usize,
    /// The next byte to scan.
    at: usize,
    /// Where the current line begins.
    line: usize,
    /// Number of complete lines: the request line and the header fields.
    lines: usize,
    blank_lines: usize,
}

impl HeadScanner {
    /// Scans `bytes`, everything received so far. Returns the range of the head once it is complete.
    ///
    /// Fails with 400 for a line end other than CRLF, a control character or too many empty lines, with 414 for
    /// a request line and 431 for fields beyond `limits`.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<Option<Range<usize>>, Error> {
        loop {
            self.at += text_length(&bytes[self.at..]);
            if self.at - self.start > limits.max_head_bytes {
                return Err(self.too_large(limits));
            }
            match bytes[self.at..] {
                [] | [b'\r'] => return Ok(None),
                [b'\r', b'\n', ..] => {
                    let empty = self.at == self.line;
                    self.at += 2;
                    self.line = self.at;
                    if empty && self.lines > 0 {
                        return Ok(Some(self.start..self.at));
                    }
                    self.end_line(empty, limits)?;
                }
                [b'\r' | b'\n', ..] => return malformed("Lines of the head must end with CR LF"),
                _ => {
                    return malformed("The head of the request holds a control character");
                }
            }
        }
    }

    /// Whether the `length` bytes scanned so far are empty lines only. If so, resets the positions, but not the
    /// count of empty lines.
    pub(super) fn skip_blank(&mut self, length: usize) -> bool {
        let blank = length > 0 && self.start == length;
        if blank {
            (self.start, self.at, self.line) = (0, 0, 0);
        }
        blank
    }

    fn end_line(&mut self, empty: bool, limits: &Limits) -> Result<(), Error> {
        if !empty {
            self.lines += 1;
            // One line is the request line.
            if self.lines - 1 > limits.max_headers {
                let most = limits.max_headers;
                let message = format!("The request has more than {most} header fields");
                return Err(Error::new(431, message));
            }
            return Ok(());
        }
        self.start = self.at;
        self.blank_lines += 1;
        if self.blank_lines > BLANK_LINES {
            return malformed("Empty lines arrived in place of a request");
        }
        Ok(())
    }

    fn too_large(&self, limits: &Limits) -> Error {
        let (status, what) = match self.lines {
            0 => (414, "request line"),
            _ => (431, "head of the request"),
        };
        Error::new(
            status,
            format!("The {what} exceeds {} bytes", limits.max_head_bytes),
        )
    }
}

/// The number of bytes before the first line end or control character.
fn text_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    for &byte in bytes {
        if byte < b' ' && byte != b'\t' || byte == 0x7f {
            break;
        }
        length += 1;
    }
    length
}

/// Parses a complete head that [`HeadScanner`] found, with its final empty line.
///
/// Fails with 400 for invalid HTTP, 501 for a transfer coding other than `chunked`, 505 for a version other
/// than 1.0 and 1.1.
pub(super) fn parse(bytes: &[u8]) -> Result<Head, Error> {
    let mut lines = 0;
    for &byte in bytes {
        lines += usize::from(byte == b'\n');
    }
    let mut fields = vec![httparse::EMPTY_HEADER; lines];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => {
            return malformed("The head of the request is not HTTP/1.1");
        }
        Err(httparse::Error::Version) if has_version(bytes) => {
            return Err(Error::new(505, "Use HTTP/1.1: this server speaks no other"));
        }
        Err(error) => {
            return malformed(&format!("The head of the request is not HTTP/1.1: {error}"));
        }
    }
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version)
    else {
        return malformed("The request line is not complete");
    };
    let version = HTTPVersion(1, minor);
    let fields = Fields(parsed.headers);
    let method = Method::from_str(method)
        .map_err(|()| Error::bad_request("The method of the request is not ASCII"))?;
    let host = host(fields, &version)?;
    let target = target_of(&method, target)?;
    Ok(Head {
        path: target.path.to_string(),
        query: target.query.map(str::to_string),
        authority: target.authority.or(host).map(str::to_string),
        framing: framing(fields, &version)?,
        expect: expect(fields, &version),
        keep_alive: keep_alive(fields, &version),
        headers: fields.ascii(),
        method,
        version,
    })
}

#[derive(Clone, Copy)]
struct Fields<'a>(&'a [httparse::Header<'a>]);

impl<'a> Fields<'a> {
    /// The values of every field `name`, in order.
    fn all(self, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
        self.0
            .iter()
            .filter(move |field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value)
    }

    /// The members of the comma-separated lists in every field `name` (RFC 9110 §5.6.1).
    fn members(self, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
        self.all(name)
            .flat_map(|value| value.split(|&byte| byte == b','))
            .map(<[u8]>::trim_ascii)
    }

    fn has_member(self, name: &'static str, member: &str) -> bool {
        self.members(name)
            .any(|found| found.eq_ignore_ascii_case(member.as_bytes()))
    }

    fn ascii(self) -> Vec<Header> {
        self.0
            .iter()
            .filter_map(|field| Header::from_bytes(field.name, field.value).ok())
            .collect()
    }
}

struct Target<'a> {
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

/// The four forms of a request target (RFC 9112 §3.2).
fn target_of<'a>(method: &Method, target: &'a str) -> Result<Target<'a>, Error> {
    let whole = |authority, path| Target {
        authority,
        path,
        query: None,
    };
    if !target
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'#')
    {
        return malformed(
            "The target of the request holds a character that must be percent-encoded",
        );
    }
    if *method == Method::Connect {
        return Ok(whole(Some(target), ""));
    }
    if target == "*" && *method == Method::Options {
        return Ok(whole(None, target));
    }
    if target.starts_with('/') {
        return Ok(with_query(None, target));
    }
    let Some(rest) = after_http_scheme(target) else {
        return malformed(
            "The target of the request must be a path that begins with `/`, or an http URL",
        );
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    Ok(with_query(Some(authority), path))
}

fn with_query<'a>(authority: Option<&'a str>, target: &'a str) -> Target<'a> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    Target {
        authority,
        path: if path.is_empty() { "/" } else { path },
        query,
    }
}

/// The `Host` field: exactly one in HTTP/1.1 (RFC 9112 §3.2).
fn host<'a>(fields: Fields<'a>, version: &HTTPVersion) -> Result<Option<&'a str>, Error> {
    let mut hosts = fields.all("Host");
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => std::str::from_utf8(host)
            .map(Some)
            .map_err(|_| Error::bad_request("The `Host` of the request is not text")),
        (None, _) if *version == (1, 0) => Ok(None),
        (None, _) => malformed("Send a `Host` header: HTTP/1.1 needs it"),
        (Some(_), Some(_)) => malformed("Send one `Host` header, not several"),
    }
}

/// How the body is delimited (RFC 9112 §6.3). Anything that two parties could interpret differently is an
/// error.
///
/// A request with neither field has no body, so the server never answers 411.
fn framing(fields: Fields<'_>, version: &HTTPVersion) -> Result<Framing, Error> {
    let mut lengths = fields.all("Content-Length");
    let length = lengths.next();
    if lengths.next().is_some() {
        return malformed("Send one `Content-Length`, not several");
    }
    if fields.all("Transfer-Encoding").next().is_some() {
        if length.is_some() {
            return malformed("Send either `Content-Length` or `Transfer-Encoding`, not both");
        }
        return transfer_coding(fields, version);
    }
    let Some(length) = length else {
        return Ok(Framing::Empty);
    };
    if length.is_empty() || length.len() > LENGTH_DIGITS || !length.iter().all(u8::is_ascii_digit) {
        return malformed("`Content-Length` must be one decimal number of at most 19 digits");
    }
    let number = |sum, digit: &u8| sum * 10 + u64::from(digit - b'0');
    Ok(match length.iter().fold(0, number) {
        0 => Framing::Empty,
        length => Framing::Sized(length),
    })
}

/// Accepts `chunked` only. Other codings before a final `chunked` get 501 (RFC 9112 §6.1). Without a final
/// `chunked` the end of the body is unknown, and HTTP/1.0 has no transfer codings: 400 (§6.3).
fn transfer_coding(fields: Fields<'_>, version: &HTTPVersion) -> Result<Framing, Error> {
    if *version == (1, 0) {
        return malformed("HTTP/1.0 has no `Transfer-Encoding`: send a `Content-Length`");
    }
    let codings: Vec<&[u8]> = fields.members("Transfer-Encoding").collect();
    let chunked = |coding: &&[u8]| coding.eq_ignore_ascii_case(b"chunked");
    match codings.split_last() {
        Some((last, [])) if chunked(last) => Ok(Framing::Chunked),
        Some((last, others)) if chunked(last) && !others.iter().any(chunked) => Err(Error::new(
            501,
            "This server understands no transfer coding but `chunked`",
        )),
        _ => malformed("`Transfer-Encoding` must be `chunked`, once"),
    }
}

/// HTTP/1.0 clients cannot wait for 100, so their expectation is ignored (RFC 9110 §10.1.1).
fn expect(fields: Fields<'_>, version: &HTTPVersion) -> Expect {
    let mut expectations = fields.members("Expect").peekable();
    if *version == (1, 0) || expectations.peek().is_none() {
        Expect::Nothing
    } else if expectations.all(|what| what.eq_ignore_ascii_case(b"100-continue")) {
        Expect::Continue
    } else {
        Expect::Unknown
    }
}

fn keep_alive(fields: Fields<'_>, version: &HTTPVersion) -> bool {
    let asked = *version != (1, 0) || fields.has_member("Connection", "keep-alive");
    asked && !fields.has_member("Connection", "close")
}

/// Whether the request line is complete, so that only its version number is unsupported.
fn has_version(bytes: &[u8]) -> bool {
    let line = bytes.split(|&byte| byte == b'\r').next().unwrap_or(bytes);
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    matches!(words[..], [_, _, [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]]
        if major.is_ascii_digit() && minor.is_ascii_digit())
}

fn malformed<T>(reason: &str) -> Result<T, Error> {
    Err(Error::bad_request(reason))
}

#[cfg(test)]
mod tests;
