use super::*;

fn result_of(answer: Value, schema: Value) -> (ElicitAction, Option<Value>) {
    let answer = Some(answer).filter(|answer| !answer.is_null());
    let result = elicit_result(answer, &schema, ElicitMode::Form).unwrap();
    (result.action, result.content.map(Value::Object))
}

#[test]
fn an_answer_says_yes_no_or_nothing() {
    let form = json!({"properties": {"name": {"type": "string"}}});
    for (answer, action, content) in [
        (json!(null), ElicitAction::Decline, None),
        (
            json!({"name": "x"}),
            ElicitAction::Accept,
            Some(json!({"name": "x"})),
        ),
        (json!({"action": "cancel"}), ElicitAction::Cancel, None),
        (
            json!({"action": "decline", "content": {"name": "x"}}),
            ElicitAction::Decline,
            None,
        ),
        (
            json!({"action": "accept", "content": {"name": "x"}}),
            ElicitAction::Accept,
            Some(json!({"name": "x"})),
        ),
    ] {
        assert_eq!(result_of(answer, form.clone()), (action, content));
    }
    let with_action = json!({"properties": {"action": {"type": "string"}}});
    let filled_in = json!({"action": "cancel"});
    let accepted = (ElicitAction::Accept, Some(filled_in.clone()));
    assert_eq!(result_of(filled_in, with_action), accepted);
}

#[test]
fn only_so_many_ask_at_once() {
    let count = AtomicUsize::new(0);
    let all: Vec<_> = (0..MAX_PARALLEL_SAMPLING)
        .map_while(|_| SamplingSlot::take(&count))
        .collect();
    assert_eq!(all.len(), MAX_PARALLEL_SAMPLING);
    assert!(SamplingSlot::take(&count).is_none());
    drop(all);
    assert!(SamplingSlot::take(&count).is_some());
}
