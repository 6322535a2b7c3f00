use super::*;

#[test]
fn the_time_is_found_in_the_words() {
    for (words, millis) in [
        ("Please try again in 20s.", Some(20_000)),
        ("Please try again in 1m2.5s. Visit x", Some(62_500)),
        ("Rate limit reached, try again in 350ms", Some(350)),
        ("Retry after 12 seconds", Some(12_000)),
        ("Please retry in 53.5s.", Some(53_500)),
        ("retry after 7", Some(7_000)),
        ("try again in 2 hours 3 minutes", Some(7_380_000)),
        ("please wait 1 minute and then 5 apples", Some(60_000)),
        ("please wait a moment; try again in 4 s", Some(4_000)),
        ("try again in 5.", Some(5_000)),
        ("try again in a while", None),
        ("try again in .", None),
        ("slow down", None),
        ("20s", None),
    ] {
        let expected = millis.map(Duration::from_millis);
        assert_eq!(wait_in_words(words), expected, "{words}");
    }
    let endless = format!("try again in {}s", "9".repeat(400));
    assert_eq!(wait_in_words(&endless), None);
}
