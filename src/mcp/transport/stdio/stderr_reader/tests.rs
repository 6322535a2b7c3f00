use super::*;

#[test]
fn last_words_are_the_end_without_secrets_and_escapes() {
    let tail = Mutex::new(b"token=hunter2\n\x1b[31mboom\n".iter().copied().collect());
    assert_eq!(
        stderr_excerpt(&tail, &["hunter2".into()]),
        "token=[secret]\n\\u{1b}[31mboom"
    );
}

/// The lines that are logged for these writes; `~` marks a cut line.
fn logged(writes: &[&[u8]]) -> Vec<String> {
    let mut first = FirstLines::default();
    let mut lines = Vec::new();
    let mut log = |line: &[u8], cut: Cut| {
        let line = String::from_utf8_lossy(line).trim_end().to_owned();
        lines.push(line + if cut.behind { "~" } else { "" });
    };
    for write in writes {
        first.read(write, &mut log);
    }
    first.end(&mut log);
    lines
}

#[test]
fn the_first_lines_are_whole_however_they_are_written() {
    let text = b"one\n\n two\r\nthree\n\xff\nfive\nsix\nseven";
    let expected = ["one", " two", "three", "\u{fffd}", "five"];
    for at in 0..text.len() {
        assert_eq!(logged(&[&text[..at], &text[at..]]), expected, "cut at {at}");
    }
    let single: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(logged(&single), expected);
    assert_eq!(logged(&[b"a\nb"]), ["a", "b~"]);
}

#[test]
fn of_a_line_without_end_the_beginning_is_logged_once() {
    let long = vec![b'x'; 3 * MAX_LINE_KEPT + 7];
    let beginning = format!("{}~", "x".repeat(MAX_LINE_KEPT));
    for size in [
        1,
        7,
        MAX_LINE_KEPT - 1,
        MAX_LINE_KEPT,
        MAX_LINE_KEPT + 1,
        long.len(),
    ] {
        let writes: Vec<&[u8]> = long.chunks(size).chain([&b"\nnext\n"[..]]).collect();
        assert_eq!(
            logged(&writes),
            [beginning.as_str(), "next"],
            "{size} at a time"
        );
        let unfinished: Vec<&[u8]> = long.chunks(size).collect();
        assert_eq!(
            logged(&unfinished),
            [beginning.as_str()],
            "{size} at a time"
        );
    }
}
