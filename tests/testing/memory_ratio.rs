//! Measures the memory that parsers of input from outside take, for the worst inputs.
//!
//! Each test is next to its parser and passes the worst texts to [`at_most`]. `cargo test --workspace --lib
//! memory_ratio -- --nocapture --include-ignored` measures this table again, and fails if a multiple grows: the peak
//! memory besides the text, as a multiple of the text, for the worst known texts of 1 MiB, or of the maximum size. JSON
//! values take up to ninety times their text; their memory is counted as they are built, and limited to 16 MiB plus 32
//! times the text.
//!
//! | input | multiple | maximum size |
//! |---|---|---|
//! | head of a request | 23 | 64 KiB, and 100 fields |
//! | body of a request, as bytes | 2 | 50 MiB, 0 without the key |
//! | JSON parsed to values: 1 MiB, 8 MiB | 36, 25 | 50 MiB in a body, 64 MiB from an MCP server |
//! | message of JSON-RPC | 18 | 64 MiB, 50 MiB over HTTP and in `gosling acp` |
//! | batch of JSON-RPC, in the protocol version with batches | 1 | the same, and 1,000 messages |
//! | event stream, before its events are read | 3 | 64 MiB for an event |
//! | response of a model: OpenAI, Anthropic, Google, Ollama | 38, 2, 23, 34 | 64 MiB |
//! | error of a model, list of models | 93, 6 | 64 KiB, 4 MiB |
//! | session to import | 36 | 50 MiB |
//! | advisories | 42 | 8 MiB a file |
//! | recipe link | 49 | 512 KiB |
//! | YAML of a recipe | 133 | 256 KiB |
//! | templates of a recipe, with their output | | 8 MiB in all |
//! | patch | 48 | 2 MiB |
//! | words of a shell command | 22 | 128 KiB; the same in all for shorter ones |

use crate::counting_allocator::peak_bytes;

/// Reads each text with `read` and fails if that takes more than `ratio` times the bytes of the text, which are
/// not counted. On 32-bit processors the multiple is a third larger: values are smaller there, so that worse texts stay
/// below the limit of their memory.
pub fn at_most<R>(ratio: usize, what: &str, texts: &[Vec<u8>], read: impl Fn(&[u8]) -> R) {
    let ratio = if cfg!(target_pointer_width = "64") {
        ratio
    } else {
        ratio * 4 / 3
    };
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
