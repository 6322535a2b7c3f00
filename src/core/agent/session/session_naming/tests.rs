use super::*;

#[test]
fn a_name_is_one_short_line_without_ornament() {
    assert_eq!(
        name_from("\n  **\"Adding two numbers.\"**\nBecause…"),
        "Adding two numbers"
    );
    assert_eq!(name_from("<think>hm\nhm</think>\nSums"), "Sums");
    assert_eq!(name_from("hm</think>Sums"), "Sums");
    assert_eq!(name_from("<think>a</think>\n<think>b</think>Sums"), "Sums");
    assert_eq!(
        name_from("The <think> tag, </think> too"),
        "The <think> tag, </think> too"
    );
    assert_eq!(name_from("[THINK]hm[/THINK]Sums"), "Sums");
    assert_eq!(name_from("\n<think>\nOkay, the user"), "");
    assert_eq!(name_from("a\u{1b}[31mb"), "a[31mb");
    assert_eq!(name_from(&"é".repeat(200)).chars().count(), MAX_NAME + 1);
    assert_eq!(name_from(" \n "), "");
}
