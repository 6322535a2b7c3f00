use super::*;

#[test]
fn items_are_counted() {
    let list = "# work\n- [x] a\n  - [ ] b\n* [X] c\n\n[ ] d\n- plain [x]\n- [é\n";
    assert_eq!(count(list), (2, 2));
    assert_eq!(count(""), (0, 0));
}

#[test]
fn the_limit_is_what_the_environment_says_within_reason() {
    for (setting, expected) in [
        (10, 10),
        (0, MAX_LIMIT),
        (99_999_999, MAX_LIMIT),
        (u64::MAX, MAX_LIMIT),
    ] {
        assert_eq!(limit(setting), expected, "{setting}");
    }
}

#[test]
fn odd_data_is_no_list() {
    for odd in [
        json!(null),
        json!("x"),
        json!({"content": 5}),
        json!({"content": " \n"}),
    ] {
        assert_eq!(list(Some(&odd)), None, "{odd}");
    }
    assert_eq!(list(Some(&json!({"content": "- [ ] a"}))), Some("- [ ] a"));
}
