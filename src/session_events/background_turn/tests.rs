use super::*;
use crate::event_log::Received;

#[test]
fn the_number_of_turns_is_limited_and_each_is_counted_until_it_ends() {
    let turns = Arc::default();
    let mut running = Vec::new();
    for _ in 0..MAX_TURNS {
        running.push(CountedTurn::begin(&turns).unwrap());
    }
    for _ in 0..3 {
        let refused = CountedTurn::begin(&turns);
        assert!(matches!(refused, Err(Error::Busy { .. })));
    }
    running.pop();
    assert!(CountedTurn::begin(&turns).is_ok());
    running.clear();
    assert_eq!(turns.load(Ordering::SeqCst), 0);
}

#[test]
fn a_request_that_is_dropped_ends_with_an_error_that_names_it() {
    let log = Arc::new(EventLog::default());
    let turns = Arc::default();
    log.open_request("a\"b", &Cancel::new()).unwrap();
    drop(OpenRequest {
        log: log.clone(),
        id: "a\"b".to_owned(),
        fields: request_fields("a\"b"),
        closed: false,
        _counted: CountedTurn::begin(&turns).unwrap(),
    });
    assert!(!log.has_requests());
    let (mut listener, _) = log.listen(None);
    let Received::Events(events) = listener.receive(std::time::Instant::now()) else {
        panic!("no event");
    };
    let event: serde_json::Value = serde_json::from_slice(&events[0].1).unwrap();
    assert_eq!(event["type"], "Error");
    assert_eq!(event["chat_request_id"], "a\"b");
    assert_eq!(event["request_id"], "a\"b");
}
