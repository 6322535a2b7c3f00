//! Measures the memory that parsers of input from outside take, for the worst inputs.
//!
//! Each test is next to its parser and passes the worst texts to [`at_most`]. The table in the crate's
//! documentation is the output of `cargo test --lib memory_ratio -- --nocapture --include-ignored`.

use crate::counting_allocator::peak_bytes;

/// Reads each text with `read` and fails if that takes more than `ratio` times the bytes of the text, which are
/// not counted.
pub fn at_most<R>(ratio: usize, what: &str, texts: &[Vec<u8>], read: impl Fn(&[u8]) -> R) {
    let measured = texts.iter().map(|text| {
        let held = peak_bytes(|| read(text));
        (held * 10 / text.len(), held, text)
    });
    let (tenths, held, text) = measured.max_by_key(|(tenths, ..)| *tenths).expect("a text");
    let begin = String::from_utf8_lossy(&text[..text.len().min(30)]);
    println!(
        "| {what} | {}.{} | {held} of {} | {begin:?} |",
        tenths / 10,
        tenths % 10,
        text.len()
    );
    assert!(
        held <= ratio * text.len(),
        "{what}: {held} bytes for {} of {begin:?}",
        text.len()
    );
}

/// `unit` repeated between `begin` and `end`, up to `size` bytes in all.
pub fn filled(size: usize, begin: &str, unit: &str, end: &str) -> Vec<u8> {
    let count = (size - begin.len() - end.len()) / unit.len();
    [begin, &unit.repeat(count), end].concat().into_bytes()
}
