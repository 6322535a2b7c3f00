use super::*;

#[test]
fn a_query_is_decoded_pair_by_pair() {
    let pairs = parse_query("a=1+2&b=%2B%26&&c&d=x=y&%C3%A9=%ff&=z");
    let expected = [
        ("a", "1 2"),
        ("b", "+&"),
        ("c", ""),
        ("d", "x=y"),
        ("é", "\u{fffd}"),
        ("", "z"),
    ];
    let expected = expected.map(|(name, value)| (name.to_string(), value.to_string()));
    assert_eq!(pairs, expected);
}
