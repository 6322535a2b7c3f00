use super::*;

const NOTE: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

fn after(messages: &[&[u8]], ended: bool) -> First {
    let stream = Arc::new(ResponseStream::default());
    let sink = stream.sink();
    messages.iter().for_each(|message| sink(message.to_vec()));
    let sink = Some(sink).filter(|_| !ended);
    let first = stream.first(Duration::ZERO);
    drop(sink);
    first
}

#[test]
fn only_a_lone_answer_needs_no_stream() {
    assert!(matches!(after(&[ANSWER], true), First::Response(it) if it == ANSWER));
    assert!(matches!(after(&[], true), First::Nothing));
    for (messages, ended) in [
        (&[][..], false),
        (&[ANSWER], false),
        (&[NOTE], false),
        (&[NOTE], true),
        (&[NOTE, ANSWER], true),
    ] {
        assert!(matches!(after(messages, ended), First::More));
    }
}

#[test]
fn what_is_kept_is_bounded_and_never_the_answer_is_lost() {
    let mut state = State::default();
    for _ in 0..MAX_KEPT / 100 {
        state.push(vec![b' '; 1000]);
    }
    assert!(state.bytes <= MAX_KEPT && state.kept.len() == MAX_KEPT / 1000);
    state.push(vec![b' '; 2 * MAX_KEPT]);
    assert_eq!(state.kept.len(), 1);
    let last = (MAX_KEPT / 100) as u64 + 1;
    assert_eq!(state.count(), last);
    assert_eq!(state.after(3)[0].0, last);
    assert!(state.after(last).is_empty());
}

#[test]
fn who_came_back_last_listens_in_whatever_order_they_begin() {
    let stream = ResponseStream::default();
    let [left, back, head] = [(); 3].map(|()| stream.new_reader());
    assert!(stream.activate(back));
    assert!(!stream.activate(left), "it is older");
    // A reader that does not start takes no messages.
    assert_eq!(lock(&stream.state).active_reader, back);
    assert!(stream.activate(head) && !stream.activate(back));
}

#[test]
fn event_ids_come_back_as_they_went() {
    let id = EventId {
        stream: 7,
        message: 12,
    };
    assert_eq!(id.to_string().parse(), Ok(id));
    for wrong in [
        "",
        "7",
        "7-",
        "-7",
        "a-b",
        "7-12-1",
        "99999999999999999999-1",
    ] {
        assert_eq!(wrong.parse::<EventId>(), Err(()), "{wrong}");
    }
}
