//! Fuzz targets of the HTTP server: heads, chunked bodies, JSON bodies.

use super::chunked::ChunkedDecoder;
use super::request_head::{self, Framing, Head, HeadScanner};
use super::router::Access;
use super::{AccessControl, Limits, Method, Response, Router, json_body, request};
use crate::text::fuzz_input::depth_of;
use crate::text::fuzz_input::{cuts, parts};
use serde::Deserialize;
use serde_json::Value;
use std::ops::Range;

/// The scanner finds the same head wherever the input is split, and parses it unambiguously.
pub fn head(input: &[u8]) {
    // Small limits, so that inputs reach them.
    let limits = Limits {
        max_head_bytes: 2 << 10,
        max_headers: 12,
        ..Limits::default()
    };
    let found = cuts(input).map(|pieces| scan(&pieces, &limits));
    assert_eq!(found[0], found[1], "cut once");
    assert_eq!(found[0], found[2], "cut often");
    let Ok(Some(range)) = &found[0] else { return };
    // The range includes the final empty line.
    assert!(range.len() <= limits.max_head_bytes + 2);
    let bytes = &input[range.clone()];
    let Ok(head) = request_head::parse(bytes) else {
        return;
    };
    framing_is_beyond_doubt(bytes, &head);
    target_is_safe(&head);
    if let Some(text) = written(bytes, &head) {
        let again =
            request_head::parse(text.as_bytes()).expect("what was read can be written and read");
        assert_eq!(again.path, head.path);
        assert_eq!(again.query, head.query);
        assert_eq!(again.framing, head.framing);
        assert_eq!(again.expect, head.expect);
        assert_eq!(again.keep_alive, head.keep_alive);
    }
}

fn scan(pieces: &[&[u8]], limits: &Limits) -> Result<Option<Range<usize>>, u16> {
    let mut scan = HeadScanner::default();
    let mut arrived = Vec::new();
    for piece in pieces {
        arrived.extend_from_slice(piece);
        let found = scan.advance(&arrived, limits);
        match found.map_err(|error| error.status.0)? {
            None => {}
            found => return Ok(found),
        }
    }
    Ok(None)
}

/// The fields of a head, parsed independently: names in lower case, values trimmed.
fn fields(head: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(head);
    let lines = text.split("\r\n").skip(1).filter(|line| !line.is_empty());
    let field = |line: &str| {
        let (name, value) = line.split_once(':').expect("a field has a colon");
        let value = value.trim_matches([' ', '\t']);
        (name.to_ascii_lowercase(), value.to_owned())
    };
    lines.map(field).collect()
}

fn framing_is_beyond_doubt(bytes: &[u8], head: &Head) {
    // Empty lines may precede the request line.
    let start = bytes.iter().position(|byte| !b"\r\n".contains(byte));
    let fields = fields(&bytes[start.unwrap_or(0)..]);
    let of = |name: &str| -> Vec<&str> {
        let named = fields.iter().filter(|(known, _)| known == name);
        named.map(|(_, value)| value.as_str()).collect()
    };
    let lengths = of("content-length");
    let codings = of("transfer-encoding");
    match head.framing {
        Framing::Empty => {
            assert!(codings.is_empty());
            assert!(lengths.is_empty() || lengths.len() == 1 && lengths[0].parse() == Ok(0_u64));
        }
        Framing::Sized(length) => {
            assert!(codings.is_empty() && lengths.len() == 1);
            assert_eq!(lengths[0].parse(), Ok(length));
        }
        Framing::Chunked => {
            assert!(lengths.is_empty() && codings.len() == 1);
            let members: Vec<&str> = codings[0].split(',').map(str::trim).collect();
            assert!(matches!(members[..], [one] if one.eq_ignore_ascii_case("chunked")));
        }
    }
    assert!(of("host").len() <= 1);
}

fn target_is_safe(head: &Head) {
    let path = &head.path;
    let query = head.query.as_deref().unwrap_or_default();
    assert!(path.starts_with('/') || path == "*" || head.method == Method::Connect);
    let is_safe = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    assert!(path.bytes().all(is_safe) && query.bytes().all(is_safe));
    for (name, value) in request::parse_query(query) {
        assert!(name.len() + value.len() <= 3 * query.len());
    }
    if let Some(authority) = &head.authority {
        let access_control = AccessControl::new(None, vec!["ours.example".to_owned()]);
        // Only names that any browser resolves to this server are accepted.
        if access_control.check_host(authority).is_ok() {
            let lower = authority.to_ascii_lowercase();
            let is_address = |c: char| c.is_ascii_hexdigit() || ".:[]".contains(c);
            assert!(
                lower.starts_with("localhost")
                    || lower.starts_with("ours.example")
                    || lower.chars().all(is_address),
                "{authority:?}"
            );
        }
        let _ = access_control.check_origin(&format!("http://{authority}"));
    }
    let router = Router::new()
        .get("/a/{id}/b", Access::Keyed, |_| Ok(Response::json(&())))
        .get("/status", Access::Public, |_| Ok(Response::json(&())));
    if let Some(resource) = router.find(path)
        && let Ok(params) = resource.params(path)
    {
        assert!(params.iter().all(|(_, value)| !value.is_empty()));
    }
}

/// The request serialized again, unless it has fields that the parser drops.
fn written(bytes: &[u8], head: &Head) -> Option<String> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty()).count();
    if head.headers.len() + 1 != lines || !head.path.starts_with('/') {
        return None;
    }
    let query = head.query.as_ref().map(|query| format!("?{query}"));
    let mut text = format!(
        "{} {}{} HTTP/{}\r\n",
        head.method.as_str(),
        head.path,
        query.unwrap_or_default(),
        head.version
    );
    for header in &head.headers {
        text += &format!("{header}\r\n");
    }
    Some(text + "\r\n")
}

/// The decoder returns the same body wherever the input is split, within its limit.
pub fn chunked(input: &[u8]) {
    const LIMIT: usize = 1 << 10;
    let decoded = cuts(input).map(|pieces| decode(&pieces, LIMIT));
    assert_eq!(decoded[0], decoded[1], "cut once");
    assert_eq!(decoded[0], decoded[2], "cut often");
    let Ok((body, taken, is_done)) = &decoded[0] else {
        return;
    };
    assert!(body.len() <= LIMIT && body.len() <= input.len() && *taken <= input.len());
    assert!(*is_done || *taken == input.len());
    let chunks = body.chunks(100);
    let mut again: Vec<u8> = chunks
        .flat_map(|chunk| [format!("{:X}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat())
        .collect();
    again.extend_from_slice(b"0\r\n\r\n");
    let expected = (body.clone(), again.len(), true);
    assert_eq!(decode(&[&again], LIMIT), Ok(expected));
}

/// The body, the number of bytes that belong to it, and whether it is complete.
fn decode(pieces: &[&[u8]], limit: usize) -> Result<(Vec<u8>, usize, bool), u16> {
    let mut decoder = ChunkedDecoder::new(limit);
    let mut body = Vec::new();
    let mut taken = 0;
    for piece in pieces {
        let decoded = decoder.decode(piece, &mut body);
        taken += decoded.map_err(|error| error.status.0)?;
    }
    Ok((body, taken, decoder.is_done()))
}

/// A type with the kinds of fields that API types have.
#[derive(Debug, Deserialize)]
struct Shape {
    #[allow(dead_code)]
    name: String,
    #[allow(dead_code)]
    arguments: Option<Value>,
    #[allow(dead_code)]
    #[serde(default)]
    inner: Vec<Shape>,
    #[allow(dead_code)]
    #[serde(default)]
    kind: Kind,
}

#[derive(Debug, Default, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind {
    #[default]
    None,
    #[allow(dead_code)]
    Some { id: i64 },
}

/// A JSON body is read as by any other parser, and error messages are bounded.
pub fn json_body(input: &[u8]) {
    const TYPE: Option<&str> = Some("application/json; charset=utf-8");
    let strict: Result<Value, _> = serde_json::from_slice(input);
    let read = json_body::decode::<Value>(TYPE, input);
    match (&strict, &read) {
        (_, Ok(read)) => {
            // Lone surrogates and numbers beyond a double are replaced, and long numbers shortened.
            let mended = crate::json::sanitize_bytes(input);
            assert!(strict.is_ok() || mended.as_bytes() != input);
            assert_eq!(
                serde_json::from_str::<Value>(&mended).ok().as_ref(),
                Some(read)
            );
            // Duplicate keys: replaced values count towards the depth of the text.
            assert!(depth_of(read) <= depth(input));
        }
        (Ok(_), Err(error)) => panic!("JSON is refused: {}", error.message),
        (Err(_), Err(error)) => {
            assert!(matches!(error.status.0, 400 | 422));
            assert!(error.message.len() < 500 + 4 * input.len());
        }
    }
    if let Err(error) = json_body::decode::<Shape>(TYPE, input) {
        assert!(matches!(error.status.0, 400 | 422));
    }
    for levels in [0, 1, 2, 5, 20] {
        let is_deeper = crate::json::is_deeper_than(levels, input);
        assert_eq!(is_deeper, depth(input) > levels);
    }
    let [content_type] = parts(input).map(String::from_utf8_lossy);
    let _ = json_body::check_type(Some(&content_type));
}

/// The nesting depth of a text, computed byte by byte.
fn depth(json: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| **byte != b'"') {
                    if *byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
