use super::*;

#[test]
fn every_refusal_has_its_place() {
    for (refusal, name) in [
        (Refusal::Busy, "busy"),
        (Refusal::Key, "key"),
        (Refusal::Origin, "origin"),
        (Refusal::Route, "route"),
        (Refusal::Size, "size"),
        (Refusal::Timeout, "timeout"),
        (Refusal::Malformed, "malformed"),
    ] {
        let named = Refusal::NAMES.split(' ').nth(refusal as usize);
        assert_eq!(named, Some(name));
    }
}
