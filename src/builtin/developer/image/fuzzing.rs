//! What a fuzzer checks of the headers of images.

use super::format::read_header;

/// The beginning of a file says less than all of it, and nothing else.
pub(crate) fn image_header(input: &[u8]) {
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
    // From here on the kind is certain: a BMP may begin as an HEIC does.
    const CERTAIN: usize = 18;
    for end in (CERTAIN..input.len()).step_by(1 + input.len() / 64) {
        if let Some(part) = read_header(&input[..end]) {
            assert_eq!(part.format, whole.format);
            assert!(part.size.is_none() || part.size == whole.size);
        }
    }
}
