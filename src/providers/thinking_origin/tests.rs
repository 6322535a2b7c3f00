use super::*;
use std::collections::BTreeSet;

#[test]
fn an_origin_is_an_endpoint_and_a_model() {
    let all = [("a", "b"), ("ab", ""), ("a", "c"), ("", "ab")];
    let names: BTreeSet<_> = all.iter().map(|(url, model)| origin(url, model)).collect();
    assert_eq!(names.len(), all.len());
}
