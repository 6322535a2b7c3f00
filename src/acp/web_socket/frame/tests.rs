use super::*;

const LIMIT: usize = 1 << 10;

/// A frame as a client sends it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [1, 2, 3, 4];
    let mut frame = Vec::new();
    encode(Opcode::Text, payload, &mut frame);
    let head = frame.len() - payload.len();
    frame[0] = first;
    frame[1] |= 0x80;
    frame.splice(head..head, mask);
    for (at, byte) in frame[head + 4..].iter_mut().enumerate() {
        *byte ^= mask[at % 4];
    }
    frame
}

/// All that the frames contain, if each piece of the given size arrives alone.
fn received(bytes: &[u8], piece: usize) -> Result<Vec<Received>, u16> {
    let mut decoder = Decoder::new(LIMIT);
    let (mut all, mut waiting) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(piece) {
        waiting.extend_from_slice(piece);
        loop {
            let (taken, received) = decoder.decode(&waiting).map_err(|it| it.code)?;
            waiting.drain(..taken);
            match received {
                Some(received) => all.push(received),
                None => break,
            }
        }
        assert!(waiting.len() < 14, "only an incomplete head is left");
    }
    assert!(waiting.is_empty() && !decoder.is_within_message());
    Ok(all)
}

fn of(frames: &[(u8, &[u8])]) -> Result<Vec<Received>, u16> {
    let bytes: Vec<u8> = frames
        .iter()
        .flat_map(|(first, it)| frame(*first, it))
        .collect();
    let whole = received(&bytes, usize::MAX);
    for piece in [1, 3, 100] {
        assert_eq!(received(&bytes, piece), whole);
    }
    whole
}

#[test]
fn fragments_are_joined_and_control_frames_may_come_between_them() {
    let found = of(&[
        (0x81, b"one"),
        (0x01, "h\u{e9}".as_bytes()),
        (0x89, b"ping"),
        (0x00, b""),
        (0x8a, b""),
        (0x80, "\u{1f980}".as_bytes()),
        (0x82, &[0xff; 300]),
        (0x88, b"\x03\xe8bye"),
    ]);
    let expected = [
        Received::Text(b"one".to_vec()),
        Received::Ping(b"ping".to_vec()),
        Received::Pong,
        Received::Text("h\u{e9}\u{1f980}".into()),
        Received::Binary(vec![0xff; 300]),
        Received::Close(Some(1000)),
    ];
    assert_eq!(found.as_deref(), Ok(&expected[..]));
}

#[test]
fn the_character_of_a_text_may_be_cut_by_a_fragment_but_not_by_its_end() {
    let crab = "\u{1f980}".as_bytes();
    let found = of(&[(0x01, &crab[..1]), (0x00, &crab[1..3]), (0x80, &crab[3..])]);
    assert_eq!(found, Ok(vec![Received::Text(crab.to_vec())]));
    assert_eq!(of(&[(0x81, &crab[..3])]), Err(1007));
    assert_eq!(of(&[(0x01, b"\xed\xa0\x80"), (0x80, b"")]), Err(1007));
}

#[test]
fn what_the_protocol_forbids_is_a_violation() {
    let long = vec![b'x'; LIMIT + 1];
    let half = vec![b'x'; LIMIT / 2 + 1];
    for (frames, code) in [
        (vec![(0x83, &b""[..])], 1002),
        (vec![(0x8b, b"")], 1002),
        (vec![(0xc1, b"")], 1002),
        (vec![(0x91, b"")], 1002),
        (vec![(0x80, b"")], 1002),
        (vec![(0x01, b""), (0x81, b"")], 1002),
        (vec![(0x09, b"")], 1002),
        (vec![(0x89, &long[..126])], 1002),
        (vec![(0x88, b"\x03")], 1002),
        (vec![(0x88, b"\x03\xed")], 1002),
        (vec![(0x88, b"\x03\xe8\xff")], 1007),
        (vec![(0x81, &long)], 1009),
        (vec![(0x02, &half), (0x80, &half)], 1009),
    ] {
        assert_eq!(of(&frames), Err(code), "{:x}", frames[0].0);
    }
    let unmasked = |bytes: &[u8]| Decoder::new(LIMIT).decode(bytes).map_err(|it| it.code);
    assert_eq!(unmasked(b"\x81\x01a"), Err(1002));
    // Lengths that are longer than needed, or than anything.
    assert_eq!(unmasked(b"\x81\xfe\x00\x7d"), Err(1002));
    assert_eq!(unmasked(b"\x81\xff\0\0\0\0\0\0\xff\xff"), Err(1002));
    assert_eq!(
        unmasked(b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        Err(1009)
    );
}

#[test]
fn a_frame_is_encoded_with_the_shortest_length() {
    for (length, head) in [
        (125, &b"\x81\x7d"[..]),
        (126, b"\x81\x7e\x00\x7e"),
        (65_535, b"\x81\x7e\xff\xff"),
        (65_536, b"\x81\x7f\0\0\0\0\0\x01\0\0"),
    ] {
        let mut out = Vec::new();
        encode(Opcode::Text, &vec![b'x'; length], &mut out);
        assert_eq!(&out[..head.len()], head);
        assert_eq!(out.len(), head.len() + length);
    }
}
