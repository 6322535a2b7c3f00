use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn an_update_reaches_the_resource_and_what_holds_it() {
    let subscriptions = Subscriptions::default();
    let counts: Vec<_> = ["a://x", "a://x/y", "a://xx", "a://"]
        .map(|uri| {
            let count = Arc::new(AtomicUsize::new(0));
            let counted = count.clone();
            let updated = Arc::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
            });
            assert!(subscriptions.subscribe(uri, updated));
            count
        })
        .into();
    let notify = |params: &str| {
        let params = RawValue::from_string(params.to_owned()).unwrap();
        subscriptions.notify_updated(Some(&params));
        let seen: Vec<_> = counts.iter().map(|n| n.swap(0, Ordering::SeqCst)).collect();
        seen
    };
    assert_eq!(notify(r#"{"uri": "a://x/y"}"#), [1, 1, 0, 1]);
    assert_eq!(notify(r#"{"uri": "a://xx"}"#), [0, 0, 1, 1]);
    assert_eq!(notify(r#"{"uri": 5}"#), [0; 4]);
    subscriptions.notify_updated(None);
    subscriptions.notify_all();
    assert!(counts.iter().all(|n| n.load(Ordering::SeqCst) == 1));
    assert!(subscriptions.unsubscribe("a://x") && !subscriptions.unsubscribe("a://x"));
}

#[test]
fn subscriptions_are_bounded() {
    let subscriptions = Subscriptions::default();
    let nothing: OnResourceUpdated = Arc::new(|| {});
    for n in 0..MAX_SUBSCRIPTIONS {
        assert!(subscriptions.subscribe(&format!("a://{n}"), nothing.clone()));
    }
    assert!(!subscriptions.subscribe("a://one-more", nothing.clone()));
    assert!(
        subscriptions.subscribe("a://0", nothing),
        "it replaces a subscription"
    );
}
