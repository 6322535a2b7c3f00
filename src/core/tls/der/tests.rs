use super::*;

#[test]
fn a_length_takes_as_few_bytes_as_it_can() {
    assert_eq!(element(SEQUENCE, &[]), [0x30, 0]);
    assert_eq!(element(OCTET_STRING, &[b"ab", b"c"]), *b"\x04\x03abc");
    for (length, header) in [
        (127, &[4, 127][..]),
        (128, &[4, 0x81, 128]),
        (255, &[4, 0x81, 255]),
        (256, &[4, 0x82, 1, 0]),
        (65_536, &[4, 0x83, 1, 0, 0]),
    ] {
        let encoded = element(OCTET_STRING, &[&vec![7; length]]);
        assert_eq!(encoded[..header.len()], *header);
        assert_eq!(encoded.len(), header.len() + length);
    }
}

#[test]
fn an_integer_has_no_needless_zero_and_is_never_negative() {
    assert_eq!(unsigned(&[]), [2, 1, 0]);
    assert_eq!(unsigned(&[0, 0]), [2, 1, 0]);
    assert_eq!(unsigned(&[0, 5]), [2, 1, 5]);
    assert_eq!(unsigned(&[0x80]), [2, 2, 0, 0x80]);
    assert_eq!(unsigned(&[0x7f, 0xff]), [2, 2, 0x7f, 0xff]);
}

#[test]
fn what_was_written_is_read() {
    for length in [0, 1, 127, 128, 255, 256, 70_000] {
        let content = vec![9; length];
        let encoded = [element(SET, &[&content]), element(SEQUENCE, &[])].concat();
        let mut input = encoded.as_slice();
        assert_eq!(take(&mut input), Some((SET, content.as_slice())));
        assert_eq!(take(&mut input), Some((SEQUENCE, &[][..])));
        assert_eq!(take(&mut input), None);
    }
    let long_form = [SET, 0x84, 0, 0, 0, 1, 7];
    assert_eq!(take(&mut &long_form[..]), Some((SET, &[7][..])));
}

#[test]
fn what_is_cut_off_or_absurdly_long_is_not_read() {
    let encoded = element(SEQUENCE, &[&[1; 300]]);
    for length in 0..encoded.len() {
        assert_eq!(take(&mut &encoded[..length]), None, "{length}");
    }
    for input in [
        &[0x30, 0x80][..],
        &[0x30, 0x85, 0, 0, 0, 0, 0],
        &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        &[0x30, 0xff],
    ] {
        assert_eq!(take(&mut &*input), None, "{input:?}");
    }
}
