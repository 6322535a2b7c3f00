//! Detects the format and the size of an image from its first bytes. Pure, and safe for hostile files: nothing is
//! decoded, and the size is what the header claims.

/// The known formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
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
    /// The name for messages, the name that ImageMagick uses, and the media type, if models accept the format.
    const fn names(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Format::Png => ("PNG", "png", Some("image/png")),
            Format::Jpeg => ("JPEG", "jpeg", Some("image/jpeg")),
            Format::Gif => ("GIF", "gif", Some("image/gif")),
            Format::WebP => ("WebP", "webp", Some("image/webp")),
            Format::Bmp => ("BMP", "bmp", None),
            Format::Tiff => ("TIFF", "tiff", None),
            Format::Heic => ("HEIC", "heic", None),
            Format::Avif => ("AVIF", "avif", None),
        }
    }

    /// The name for messages.
    pub(crate) fn name(self) -> &'static str {
        self.names().0
    }

    /// The name that ImageMagick uses, also as a file name extension.
    pub(super) fn extension(self) -> &'static str {
        self.names().1
    }

    /// The media type, if models accept the format.
    pub(super) fn media_type_for_models(self) -> Option<&'static str> {
        self.names().2
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
mod tests;
