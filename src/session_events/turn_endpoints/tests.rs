use super::*;

#[test]
fn an_event_id_is_a_number() {
    assert_eq!(event_id("0"), Some(0));
    assert_eq!(event_id("41"), Some(41));
    assert_eq!(event_id("99999999999999999999999"), Some(u64::MAX));
    for other in ["", "-1", "+1", "1.5", "1 ", "one", "٣"] {
        assert_eq!(event_id(other), None, "{other:?}");
    }
}

#[test]
fn a_request_id_is_a_uuid() {
    assert!(is_uuid("0190b5e2-7c4f-7d2a-9c3e-1f2a3b4C5D6E"));
    for other in [
        "",
        "1",
        "0190b5e27c4f7d2a9c3e1f2a3b4c5d6e",
        "0190b5e2-7c4f-7d2a-9c3e-1f2a3b4c5d6g",
        "0190b5e2-7c4f-7d2a-9c3e1-f2a3b4c5d6e",
        "0190b5e2-7c4f-7d2a-9c3e-1f2a3b4c5d6e0",
        "0190b5e2-7c4f-7d2a-9c3e-1f2a3b4c5dé",
    ] {
        assert!(!is_uuid(other), "{other:?}");
    }
}
