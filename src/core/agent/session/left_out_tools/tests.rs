use super::*;
use crate::extension::State;

#[test]
fn a_warning_is_that_of_the_extension_and_of_the_model() {
    let left_out = LeftOutTools::default();
    let warned = || {
        let status = |key: &str| Status::bare(key, key.to_owned(), None, State::Active);
        let mut all = [status("a"), status("ab")];
        left_out.warn(&mut all);
        all.map(|status| status.warnings.join(" "))
    };
    let tool = |name: &str| (name.to_owned(), format!("{name} is left out"));
    left_out.add("m", vec![tool("ab__x"), tool("none__x")]);
    left_out.add("m", Vec::new());
    assert_eq!(warned(), ["", "ab__x is left out"]);
    left_out.add("other", vec![tool("a__y")]);
    assert_eq!(warned(), ["a__y is left out", ""]);
}
