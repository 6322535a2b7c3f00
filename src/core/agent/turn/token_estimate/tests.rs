use super::*;

fn text_message(role: Role, text: &str) -> Arc<Message> {
    Arc::new(Message::text(role, text))
}

fn usage(input: u64, output: u64) -> Usage {
    Usage {
        input: Some(input),
        output: Some(output),
        ..Usage::default()
    }
}

#[test]
fn a_provider_corrects_the_estimate_within_reason() {
    let mut ratio = Ratio::default();
    assert_eq!(ratio.tokens(3_600), 1_000);
    assert!(ratio.learn(8_000, 4_000));
    assert_eq!((ratio.tokens(3_600), ratio.characters(100)), (1_800, 200));
    assert!(!ratio.learn(8_000, 1) && !ratio.learn(8_000, 0));
    assert!(ratio.learn(100, 2), "too short to learn from");
    assert_eq!(ratio.tokens(3_600), 1_800);
    assert!(ratio.learn(12_000, 1_000));
    assert_eq!(ratio.tokens(3_600), 300);
}

#[test]
fn only_what_came_since_the_count_is_estimated() {
    let mut messages = vec![text_message(Role::User, &"x".repeat(10_000))];
    let mut estimate = Estimate::default();
    let first = estimate.request(&messages, 2_000);
    assert_eq!(first.tokens, (12_016_f64 / DEFAULT_RATIO).ceil() as u64);
    messages.push(text_message(Role::Assistant, &"y".repeat(984)));
    estimate.learn(Some(first), usage(1_502, 100), &messages);
    // Eight characters per token.
    messages.push(text_message(Role::User, &"z".repeat(784)));
    let next = estimate.request(&messages, 2_000);
    assert_eq!(next.tokens, 1_502 + 100 + 100);
    // The prompt grew by 100 tokens.
    let grown = estimate.request(&messages, 2_800);
    assert_eq!(grown.tokens, next.tokens + 100);
    // Reasoning that later requests do not contain is not counted.
    estimate.learn(Some(first), usage(1_502, 50_000), &messages[..2]);
    let next = estimate.request(&messages, 2_000);
    assert!(next.tokens < 1_800, "{next:?}");
}

#[test]
fn the_count_of_another_process_is_taken_over() {
    let messages = [
        text_message(Role::User, &"x".repeat(10_000)),
        text_message(Role::Assistant, "yes"),
        text_message(Role::User, "and"),
    ];
    let session = |counted_messages| Session {
        input_tokens: Some(1_000),
        output_tokens: Some(1),
        counted_messages,
        ..Session::default()
    };
    for counted in [Some(2), None] {
        let mut estimate = Estimate::default();
        estimate.resume(&session(counted), &messages);
        let request = estimate.request(&messages, 0);
        assert!((1_001..1_020).contains(&request.tokens), "{request:?}");
        assert_eq!(estimate.counted_messages(), 2);
    }
    // The count covers nothing, or other messages.
    for counted in [Some(0), Some(1), Some(9)] {
        let mut estimate = Estimate::default();
        estimate.resume(&session(counted), &messages);
        assert!(estimate.request(&messages, 0).tokens > 2_700);
        assert_eq!(estimate.counted_messages(), 0);
    }
}

#[test]
fn the_text_for_a_missing_beginning_is_not_counted_again_and_again() {
    let mut messages = vec![text_message(Role::User, &"x".repeat(9_984))];
    let mut estimate = Estimate::default();
    let mut request = estimate.request(&messages, 0);
    for round in 1..=50 {
        messages.push(text_message(Role::Assistant, &"y".repeat(984)));
        estimate.learn(Some(request), usage(10_000, 250), &messages);
        request = estimate.request(&messages, 0);
        assert_eq!(request.characters, 10_000 + 1_000 * round);
    }
}

#[test]
fn each_message_is_measured_once() {
    let mut messages: Vec<_> = (0..100).map(|_| text_message(Role::User, "four")).collect();
    let mut sizes = Sizes::default();
    assert_eq!(sizes.update(&messages), 100);
    messages.push(text_message(Role::Assistant, "answer"));
    assert_eq!((sizes.update(&messages), sizes.update(&messages)), (1, 0));
    assert_eq!((sizes.sum(..), sizes.sum(100..)), (100 * 20 + 22, 22));
    // The journal hides messages this way.
    Arc::make_mut(&mut messages[0]).metadata.agent_visible = false;
    assert_eq!((sizes.update(&messages), sizes.sum(..2)), (1, 20));
    messages.truncate(1);
    assert_eq!((sizes.update(&messages), sizes.sum(..)), (0, 0));
    assert_eq!(sizes.sum(9..), 0);
}

#[test]
fn everything_that_goes_back_to_a_model_is_counted() {
    let part = |part: Value| {
        let message = serde_json::json!({"role": "assistant", "created": 1, "content": [part]});
        size_of(&serde_json::from_value(message).unwrap()) - OVERHEAD
    };
    let long = "x".repeat(500);
    let metadata = serde_json::json!({"signature": long});
    let call = serde_json::json!({"status": "success", "value": {"name": "f", "arguments": {}}});
    let failed = serde_json::json!({"status": "error", "error": "no"});
    let kept = serde_json::json!({"name": "f", "arguments": {"x": long}});
    for content in [
        serde_json::json!({"type": "reasoning", "text": long}),
        serde_json::json!({"type": "thinking", "thinking": "", "signature": long}),
        serde_json::json!({"type": "redactedThinking", "data": long}),
        serde_json::json!({"type": "toolRequest", "id": "1", "toolCall": call, "metadata": metadata}),
        serde_json::json!({"type": "toolRequest", "id": "1", "toolCall": failed, "metadata": kept}),
    ] {
        let size = part(content.clone());
        assert!((500..550).contains(&size), "{size}: {content}");
    }
}

#[test]
fn a_rejected_count_leaves_none() {
    let mut messages = vec![text_message(Role::User, &"x".repeat(10_000))];
    let mut estimate = Estimate::default();
    let request = estimate.request(&messages, 0);
    messages.push(text_message(Role::Assistant, "yes"));
    estimate.learn(Some(request), usage(2_500, 1), &messages);
    assert_eq!(estimate.counted_messages(), 2);
    // The turn stores the tokens of this exchange.
    messages.push(text_message(Role::User, "and"));
    let request = estimate.request(&messages, 0);
    messages.push(text_message(Role::Assistant, "no"));
    estimate.learn(Some(request), usage(10, 10), &messages);
    assert_eq!(estimate.counted_messages(), 0);
}

#[test]
fn a_count_that_cannot_be_one_of_the_whole_request_is_left_alone() {
    let messages = [
        text_message(Role::User, &"x".repeat(10_000)),
        text_message(Role::Assistant, "yes"),
    ];
    let mut estimate = Estimate::default();
    let request = estimate.request(&messages[..1], 0);
    estimate.learn(Some(request), usage(10, 10), &messages);
    assert!(estimate.request(&messages, 0).tokens > 2_700);
}
