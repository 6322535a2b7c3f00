use super::*;

#[test]
fn a_block_is_fenced_by_more_than_it_contains() {
    assert_eq!(fenced_block("rust", "x"), "```rust\nx\n```\n");
    assert_eq!(fenced_block("", "````\n"), "`````\n````\n`````\n");
}
