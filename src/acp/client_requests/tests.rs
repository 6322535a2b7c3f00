use super::*;
use crate::MessageWriter;
use crate::sys::cancel::Cancel;
use crossbeam_channel::unbounded;
use std::io;

struct Discard;

impl MessageWriter for Discard {
    fn write(&mut self, _: &[Vec<u8>]) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn abandoned_requests_get_late_answers_and_are_bounded() {
    let outbox = Outbox::new("test", Discard, Cancel::new()).unwrap();
    let requests = ClientRequests::new(outbox.clone());
    let (sender, answered) = unbounded();
    let ids: Vec<i64> = (0..2 * MAX_ABANDONED)
        .map(|n| {
            let sender = sender.clone();
            let id = requests.send("x", &json!({}), move |_| {
                let _ = sender.send(n);
            });
            requests.abandon(id);
            id
        })
        .collect();
    assert_eq!(lock(&requests.state).pending.len(), MAX_ABANDONED);
    for id in [ids[0], ids[2 * MAX_ABANDONED - 1]] {
        requests.complete(&Id::Number(id), Err(unavailable()));
    }
    let answered: Vec<usize> = answered.try_iter().collect();
    assert_eq!(answered, [2 * MAX_ABANDONED - 1]);
    outbox.close(std::time::Duration::ZERO);
}

#[test]
fn requests_whose_answers_are_ignored_do_not_count_as_pending() {
    let outbox = Outbox::new("test", Discard, Cancel::new()).unwrap();
    let requests = ClientRequests::new(outbox.clone());
    for _ in 0..2 * MAX_PENDING {
        requests.send_only("terminal/release", &json!({}));
    }
    let (sender, answers) = unbounded();
    let id = requests.send("x", &json!({}), move |answer| {
        let _ = sender.send(answer.is_ok());
    });
    assert!(answers.is_empty());
    let result = serde_json::value::to_raw_value(&1).unwrap();
    requests.complete(&Id::Number(id), Ok(result));
    assert_eq!(answers.recv(), Ok(true));
    outbox.close(std::time::Duration::ZERO);
}
