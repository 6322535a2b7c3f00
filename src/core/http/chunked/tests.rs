use super::*;

const LIMIT: usize = 100;

/// Decodes `pieces` and returns the body and the number of bytes left over, if the body is complete.
fn decode(pieces: &[&[u8]]) -> Result<Option<(Vec<u8>, usize)>, u16> {
    let mut decoder = ChunkedDecoder::new(LIMIT);
    let mut body = Vec::new();
    let mut left = 0;
    for piece in pieces {
        let taken = decoder.decode(piece, &mut body).map_err(|e| e.status.0)?;
        assert!(taken == piece.len() || decoder.is_done());
        left += piece.len() - taken;
    }
    Ok(decoder.is_done().then_some((body, left)))
}

const WHOLE: &[u8] = b"4;a=b\r\nWiki\r\n0006 ; q=\"x\"\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n\
      000\r\nExpires: never\r\nX-Y:\r\n\r\nGET /";

#[test]
fn a_body_is_the_same_however_it_is_cut() {
    let expected = Ok(Some((b"Wikipedia in \r\n\r\nchunks.".to_vec(), 5)));
    for a in 0..=WHOLE.len() {
        for b in a..=WHOLE.len() {
            assert_eq!(decode(&[&WHOLE[..a], &WHOLE[a..b], &WHOLE[b..]]), expected);
        }
    }
    let bytes: Vec<&[u8]> = WHOLE.chunks(1).collect();
    assert_eq!(decode(&bytes), expected);
}

#[test]
fn a_body_that_has_not_ended_is_not_done() {
    for end in 0..WHOLE.len() - 5 {
        assert_eq!(decode(&[&WHOLE[..end]]), Ok(None));
    }
}

#[test]
fn bad_framing_is_refused() {
    let long_extension = format!("1;{}", "x".repeat(EXTENSION_BYTES + 1));
    let cases: &[&[u8]] = &[
        b"x\r\n",
        b"\r\n",
        b";a\r\n",
        b"-1\r\n",
        b"+1\r\n",
        b" 1\r\n",
        b"0x1\r\n",
        b"1 \r\n",
        b"1 1\r\n",
        b"1\n",
        b"1;a\n",
        b"1;a\0\r\n",
        b"1\r\r\n",
        b"1\r\nab",
        b"1\r\na\n",
        b"1\r\na\rx",
        b"00000000000000001\r\n",
        long_extension.as_bytes(),
        b"0\r\n\n",
        b"0\r\n folded\r\n",
        b"0\r\nno colon\r\n",
        b"0\r\nA: b\n",
        b"0\r\n\r\r",
    ];
    for case in cases {
        assert_eq!(decode(&[case]), Err(400), "{}", case.escape_ascii());
    }
}

#[test]
fn a_body_may_have_its_limit_and_not_a_byte_more() {
    let of = |size: usize| format!("{size:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(size));
    assert_eq!(
        decode(&[of(LIMIT).as_bytes()]),
        Ok(Some((vec![b'x'; LIMIT], 0)))
    );
    assert_eq!(decode(&[of(LIMIT + 1).as_bytes()]), Err(413));
    assert_eq!(decode(&[b"32\r\n", &[b'x'; 50], b"\r\n33\r"]), Err(413));
    assert_eq!(decode(&[b"ffffffffffffffff\r\n"]), Err(413));
}

#[test]
fn trailers_are_bounded() {
    let trailers = |bytes: usize| format!("0\r\nA:{}\r\n\r\n", "x".repeat(bytes));
    assert!(decode(&[trailers(TRAILER_BYTES - 1).as_bytes()]).is_ok());
    assert_eq!(decode(&[trailers(TRAILER_BYTES).as_bytes()]), Err(431));
}

#[test]
fn memory_ratio_of_bodies() {
    use gosling_testing::memory_ratio::{at_most, filled};

    let end = "\r\n0\r\n\r\n";
    let bodies = [
        filled((1 << 20) + 100, "100000\r\n", "x", end),
        filled(1 << 20, "", "1\r\nx\r\n", "0\r\n\r\n"),
    ];
    at_most(3, "body", &bodies, |text| {
        let mut decoder = ChunkedDecoder::new(2 << 20);
        let mut body = Vec::new();
        for piece in text.chunks(4 << 10) {
            let _ = decoder.decode(piece, &mut body);
        }
        body
    });
}
