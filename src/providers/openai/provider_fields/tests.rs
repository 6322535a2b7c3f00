use super::*;
use serde_json::json;

fn details(chunks: &[Value], is_chunk: bool) -> Option<Value> {
    let mut details = ReasoningDetails::default();
    for chunk in chunks {
        let raw = RawValue::from_string(chunk.to_string()).unwrap();
        details.take(&raw, is_chunk);
    }
    details.value()
}

#[test]
fn the_pieces_of_a_part_become_one_and_parts_stay_apart() {
    let text = |text: &str| json!([{"type": "reasoning.text", "text": text, "index": 0}]);
    let signed = json!([{"type": "reasoning.text", "signature": "s", "index": 0, "format": "f"}]);
    let secret = json!([{"type": "reasoning.encrypted", "data": "d", "id": "r", "index": 1}]);
    let chunks = [
        text("a"),
        text("b"),
        signed,
        text("c"),
        secret.clone(),
        secret,
    ];
    assert_eq!(
        details(&chunks, true),
        Some(json!([
            {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s", "format": "f"},
            {"type": "reasoning.text", "text": "c", "index": 0},
            {"type": "reasoning.encrypted", "data": "d", "id": "r", "index": 1},
            {"type": "reasoning.encrypted", "data": "d", "id": "r", "index": 1},
        ]))
    );
    let whole =
        json!([{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}]);
    assert_eq!(details(std::slice::from_ref(&whole), false), Some(whole));
}

#[test]
fn what_is_no_list_or_too_large_is_not_kept() {
    for odd in [json!(5), json!({"a": 1}), json!(["text"]), json!([])] {
        assert_eq!(details(&[odd], true), None);
    }
    let half = json!([{"type": "reasoning.encrypted", "data": "x".repeat(MAX_BYTES / 2)}]);
    assert!(details(std::slice::from_ref(&half), true).is_some());
    assert_eq!(details(&[half.clone(), half], true), None);
}
