use super::*;
use gosling_testing::property_testing::{check, vec_of};

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8; 4], data: &[u8]| {
        png.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        png.extend(name);
        png.extend(data);
        png.extend([0; 4]);
    };
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([8, 2, 0, 0, 0]);
    chunk(b"IHDR", &header);
    chunk(b"tEXt", b"IEND");
    chunk(b"IDAT", b"pixels");
    chunk(b"IEND", b"");
    png
}

fn jpeg(width: u16, height: u16, colours: u8) -> Vec<u8> {
    let mut jpeg = b"\xff\xd8\xff\xe0\x00\x06abcd".to_vec();
    // An embedded thumbnail has its own size.
    jpeg.extend(b"\xff\xe1\x00\x0f\xff\xd8\xff\xc0\x00\x0b\x08\x00\x09\x00\x09\xff\xd9");
    jpeg.extend(b"\xff\xff\xff\xc4\x00\x03x\xff\xd0\xff\xc2\x00\x0b\x08");
    jpeg.extend(height.to_be_bytes());
    jpeg.extend(width.to_be_bytes());
    jpeg.extend([colours, 1, 17, 0, 0xff, 0xda, 0, 2, 1, 2, 3, 0xff, 0xd9]);
    jpeg
}

fn webp(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let len = u32::try_from(data.len()).unwrap();
    let mut webp = b"RIFF".to_vec();
    webp.extend((len + 12).to_le_bytes());
    webp.extend(b"WEBP");
    webp.extend(kind);
    webp.extend(len.to_le_bytes());
    webp.extend(data);
    webp
}

fn gif() -> Vec<u8> {
    b"GIF89a\x40\x01\xf0\x00\x00\x00\x00pixels\x3b".to_vec()
}

fn bmp(header: u32, size: &[u8]) -> Vec<u8> {
    [b"BM0000____0000".as_slice(), &header.to_le_bytes(), size].concat()
}

fn samples() -> Vec<Vec<u8>> {
    vec![
        png(300, 200),
        jpeg(300, 200, 3),
        gif(),
        webp(b"VP8X", b"\x10___\x2b\x01\x00\xc7\x00\x00"),
        webp(b"VP8L", &[0x2f, 0x2b, 0xc1, 0x31, 0]),
        webp(b"VP8 ", b"\x00\x00\x00\x9d\x01\x2a\x2c\x41\xc8\x80"),
        bmp(40, &[44, 1, 0, 0, 0x38, 0xff, 0xff, 0xff]),
        bmp(12, &[44, 1, 200, 0]),
    ]
}

#[test]
fn the_header_says_how_large_it_is() {
    for (n, sample) in samples().iter().enumerate() {
        let header = read_header(sample).unwrap();
        let size = match header.format {
            Format::Gif => (320, 240),
            _ => (300, 200),
        };
        assert_eq!(header.size, Some(size), "{n} {header:?}");
        assert_eq!(header.is_intact, header.format != Format::Bmp, "{n}");
    }
    for (start, format) in [
        (&b"II*\0"[..], Format::Tiff),
        (b"MM\0*", Format::Tiff),
        (b"\0\0\0\x18ftypheic", Format::Heic),
        (b"\0\0\0\x18ftypavif", Format::Avif),
    ] {
        let expected = Header {
            format,
            size: None,
            is_intact: false,
        };
        assert_eq!(read_header(start), Some(expected));
    }
}

#[test]
fn what_is_no_image_is_none() {
    for other in [
        &b""[..],
        b"<svg/>",
        b"%PDF-1.7",
        b"BM is how this text begins",
        b"RIFF0000WAVE",
        b"GIF90a__",
        b"\x89PNG",
        b"0000ftypmp42",
    ] {
        assert_eq!(read_header(other), None, "{other:?}");
    }
}

#[test]
fn what_is_cut_short_or_odd_is_not_sound() {
    for (n, sample) in samples().iter().enumerate() {
        for end in 0..sample.len() {
            let is_intact = read_header(&sample[..end]).is_some_and(|header| header.is_intact);
            assert!(!is_intact, "{n}, {end} bytes");
        }
    }
    assert!(
        !read_header(&jpeg(300, 200, 4)).unwrap().is_intact,
        "ink colours"
    );
    let nothing = read_header(&jpeg(300, 0, 3)).unwrap();
    assert_eq!((nothing.size, nothing.is_intact), (None, false));
    assert_eq!(read_header(&png(0, 5)).unwrap().size, None);
    let mut empty = png(3, 3);
    let data = empty.windows(4).position(|name| name == b"IDAT").unwrap();
    empty[data] = b'J';
    assert!(!read_header(&empty).unwrap().is_intact);
    // A segment that is shorter than its length field is invalid.
    assert_eq!(
        read_header(b"\xff\xd8\xff\xe0\x00\x00\xff\xc0")
            .unwrap()
            .size,
        None
    );
}

#[test]
fn any_bytes_are_looked_at_without_harm() {
    let samples = samples();
    check(|u| {
        let mut bytes = u.choose(&samples)?.clone();
        for (at, byte) in vec_of(u, 8, |u| Ok((u.arbitrary::<u16>()?, u.arbitrary()?)))? {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let end = u.int_in_range(0..=bytes.len())?;
        bytes.truncate(end);
        bytes.extend(vec_of(u, 8, |u| u.arbitrary::<u8>())?);
        if let Some(header) = read_header(&bytes) {
            let fits = |(width, height)| width > 0 && height > 0;
            assert!(header.size.is_none_or(fits), "{header:?}");
            assert!(!header.is_intact || header.size.is_some(), "{header:?}");
        }
        Ok(())
    });
}
