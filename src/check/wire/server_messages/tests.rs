use super::*;

const NONE: [&Check; 0] = [];

fn faulty(method: &str, params: Value, capabilities: Value) -> Vec<&'static Check> {
    let faults = notification_faults(method, Some(&params), &capabilities);
    faults.into_iter().map(|(check, _)| check).collect()
}

#[test]
fn notifications_are_compared_with_the_schema_and_the_capabilities() {
    let progress = "notifications/progress";
    let fine = json!({"progressToken": "a", "progress": 0.5, "total": 1});
    assert_eq!(faulty(progress, fine, json!({})), NONE);
    let wrong = json!({"progressToken": 1.5, "progress": "1"});
    let shape = NOTIFICATION_SHAPE;
    assert_eq!(faulty(progress, wrong, json!({})), [shape, shape]);

    let log = "notifications/message";
    let fine = json!({"level": "info", "data": null});
    let logging = json!({"logging": {}});
    assert_eq!(faulty(log, fine.clone(), logging.clone()), NONE);
    assert_eq!(faulty(log, fine, json!({})), [LOG_MESSAGES]);
    let wrong = json!({"level": "INFO", "data": 1});
    assert_eq!(faulty(log, wrong, logging), [LOG_MESSAGES]);

    let changed = "notifications/tools/list_changed";
    assert_eq!(faulty(changed, json!({}), json!({})), [LIST_CHANGES]);
    let declared = json!({"tools": {"listChanged": true}});
    assert_eq!(faulty(changed, json!({}), declared), NONE);
    assert_eq!(faulty(changed, json!(1), json!({})), [shape]);

    assert_eq!(faulty("x/y", json!({"any": 1}), json!({})), NONE);
    let own = UNKNOWN_NOTIFICATIONS;
    assert_eq!(faulty("x/y", json!([1]), json!({})), [own]);
}

#[test]
fn only_declared_and_well_formed_requests_get_a_result() {
    let sampling = json!({"messages": [], "maxTokens": 5});
    let cases = [
        ("ping", json!({}), false, None),
        ("roots/list", json!({}), true, None),
        ("roots/list", json!({}), false, Some(SERVER_REQUESTS)),
        ("sampling/createMessage", sampling.clone(), true, None),
        (
            "sampling/createMessage",
            sampling,
            false,
            Some(SERVER_REQUESTS),
        ),
        (
            "sampling/createMessage",
            json!({}),
            true,
            Some(SERVER_REQUEST_SHAPE),
        ),
        ("tools/list", json!({}), true, Some(SERVER_REQUESTS)),
    ];
    for (method, params, is_declared, fault) in cases {
        let request = answer(method, Some(&params), is_declared);
        assert_eq!(request.answer.is_ok(), fault.is_none(), "{method}");
        let faults = request.faults.first().map(|(check, _)| *check);
        assert_eq!(faults, fault, "{method}");
    }
}
