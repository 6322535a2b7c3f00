use super::*;

#[test]
fn the_space_before_am_and_pm_is_written_in_two_ways() {
    for (plain, narrow) in [
        (
            "Screenshot 2025-01-05 at 3.45.12 PM.png",
            "Screenshot 2025-01-05 at 3.45.12\u{202f}PM.png",
        ),
        ("a 1 am (2).png", "a 1\u{202f}am (2).png"),
        ("1 PM", "1\u{202f}PM"),
    ] {
        assert_eq!(other_spelling(plain).as_deref(), Some(narrow));
        assert_eq!(other_spelling(narrow).as_deref(), Some(plain));
    }
    for none in [
        "",
        "a.png",
        "1PM",
        "x PM",
        "1 PMs.png",
        "1 p",
        "at 3 x",
        "1  PM",
        "PM 1 ",
    ] {
        assert_eq!(other_spelling(none), None, "{none:?}");
    }
}
