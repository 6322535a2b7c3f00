//! Fuzz target for image headers.

use super::format::read_header;

/// A prefix of a file has the same header as the file, or less of it.
pub fn image_header(input: &[u8]) {
    let Some(whole) = read_header(input) else {
        for end in 0..input.len().min(64) {
            assert_eq!(read_header(&input[..end]), None);
        }
        return;
    };
    assert!(!whole.is_intact || whole.size.is_some());
    assert!(
        whole
            .size
            .is_none_or(|(width, height)| width > 0 && height > 0)
    );
    // From this length on the format is certain: a BMP may begin like an HEIC.
    const CERTAIN: usize = 18;
    for end in (CERTAIN..input.len()).step_by(1 + input.len() / 64) {
        if let Some(part) = read_header(&input[..end]) {
            assert_eq!(part.format, whole.format);
            assert!(part.size.is_none() || part.size == whole.size);
        }
    }
}
