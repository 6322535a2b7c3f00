use super::*;

fn raw(value: Value) -> RawJson {
    serde_json::value::to_raw_value(&value).unwrap()
}

#[test]
fn only_an_offered_option_allows_a_call() {
    for (answer, expected) in [
        (
            json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}}),
            Confirmation::AllowOnce,
        ),
        (
            json!({"outcome": {"outcome": "selected", "optionId": "reject_always"}}),
            Confirmation::AlwaysDeny,
        ),
        (
            json!({"outcome": {"outcome": "selected", "optionId": "allow_always"}}),
            Confirmation::AlwaysAllow,
        ),
        (
            json!({"outcome": {"outcome": "selected", "optionId": "reject_once"}}),
            Confirmation::DenyOnce,
        ),
        (
            json!({"outcome": {"outcome": "selected", "optionId": "yes"}}),
            Confirmation::Cancel,
        ),
        (
            json!({"outcome": {"outcome": "selected"}}),
            Confirmation::Cancel,
        ),
        (
            json!({"outcome": {"outcome": "cancelled", "optionId": "allow_once"}}),
            Confirmation::Cancel,
        ),
        (json!({"outcome": "selected"}), Confirmation::Cancel),
        (json!(null), Confirmation::Cancel),
    ] {
        assert_eq!(
            confirmation_in(Some(&raw(answer.clone()))),
            expected,
            "{answer}"
        );
    }
    assert_eq!(confirmation_in(None), Confirmation::Cancel);
}

#[test]
fn an_elicitation_is_accepted_declined_or_cancelled() {
    let data = |answer: Value| elicitation_data(&raw(answer));
    let accepted = json!({"action": "accept", "content": {"a": 1}});
    assert_eq!(data(accepted.clone()), Some(accepted));
    assert_eq!(
        data(json!({"action": "cancel"})),
        Some(json!({"action": "cancel"}))
    );
    assert_eq!(data(json!({"action": "decline"})), None);
    assert_eq!(data(json!([])), None);
}
