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

/// JSON texts of `size` bytes whose values take the most memory, between `begin` and `end`. Values take at most `most`
/// bytes; `cost` says what the parser counts for a value, an array and an object.
pub fn dense_json(
    size: usize,
    begin: &str,
    end: &str,
    most: usize,
    cost: [usize; 3],
) -> Vec<Vec<u8>> {
    let [value, array, object] = cost;
    let units = [
        "0,",
        "[],",
        "{},",
        "\"\",",
        "[0],",
        "{\"\":0},",
        "[[0]],",
        "{\"\":[0]},",
    ];
    // As many values as the limit allows, and blanks for the rest.
    let text = |unit: &str| {
        let count = |found: &[char]| unit.matches(found).count();
        let each =
            value * count(&['0', '[', '{']).max(1) + array * count(&['[']) + object * count(&['{']);
        let begin = format!("{begin}[{}", unit.repeat(most / each));
        filled(
            size.max(begin.len() + 100),
            &begin,
            " ",
            &format!("0]{end}"),
        )
    };
    let dense = units
        .iter()
        .map(|unit| filled(size, &format!("{begin}["), unit, &format!("0]{end}")));
    dense.chain(units.iter().map(|unit| text(unit))).collect()
}
