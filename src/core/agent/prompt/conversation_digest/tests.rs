use super::*;

#[test]
fn a_digest_has_nothing_that_is_for_the_user_alone() {
    let message = serde_json::json!({"role": "user", "created": 1, "content": [
        {"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value": {"content": [
            {"type": "text", "text": "open"},
            {"type": "text", "text": "secret", "annotations": {"audience": ["user"]}},
        ]}}},
        {"type": "text", "text": "secret", "annotations": {"audience": ["user"]}},
    ]});
    let message: Message = serde_json::from_value(message).unwrap();
    assert_eq!(digest([&message], usize::MAX), "Result: open\n\n");
}

#[test]
fn a_digest_keeps_both_ends() {
    let messages: Vec<Message> = (0..100)
        .map(|n| Message::text(Role::User, format!("message é {n} {}", "x".repeat(50))))
        .collect();
    let whole = digest(&messages, usize::MAX);
    assert!(whole.contains("message é 50 "));
    let digest = digest(&messages, 1_000);
    assert!(digest.len() < 1_100 && !digest.contains("message é 50 "));
    assert!(digest.starts_with("User: message é 0 ") && digest.contains("message é 99 "));
    assert!(digest.contains("bytes left out"));
}
