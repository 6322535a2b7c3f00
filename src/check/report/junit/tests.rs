use super::*;

#[test]
fn no_text_leaves_its_place() {
    assert_eq!(
        escape("a<b>&\"\u{1}\u{ffff}\n"),
        "a&lt;b&gt;&amp;&quot;\u{fffd}\u{fffd}\n"
    );
}
