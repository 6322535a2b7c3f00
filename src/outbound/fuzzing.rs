//! Fuzz targets for responses of servers: event streams and header fields.

use super::sse::{Decoder, TooLong};
use super::{error_text, redirect, retry_after};
use gosling_text::fuzz_input::Target;
#[cfg(test)]
use gosling_text::fuzz_input::check_seeds;
use gosling_text::fuzz_input::{cuts, texts};
use std::time::{Duration, SystemTime};
use ureq::http::{HeaderMap, HeaderValue, Uri, header};

/// The targets.
pub const TARGETS: &[Target] = &[Target::new("sse", sse, 100)];

#[cfg(test)]
#[test]
fn seeds_hold_the_properties_of_their_targets() {
    check_seeds(TARGETS);
}

const LIMIT: usize = 1 << 10;

/// Decoding an event stream gives the same events for every split, and the same as a simpler decoder.
pub fn sse(input: &[u8]) {
    let read = cuts(input).map(|pieces| read(Decoder::new(LIMIT), &pieces));
    assert_eq!(read[0], read[1], "cut once");
    assert_eq!(read[0], read[2], "cut often");
    let [Read { events, ended, .. }, ..] = &read;
    assert!(
        events
            .iter()
            .all(|data| !data.is_empty() && data.len() <= LIMIT)
    );
    if ended.is_ok() && input.len() <= LIMIT {
        assert_eq!(*events, decode_simply(input));
    }
    let any = self::read(Decoder::new(LIMIT).of_any_type(), &[input]);
    assert!(any.events.len() >= events.len());
    check_reconnect(input, events);
}

#[derive(Debug, PartialEq)]
struct Read {
    events: Vec<Vec<u8>>,
    last_id: Option<String>,
    retry: Option<Duration>,
    ended: Result<(), TooLong>,
}

fn read(mut decoder: Decoder, pieces: &[&[u8]]) -> Read {
    let mut events = Vec::new();
    let mut push = |piece: &&[u8]| decoder.push(piece, |data| events.push(data.to_vec()));
    let ended = pieces.iter().try_for_each(&mut push);
    assert_eq!(decoder.delivered(), events.len() as u64);
    Read {
        events,
        last_id: decoder.last_id().map(str::to_owned),
        retry: decoder.retry(),
        ended,
    }
}

/// The data of message events, by a decoder that has the whole stream at once.
fn decode_simply(input: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut bytes = input.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if_eq(&&b'\n');
                lines.push(Vec::new());
            }
            b'\n' => lines.push(Vec::new()),
            byte => lines.last_mut().expect("there is one").push(*byte),
        }
    }
    lines.pop();
    if let Some(first) = lines.first_mut()
        && first.starts_with(b"\xef\xbb\xbf")
    {
        first.drain(..3);
    }
    let (mut events, mut data, mut is_message) = (Vec::new(), Vec::<Vec<u8>>::new(), true);
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => data.push(value.to_vec()),
            b"event" => is_message = value.is_empty() || value == b"message",
            _ if line.is_empty() => {
                let whole = std::mem::take(&mut data).join(&b'\n');
                if std::mem::replace(&mut is_message, true) && !whole.is_empty() {
                    events.push(whole);
                }
            }
            _ => {}
        }
    }
    events
}

/// A connection that breaks loses the incomplete event and nothing else.
fn check_reconnect(input: &[u8], whole: &[Vec<u8>]) {
    let (before, _) = input.split_at(input.len() / 2);
    let (mut decoder, mut events) = (Decoder::new(LIMIT), Vec::new());
    if decoder
        .push(before, |data| events.push(data.to_vec()))
        .is_err()
    {
        return;
    }
    assert!(whole.starts_with(&events));
    let (last_id, retry) = (decoder.last_id().map(str::to_owned), decoder.retry());
    decoder.reconnected();
    let count = events.len();
    let pushed = decoder.push(b"data: again\n\n", |data| events.push(data.to_vec()));
    assert_eq!(
        (pushed, &events[count..]),
        (Ok(()), &[b"again".to_vec()][..])
    );
    assert_eq!(
        (decoder.last_id(), decoder.retry()),
        (last_id.as_deref(), retry)
    );
}

/// Header fields that tell the client what to do next, and the text of an error response, which is returned.
pub fn response_head(input: &[u8]) -> String {
    let [text, location] = texts(input);
    let words = error_text::error_message(input);
    assert!(words.chars().count() <= 5_010);
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 31);
        headers.insert(header::RETRY_AFTER, value.clone());
        let _ = retry_after(&headers, now);
        headers.insert("retry-after-ms", value);
        let _ = retry_after(&headers, now);
    }
    check_redirect(&location);
    words
}

/// A redirect leads to `http` or `https`, and a redirect to a path stays on the server.
fn check_redirect(location: &str) {
    let base: Uri = "https://h:444/a/b?c".parse().expect("a URI");
    let Some(to) = redirect::resolve(&base, location.as_bytes()) else {
        return;
    };
    assert!(matches!(to.scheme_str(), Some("http" | "https")));
    let path = location.trim();
    if !path.starts_with("//")
        && !path
            .split(['/', '?', '#'])
            .next()
            .unwrap_or("")
            .contains(':')
    {
        assert!(redirect::is_same_origin(&base, &to), "{to}");
        assert!(!to.path().split('/').any(|part| part == ".."), "{to}");
    }
    if redirect::is_same_origin(&base, &to) {
        let host = to.host().expect("an absolute URI has a host");
        assert!(host.eq_ignore_ascii_case("h"), "{to}");
        assert_eq!(to.port_u16(), Some(444), "{to}");
    }
}
