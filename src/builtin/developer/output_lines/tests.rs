use super::*;

fn lines(chunks: &[&[u8]]) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    let mut lines = LineSplitter::default();
    let mut keep = |line: &str, ended| all.push((line.to_owned(), ended));
    for chunk in chunks {
        lines.push(chunk, &mut keep);
    }
    lines.finish(&mut keep);
    all
}

fn one(bytes: &[u8]) -> String {
    legible(bytes)
}

#[test]
fn lines_are_whole_however_they_arrive() {
    let text = "eins\nzw\u{f6}lf\n\nrest".as_bytes();
    let expected = lines(&[text]);
    let all: Vec<_> = expected.iter().map(|(line, _)| line.as_str()).collect();
    assert_eq!(all, ["eins", "zw\u{f6}lf", "", "rest"]);
    assert_eq!(expected[3], ("rest".to_owned(), false));
    for at in 0..text.len() {
        let (head, tail) = text.split_at(at);
        assert_eq!(lines(&[head, tail]), expected, "split at {at}");
    }
}

#[test]
fn an_endless_line_comes_in_pieces_that_are_text() {
    let text = "\u{e9}".repeat(MAX_LINE);
    let pieces: Vec<_> = lines(&text.as_bytes().chunks(1001).collect::<Vec<_>>());
    assert!(pieces.len() >= 2 && pieces.iter().all(|(_, ended)| !ended));
    let joined: String = pieces.iter().map(|(piece, _)| piece.as_str()).collect();
    assert_eq!(joined, text);
}

#[test]
fn a_progress_bar_without_end_is_its_last_state() {
    let bar: String = (0..50_000).map(|n| format!("\r{n:05} of 50000")).collect();
    for end in ["", "\r", "\n"] {
        let text = format!("{bar}{end}");
        let all = lines(&text.as_bytes().chunks(997).collect::<Vec<_>>());
        assert_eq!(all, [("49999 of 50000".to_owned(), end == "\n")]);
    }
    // Text that nothing overwrites is kept.
    let text = format!("{}\r", "x".repeat(MAX_LINE));
    assert_eq!(lines(&[text.as_bytes(), b"\n"]).len(), 2);
    assert_eq!(
        [b"a\rb\r\r".as_slice(), b"\r\r", b"a", b""].map(overwritten),
        [1, 0, 0, 0]
    );
}

#[test]
fn a_line_is_what_a_terminal_would_show_in_the_end() {
    assert_eq!(one(b"10%\r55%\r100%"), "100%");
    assert_eq!(one(b"dos\r"), "dos");
    assert_eq!(
        one(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\x1b(B"),
        "red plain"
    );
    assert_eq!(one(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
    assert_eq!(one(b"b\x08bo\x08old\ttab\0"), "bold\ttab");
    assert_eq!(one(b"caf\xe9"), "caf\u{fffd}");
    assert_eq!(one(b"\x1b[31"), "");
    assert_eq!(one(b"\x1b"), "");
    assert_eq!(
        one("\u{9b}31mred\u{9b}m \u{9d}0;title\u{9c}plain".as_bytes()),
        "red plain"
    );
}
