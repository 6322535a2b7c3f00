use super::*;

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut zip = ZipWriter::new(&mut out, DosTime::parse("2026-11-21T22:16:27Z"));
    for (name, content) in files {
        zip.add(name, &mut |out| out.write_all(content)).unwrap();
    }
    zip.finish().unwrap();
    out
}

#[test]
fn the_checksum_is_that_of_the_specification() {
    let mut checked = Checked::new(None);
    checked.write_all(b"1234").unwrap();
    checked.write_all(b"56789").unwrap();
    assert_eq!((checked.crc(), checked.size), (0xcbf4_3926, 9));
}

#[test]
fn an_archive_has_the_layout_of_the_specification() {
    let expected = [
        &b"PK\x03\x04\x0a\0\0\x08\0\0"[..],
        &[
            0x0d, 0xb2, 0x75, 0x5d, 0x26, 0x39, 0xf4, 0xcb, 9, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0,
        ],
        "é".as_bytes(),
        b"123456789",
        b"PK\x01\x02\x14\x03\x0a\0\0\x08\0\0",
        &[
            0x0d, 0xb2, 0x75, 0x5d, 0x26, 0x39, 0xf4, 0xcb, 9, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0,
        ],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x81, 0, 0, 0, 0],
        "é".as_bytes(),
        &b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x30\0\0\0\x29\0\0\0\0\0"[..],
    ];
    assert_eq!(archive(&[("é", b"123456789")]), expected.concat());
    assert_eq!(
        archive(&[]),
        b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    );
}

#[test]
fn what_changes_or_does_not_fit_is_an_error() {
    let mut out = Vec::new();
    let mut zip = ZipWriter::new(&mut out, DosTime::default());
    let mut run = 0;
    let changing = zip.add("a", &mut |out| {
        run += 1;
        out.write_all(&b"ab"[..run])
    });
    assert!(changing.is_err());
    let long = "n".repeat(1 << 16);
    assert!(zip.add(&long, &mut |_| Ok(())).is_err());
    zip.offset = u64::from(u32::MAX);
    assert!(zip.add("late", &mut |_| Ok(())).is_err());
}

#[test]
fn a_time_that_is_none_is_the_first_one() {
    let first = DosTime { date: 33, time: 0 };
    for text in ["", "yesterday", "1979-01-01T00:00:00Z", "2026-1é"] {
        assert_eq!(DosTime::parse(text), first, "{text}");
    }
}
