use super::*;

struct Decoded {
    events: Vec<String>,
    id: Option<String>,
    retry: Option<Duration>,
}

fn decode(pieces: &[&[u8]]) -> Decoded {
    let mut decoder = Decoder::new(1024);
    let mut events = Vec::new();
    for piece in pieces {
        decoder
            .push(piece, |data| {
                events.push(String::from_utf8_lossy(data).into_owned());
            })
            .unwrap();
    }
    Decoded {
        events,
        id: decoder.last_id().map(str::to_owned),
        retry: decoder.retry(),
    }
}

/// Decodes in one piece, split in two at every position, and byte by byte.
fn decode_every_split(input: &[u8], check: impl Fn(Decoded)) {
    check(decode(&[input]));
    for at in 0..=input.len() {
        check(decode(&[&input[..at], &input[at..]]));
    }
    check(decode(&input.chunks(1).collect::<Vec<_>>()));
}

fn yields(input: &str, events: &[&str]) {
    decode_every_split(input.as_bytes(), |decoded| {
        assert_eq!(decoded.events, events, "{input:?}");
    });
}

#[test]
fn every_line_end_ends_a_line_wherever_the_pieces_are_cut() {
    for end in ["\n", "\r", "\r\n"] {
        let input = "data: {\"a\":1}||event: message|data: 2|id: x||data:3||".replace('|', end);
        yields(&input, &["{\"a\":1}", "2", "3"]);
    }
    yields("data: 1\r\n\rdata: 2\n\r\n\r", &["1", "2"]);
}

#[test]
fn a_stream_is_the_same_in_any_three_pieces() {
    // A stream with line ends of every kind.
    let input =
        "\u{feff}: hi\r\nid: 1\r\nretry: 20\r\ndata:\r\n\r\nevent: message\rdata: {\"a\":\rdata: \
                 \"\u{e9}\u{1f9a2}\"}\r\rid: 2\n:\ndata: z\n\n\r\n"
            .as_bytes();
    let whole = decode(&[input]);
    assert_eq!(whole.events, ["{\"a\":\n\"\u{e9}\u{1f9a2}\"}", "z"]);
    assert_eq!(whole.id.as_deref(), Some("2"));
    for first in 0..=input.len() {
        for second in first..=input.len() {
            let pieces = [&input[..first], &input[first..second], &input[second..]];
            let decoded = decode(&pieces);
            assert_eq!(decoded.events, whole.events, "{first} {second}");
            assert_eq!((decoded.id, decoded.retry), (whole.id.clone(), whole.retry));
        }
    }
}

#[test]
fn data_of_several_lines_is_joined_by_line_feeds() {
    yields("data: a\ndata:\ndata:  b\n\n", &["a\n\n b"]);
    yields("data\ndata: x\n\n", &["\nx"]);
}

#[test]
fn comments_unknown_fields_and_other_types_are_skipped() {
    yields(
        ": ping\n\nevent: endpoint\ndata: /sse\n\nfoo: bar\nDATA: no\ndata: yes\n\n",
        &["yes"],
    );
    yields(
        "event: other\nevent\ndata: back to the default\n\n",
        &["back to the default"],
    );
}

#[test]
fn events_of_every_type_are_handed_out_if_all_are_wanted() {
    let mut events = Vec::new();
    let input = b"event: error\ndata: a\n\ndata: b\n\nevent: ping\n\n";
    (Decoder::new(64).of_any_type())
        .push(input, |data| events.push(data.to_vec()))
        .unwrap();
    assert_eq!(events, [b"a", b"b"]);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_and_only_there() {
    yields(
        "\u{feff}data: 1\n\n\u{feff}data: lost\n\ndata: 2\n\n",
        &["1", "2"],
    );
}

#[test]
fn a_priming_event_delivers_nothing_but_its_id() {
    decode_every_split(b"id: 7\nretry: 500\ndata:\n\n", |decoded| {
        assert!(decoded.events.is_empty());
        assert_eq!(decoded.id.as_deref(), Some("7"));
        assert_eq!(decoded.retry, Some(Duration::from_millis(500)));
    });
}

#[test]
fn an_id_counts_when_its_event_is_complete() {
    decode_every_split(b"id: 1\ndata: a\n\nid: 2\ndata: b", |decoded| {
        assert_eq!(decoded.events, ["a"]);
        assert_eq!(decoded.id.as_deref(), Some("1"));
    });
    decode_every_split(b"id: 1\n\nid: a\0b\n\ndata: keeps the id\n\n", |decoded| {
        assert_eq!(decoded.id.as_deref(), Some("1"));
    });
    decode_every_split(b"id: 1\n\nid\n\n", |decoded| assert_eq!(decoded.id, None));
}

#[test]
fn retry_takes_digits_only() {
    for (text, millis) in [
        ("1000", Some(1000)),
        ("+5", None),
        ("5 ", None),
        ("-1", None),
        ("1.5", None),
        ("", None),
        ("99999999999999999999999", Some(u64::MAX)),
    ] {
        let decoded = decode(&[format!("retry: {text}\n\n").as_bytes()]);
        let limit = millis.map(|millis| TimeLimit::new(Duration::from_millis(millis)).get());
        assert_eq!(decoded.retry, limit, "{text:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_pass_through() {
    let mut seen = Vec::new();
    let mut decoder = Decoder::new(64);
    decoder
        .push(b"data: \xff\n\n", |data| seen.push(data.to_vec()))
        .unwrap();
    assert_eq!(seen, [b"\xff"]);
}

#[test]
fn a_line_and_an_event_are_bounded() {
    let mut decoder = Decoder::new(100);
    let full = format!("data: {}\n\n", "x".repeat(100));
    let mut length = 0;
    decoder
        .push(full.as_bytes(), |data| length = data.len())
        .unwrap();
    assert_eq!(length, 100);

    let endless_line = (0..1000).try_for_each(|_| decoder.push(b": x", |_| {}));
    assert_eq!(endless_line, Err(TooLong));

    let mut decoder = Decoder::new(100);
    let endless_event = (0..1000).try_for_each(|_| decoder.push(b"data: x\n", |_| {}));
    assert_eq!(endless_event, Err(TooLong));
}

#[test]
fn a_new_connection_forgets_the_torn_event_and_keeps_its_place() {
    let mut decoder = Decoder::new(100);
    let mut events = Vec::new();
    for piece in [
        &b"id: 3\nretry: 10\ndata: a\n\ndata: to"[..],
        b"data: b\n\n",
    ] {
        decoder
            .push(piece, |data| events.push(data.to_vec()))
            .unwrap();
        decoder.reconnected();
    }
    assert_eq!(events, [b"a", b"b"]);
    assert_eq!(decoder.last_id(), Some("3"));
    assert_eq!(decoder.retry(), Some(Duration::from_millis(10)));
}
