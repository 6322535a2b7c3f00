use super::*;

#[test]
fn the_end_is_found_wherever_the_pieces_are_cut() {
    let object = br#" {"a":"}\"]{","b":[{},{"c":"\\"}]}"#;
    let input = [&object[..], b"\n"].concat();
    for at in 0..input.len() {
        let mut whole = JsonSplitter::default();
        let first = whole.push(&input[..at]);
        let found = first.or_else(|| whole.push(&input[at..]));
        let found = found.map(|(found, _)| found);
        assert_eq!(found.as_deref(), Some(&object[..]), "cut at {at}");
    }
    assert_eq!(JsonSplitter::default().push(b"{\"a\":["), None);
}

#[test]
fn one_object_after_the_other_is_found() {
    let mut whole = JsonSplitter::default();
    let (first, rest) = whole.push(b"{\"a\":1}\n{}\n").unwrap();
    assert_eq!(first, b"{\"a\":1}");
    let (second, rest) = whole.push(rest).unwrap();
    assert_eq!((&second[..], rest), (&b"\n{}"[..], &b"\n"[..]));
    assert_eq!(whole.push(rest), None);
}
