use super::*;

#[test]
fn of_too_much_the_end_is_kept() {
    let mut output = Output::default();
    output.push(&"x".repeat(MAX_OUTPUT - 1), true);
    assert!(!output.is_too_long());
    output.push("one more", true);
    assert!(output.is_too_long() && output.text.is_empty());
    for n in 0..10_000 {
        output.count(format!("line {n}\n").as_bytes());
        assert!(output.end.len() <= KEPT_TAIL);
    }
    output.count("\u{fc}".repeat(10).as_bytes());
    let counted = 10 * 7 + 90 * 8 + 900 * 9 + 9_000 * 10;
    assert_eq!(output.printed, MAX_OUTPUT + 9 + counted + 10);
    let text = output.into_text();
    let end = format!("line 9999\n{}\n", "\u{fc}".repeat(10));
    assert!(text.starts_with("line 9") && text.ends_with(&end), "{text}");
}
