//! Detects the format and the size of an image from its first bytes. Pure, and safe for hostile files: nothing is
//! decoded, and the size is what the header claims.

/// The known formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
    Bmp,
    Tiff,
    Heic,
    Avif,
}

impl Format {
    /// The name for messages.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Format::Png => "PNG",
            Format::Jpeg => "JPEG",
            Format::Gif => "GIF",
            Format::WebP => "WebP",
            Format::Bmp => "BMP",
            Format::Tiff => "TIFF",
            Format::Heic => "HEIC",
            Format::Avif => "AVIF",
        }
    }

    /// The name that ImageMagick uses, also as a file name extension.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Jpeg => "jpeg",
            Format::Gif => "gif",
            Format::WebP => "webp",
            Format::Bmp => "bmp",
            Format::Tiff => "tiff",
            Format::Heic => "heic",
            Format::Avif => "avif",
        }
    }

    /// The media type, if models accept the format.
    pub(super) fn media_type_for_models(self) -> Option<&'static str> {
        match self {
            Format::Png => Some("image/png"),
            Format::Jpeg => Some("image/jpeg"),
            Format::Gif => Some("image/gif"),
            Format::WebP => Some("image/webp"),
            Format::Bmp | Format::Tiff | Format::Heic | Format::Avif => None,
        }
    }
}

/// What the beginning of an image file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) format: Format,
    /// Width and height in pixels, both more than 0; `None` if they are not found.
    pub(super) size: Option<(u32, u32)>,
    /// Whether the bytes end with the end of the image, and the image is of a usual kind. Holds only if they
    /// are the whole file.
    pub(super) is_intact: bool,
}

/// Reads the header of an image; `None` if the format is not known.
pub(super) fn read_header(bytes: &[u8]) -> Option<Header> {
    let format = kind(bytes)?;
    let (size, is_intact) = match format {
        Format::Png => (png_size(bytes), png_ends(bytes)),
        Format::Jpeg => {
            jpeg(bytes).map_or((None, false), |(size, is_intact)| (Some(size), is_intact))
        }
        Format::Gif => (pair_le16(bytes, 6), bytes.ends_with(&[0x3b])),
        Format::WebP => (webp_size(bytes), webp_ends(bytes)),
        Format::Bmp => (bmp_size(bytes), false),
        Format::Tiff | Format::Heic | Format::Avif => (None, false),
    };
    let size = size.filter(|(width, height)| *width > 0 && *height > 0);
    Some(Header {
        format,
        size,
        is_intact: is_intact && size.is_some(),
    })
}

fn kind(bytes: &[u8]) -> Option<Format> {
    let at = |from: usize, what: &[u8]| part(bytes, from, what.len()) == Some(what);
    let any = |from: usize, brands: &[&[u8; 4]]| brands.iter().any(|brand| at(from, *brand));
    if at(0, b"\x89PNG\r\n\x1a\n") {
        Some(Format::Png)
    } else if at(0, b"\xff\xd8\xff") {
        Some(Format::Jpeg)
    } else if at(0, b"GIF87a") || at(0, b"GIF89a") {
        Some(Format::Gif)
    } else if at(0, b"RIFF") && at(8, b"WEBP") {
        Some(Format::WebP)
    } else if at(0, b"BM") && is_bmp_header(le32(bytes, 14)) {
        Some(Format::Bmp)
    } else if at(0, b"II*\0") || at(0, b"MM\0*") {
        Some(Format::Tiff)
    } else if at(4, b"ftyp") && any(8, &[b"avif", b"avis"]) {
        Some(Format::Avif)
    } else if at(4, b"ftyp") && any(8, &[b"heic", b"heix", b"heim", b"heis", b"mif1"]) {
        Some(Format::Heic)
    } else {
        None
    }
}

/// Whether this is the size of a known BMP header: the two letters before it are weak evidence.
fn is_bmp_header(size: Option<u32>) -> bool {
    matches!(size, Some(12 | 40 | 52 | 56 | 64 | 108 | 124))
}

fn part(bytes: &[u8], from: usize, len: usize) -> Option<&[u8]> {
    bytes.get(from..from.checked_add(len)?)
}

fn array<const N: usize>(bytes: &[u8], from: usize) -> Option<[u8; N]> {
    part(bytes, from, N)?.try_into().ok()
}

fn be16(bytes: &[u8], from: usize) -> Option<u32> {
    array(bytes, from).map(|bytes| u16::from_be_bytes(bytes).into())
}

fn be32(bytes: &[u8], from: usize) -> Option<u32> {
    array(bytes, from).map(u32::from_be_bytes)
}

fn le16(bytes: &[u8], from: usize) -> Option<u32> {
    array(bytes, from).map(|bytes| u16::from_le_bytes(bytes).into())
}

fn le24(bytes: &[u8], from: usize) -> Option<u32> {
    let [a, b, c] = array(bytes, from)?;
    Some(u32::from_le_bytes([a, b, c, 0]))
}

fn le32(bytes: &[u8], from: usize) -> Option<u32> {
    array(bytes, from).map(u32::from_le_bytes)
}

fn pair_le16(bytes: &[u8], from: usize) -> Option<(u32, u32)> {
    Some((le16(bytes, from)?, le16(bytes, from + 2)?))
}

/// The offset of the first chunk of a PNG, after its signature.
const PNG_CHUNKS: usize = 8;

/// The size in the header, which has to be the first chunk.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let is_header = part(bytes, PNG_CHUNKS + 4, 4)? == b"IHDR";
    let size = (be32(bytes, PNG_CHUNKS + 8)?, be32(bytes, PNG_CHUNKS + 12)?);
    is_header.then_some(size)
}

/// Whether there is a data chunk and, after it, the end chunk.
fn png_ends(bytes: &[u8]) -> bool {
    let mut at = PNG_CHUNKS;
    let mut data = false;
    while let (Some(len), Some(name)) = (be32(bytes, at), part(bytes, at + 4, 4)) {
        // Each chunk ends with a checksum of four bytes.
        let next = at.saturating_add(12).saturating_add(len as usize);
        match name {
            b"IEND" => return data && next <= bytes.len(),
            b"IDAT" => data = true,
            _ => {}
        }
        at = next;
    }
    false
}

/// Finds the segment with the size. An image is intact if it has one or three colour components and an end
/// marker.
fn jpeg(bytes: &[u8]) -> Option<((u32, u32), bool)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            // A marker may be preceded by any number of fill bytes.
            0xff => at += 1,
            // Markers without a segment.
            0x01 | 0xd0..=0xd8 => at += 2,
            // The pixels or the end, without a size before them.
            0xd9 | 0xda => return None,
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let size = (be16(bytes, at + 7)?, be16(bytes, at + 5)?);
                let usual = matches!(bytes.get(at + 9), Some(1 | 3));
                let ends = bytes[at..].windows(2).any(|pair| pair == [0xff, 0xd9]);
                return Some((size, usual && ends));
            }
            _ => {
                let len = be16(bytes, at + 2).filter(|len| *len >= 2)?;
                at += 2 + len as usize;
            }
        }
    }
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    match part(bytes, 12, 4)? {
        b"VP8X" => Some((le24(bytes, 24)? + 1, le24(bytes, 27)? + 1)),
        b"VP8L" => {
            let bits = le32(bytes, 21).filter(|_| bytes[20] == 0x2f)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => {
            let (width, height) = pair_le16(bytes, 26)?;
            let begins = part(bytes, 23, 3)? == b"\x9d\x01\x2a";
            begins.then_some((width & 0x3fff, height & 0x3fff))
        }
        _ => None,
    }
}

fn webp_ends(bytes: &[u8]) -> bool {
    le32(bytes, 4).is_some_and(|len| (len as usize).saturating_add(8) <= bytes.len())
}

fn bmp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    if le32(bytes, 14)? == 12 {
        return pair_le16(bytes, 18);
    }
    let side = |from| Some(le32(bytes, from)?.cast_signed().unsigned_abs());
    Some((side(18)?, side(22)?))
}

#[cfg(test)]
mod tests {
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
}
