use super::*;

#[test]
fn who_decides_sees_every_character() {
    let line = "a\tb\u{34f}\u{3164}\u{fe0f}\u{2800}\u{202e}\u{1b}\u{e0041}é 中";
    let shown = r"b\u{34f}\u{3164}\u{fe0f}\u{2800}\u{202e}\u{1b}\u{e0041}é 中";
    assert_eq!(escape_invisible(line), format!("a\t{shown}"));
}
