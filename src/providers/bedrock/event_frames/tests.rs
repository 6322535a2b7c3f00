use super::*;

fn frames(pieces: &[&[u8]]) -> Result<Vec<String>, Error> {
    let mut splitter = FrameSplitter::default();
    let mut all = Vec::new();
    for piece in pieces {
        splitter.push(piece, &mut |frame| {
            let payload = String::from_utf8_lossy(frame.payload);
            all.push(format!("{:?} {payload}", frame.headers));
            Ok(())
        })?;
    }
    all.extend(splitter.is_inside().then(|| "…".to_owned()));
    Ok(all)
}

#[test]
fn the_published_checksums_and_frames_are_read() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    // The empty message of the published test vectors.
    let empty = [
        0, 0, 0, 0x10, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff,
    ];
    assert_eq!(frames(&[&empty]).unwrap(), ["[] "]);
    assert_eq!(write_frame(&[], b""), empty);
    // And the one with a payload and no headers.
    let payload = b"{'foo':'bar'}";
    let expected = [0, 0, 0, 0x1d, 0, 0, 0, 0, 0xfd, 0x52, 0x8c, 0x5a];
    let written = write_frame(&[], payload);
    assert_eq!(written[..12], expected);
    assert_eq!(written[25..], [0xc3, 0x65, 0x39, 0x36]);
}

#[test]
fn frames_are_the_same_however_they_are_split() {
    let stream = [
        write_frame(&[(":event-type", "a"), (":x", "")], b"one"),
        write_frame(&[], b"two"),
    ]
    .concat();
    let expected = [r#"[(":event-type", "a"), (":x", "")] one"#, "[] two"];
    for at in 0..=stream.len() {
        assert_eq!(frames(&[&stream[..at], &stream[at..]]).unwrap(), expected);
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(frames(&bytes).unwrap(), expected);
    assert_eq!(frames(&[&stream[..stream.len() - 1]]).unwrap()[1], "…");
}

#[test]
fn a_frame_that_lies_is_refused() {
    let good = write_frame(&[(":event-type", "a")], b"payload");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let error = frames(&[&bad]).unwrap_err();
        assert!(error.message.contains("checksum"), "{at}: {error}");
    }
    let prelude = |length: u32, headers: u32| {
        let mut bytes = [length.to_be_bytes(), headers.to_be_bytes()].concat();
        bytes.extend(crc32(&bytes).to_be_bytes());
        frames(&[&bytes])
    };
    assert!(prelude(24 << 20, 0).is_ok());
    for (length, headers) in [
        ((24 << 20) + 1, 0),
        (15, 0),
        (0, 0),
        (100, 85),
        (u32::MAX, u32::MAX),
    ] {
        let error = prelude(length, headers).unwrap_err();
        assert_eq!(error.class, crate::ErrorClass::Protocol);
    }
    for headers in [
        &b"\x05ab"[..],
        b"\x01a",
        b"\x01a\x0a",
        b"\x01a\x07\x00\x05x",
    ] {
        assert_eq!(parse_headers(headers), None);
    }
    let all_kinds = b"\x01a\x00\x01b\x01\x01c\x02.\x01d\x03..\x01e\x04....\x01f\x05........\
                      \x01g\x06\x00\x01.\x01h\x08........\x01i\x09................\x01j\x07\x00\x01v";
    assert_eq!(parse_headers(all_kinds).unwrap(), [("j", "v")]);
}
