use super::*;

#[test]
fn a_text_comes_back_from_its_lines() {
    for text in [
        "a\r\nb\r\n",
        "a\nb\n",
        "a\r\nb\n\n",
        "a",
        "",
        "a\nb\rc",
        "\r\n",
        "a\n\r",
    ] {
        assert_eq!(
            join(&split(text), lacks_final_newline(text)),
            text,
            "{text:?}"
        );
    }
}

#[test]
fn only_what_is_replaced_may_end_in_another_way() {
    let replaced = |text: &str, old: &str, new: &str| {
        let at = with_lf(text).find(old).unwrap();
        splice(text, &(at..at + old.len()), new)
    };
    let mixed = "a\r\nb\nc\r\nd\r\n";
    assert_eq!(replaced(mixed, "c\nd", "C\nD"), "a\r\nb\nC\r\nD\r\n");
    assert_eq!(replaced(mixed, "b\n", "B\nBB\n"), "a\r\nB\nBB\nc\r\nd\r\n");
    assert_eq!(replaced(mixed, "d", "D\ne"), "a\r\nb\nc\r\nD\r\ne\r\n");
    assert_eq!(replaced(mixed, "a\nb\nc\nd\n", ""), "");
    assert_eq!(replaced("a\r\nb", "b", "B\nC"), "a\r\nB\r\nC");
    assert_eq!(replaced("a\r\nb\r\n", "\nb", "\nB"), "a\r\nB\r\n");
    assert_eq!(replaced("a", "a", "x\ny"), "x\ny");
}

#[test]
fn lines_that_are_put_in_end_like_their_neighbours() {
    let mixed = "a\r\nb\nc\r\n";
    assert_eq!(insert(mixed, 0, "x"), "x\r\na\r\nb\nc\r\n");
    assert_eq!(insert(mixed, 1, "x\ny"), "a\r\nx\r\ny\r\nb\nc\r\n");
    assert_eq!(insert(mixed, 2, "x"), "a\r\nb\nx\nc\r\n");
    assert_eq!(insert("a\r\nb", 2, "x"), "a\r\nb\r\nx");
    assert_eq!(insert("", 0, "x"), "x\n");
    assert_eq!(insert("a", 1, "x"), "a\nx");
}

#[test]
fn a_file_written_anew_is_of_the_kind_that_it_was() {
    assert_eq!(rewrite("a\r\nb\r\n", "x\ny\r\n"), "x\r\ny\r\n");
    assert_eq!(rewrite("a\r\nb\n", "x\ny\r\n"), "x\ny\r\n");
    assert_eq!(rewrite("a\nb\n", "x\r\ny"), "x\r\ny");
    assert_eq!(rewrite("\u{feff}a\n", "x\n"), "\u{feff}x\n");
    assert_eq!(rewrite("\u{feff}a\r\n", "\u{feff}x\n"), "\u{feff}x\r\n");
    assert_eq!(rewrite("a", "\u{feff}x\n"), "\u{feff}x\n");
    assert_eq!(rewrite("", "x\n"), "x\n");
}
