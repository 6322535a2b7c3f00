use super::*;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

/// Writes a batch for each permission, to a channel.
struct Slow(Receiver<()>, Sender<usize>);

impl MessageWriter for Slow {
    fn write(&mut self, messages: &[Vec<u8>]) -> io::Result<()> {
        self.0.recv().map_err(io::Error::other)?;
        let _ = self.1.send(messages.len());
        Ok(())
    }
}

fn outbox() -> (Outbox, Sender<()>, Receiver<usize>, Cancel) {
    let (permit, permits) = bounded(100);
    let (sender, written) = unbounded();
    let gone = Cancel::new();
    let outbox = Outbox::new("test", Slow(permits, sender), gone.clone()).unwrap();
    (outbox, permit, written, gone)
}

#[test]
fn a_turn_waits_for_a_client_that_does_not_read_until_it_is_cancelled() {
    let (outbox, permit, written, gone) = outbox();
    let cancel = Cancel::new();
    assert!(outbox.send_when_room(vec![vec![b'x'; SOFT_LIMIT + 1]], &cancel));
    cancel.cancel();
    assert!(!outbox.send_when_room(vec![b"more".to_vec()], &cancel));
    permit.send(()).unwrap();
    assert_eq!(written.recv(), Ok(1));
    assert!(outbox.send_when_room(vec![b"more".to_vec()], &Cancel::new()));
    drop(permit);
    assert!(gone.wait_timeout(Duration::from_secs(60)));
    assert!(!outbox.send_when_room(vec![b"lost".to_vec()], &Cancel::new()));
}

#[test]
fn a_client_that_never_reads_is_disconnected_at_a_bound() {
    let (outbox, permit, _, gone) = outbox();
    for _ in 0..4 {
        outbox.send(vec![b'x'; HARD_LIMIT / 4]);
        assert!(!gone.is_cancelled());
    }
    outbox.send(vec![b'x'; 1]);
    assert!(gone.is_cancelled());
    drop(permit);
}

#[test]
fn what_is_queued_is_written_before_the_end() {
    let (outbox, permit, written, _) = outbox();
    outbox.send(b"a".to_vec());
    outbox.send(b"b".to_vec());
    for _ in 0..2 {
        permit.send(()).unwrap();
    }
    outbox.close(Duration::from_secs(60));
    assert_eq!(written.try_iter().sum::<usize>(), 2);
    outbox.send(b"c".to_vec());
    assert!(written.is_empty());
}
