use super::*;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A sink whose writes the test controls one by one.
struct Sink {
    /// Signals the beginning of a write.
    begun: Sender<()>,
    outcomes: Receiver<io::Result<usize>>,
    written: Sender<String>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.begun.send(());
        // After the end of a test, every write succeeds.
        let outcome = self.outcomes.recv().unwrap_or(Ok(usize::MAX));
        let n = outcome?.min(bytes.len());
        let _ = (self.written).send(String::from_utf8_lossy(&bytes[..n]).into_owned());
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Test {
    writer: &'static BackgroundWriter,
    begun: Receiver<()>,
    outcomes: Sender<io::Result<usize>>,
    written: Receiver<String>,
}

const ALL: usize = usize::MAX;
const LONG: Duration = Duration::from_secs(60);

impl Test {
    fn new() -> Self {
        let (outcomes, inbox) = channel();
        let (outbox, written) = channel();
        let (begins, begun) = channel();
        let sink = Sink {
            begun: begins,
            outcomes: inbox,
            written: outbox,
        };
        Test {
            writer: Box::leak(Box::new(BackgroundWriter::new("test", Box::new(sink)))),
            begun,
            outcomes,
            written,
        }
    }

    fn lets(&self, outcome: io::Result<usize>) {
        self.outcomes.send(outcome).unwrap();
    }

    fn written(&self) -> String {
        self.written.recv_timeout(LONG).expect("a write")
    }

    fn flush(&self, limit: Duration) {
        self.writer.flush(Instant::now() + limit);
    }
}

#[test]
fn what_finds_no_room_is_dropped_and_counted_and_nobody_waits() {
    let test = Test::new();
    let line = format!("{}\n", "x".repeat(999));
    test.writer.push("first\n");
    test.begun.recv_timeout(LONG).expect("a write begins");
    // The sink does not take anything yet.
    for _ in 0..MAX_QUEUED / 1000 + 8 {
        test.writer.push(&line);
    }
    // There is room again, but the count of dropped records comes first.
    test.writer.push("last\n");
    test.flush(Duration::from_millis(10));
    test.lets(Ok(ALL));
    let mut all = test.written();
    test.lets(Ok(ALL));
    test.flush(LONG);
    all.extend(test.written.try_iter());
    let written = all.matches(&line).count() as u64;
    assert!(
        all.starts_with("first\n") && !all.contains("last"),
        "{written}"
    );
    let (_, count) = all.rsplit_once(" count=").expect("a count");
    let dropped: u64 = count.trim().parse().unwrap();
    assert_eq!(written + dropped, (MAX_QUEUED / 1000 + 9) as u64);
    test.lets(Ok(ALL));
    test.writer.push("after\n");
    assert_eq!(test.written(), "after\n");
}

#[test]
fn everything_is_written_though_some_writes_fail_and_some_are_short() {
    let test = Test::new();
    for outcome in [
        Err(ErrorKind::StorageFull.into()),
        Err(ErrorKind::Interrupted.into()),
        Ok(2),
        Err(ErrorKind::WouldBlock.into()),
        Ok(0),
        Ok(ALL),
    ] {
        test.lets(outcome);
    }
    test.writer.push("one\n");
    assert_eq!([test.written(), test.written()], ["on", ""]);
    assert_eq!(test.written(), "e\n");
    test.flush(LONG);
}

#[test]
fn a_flush_waits_for_who_takes_time_and_not_for_who_takes_nothing() {
    let test = Test::new();
    let begin = Instant::now();
    test.writer.push("one\n");
    test.flush(Duration::from_millis(20));
    test.lets(Err(ErrorKind::StorageFull.into()));
    test.flush(LONG);
    assert!(begin.elapsed() < LONG / 2);
    test.lets(Ok(ALL));
    assert_eq!(test.written(), "one\n");
    while lock(&test.writer.state).fails {
        thread::yield_now();
    }
    test.writer.push("two\n");
    test.lets(Ok(ALL));
    test.flush(LONG);
    assert_eq!(test.written.try_recv().as_deref(), Ok("two\n"));
}

#[test]
fn a_reader_that_is_gone_ends_it() {
    let test = Test::new();
    test.lets(Err(ErrorKind::BrokenPipe.into()));
    test.writer.push("one\n");
    test.flush(LONG);
    test.writer.push("two\n");
    assert!(lock(&test.writer.state).queue.is_empty());
    assert!(test.written.recv().is_err(), "the thread ended");
}

#[test]
fn where_no_thread_can_be_started_the_caller_writes_and_a_thread_goes_on() {
    let test = Test::new();
    let here = || test.writer.write_queued(false);
    lock(&test.writer.state).queue = b"one\n".to_vec();
    for outcome in [
        Ok(2),
        Err(ErrorKind::Interrupted.into()),
        Err(ErrorKind::StorageFull.into()),
    ] {
        test.lets(outcome);
    }
    here();
    assert_eq!(test.written(), "on");
    test.flush(LONG);
    // Nothing is lost, and the count of dropped records comes once, whatever fails meanwhile.
    lock(&test.writer.state).dropped = 7;
    for _ in 0..3 {
        test.lets(Err(ErrorKind::StorageFull.into()));
        here();
        assert_eq!(lock(&test.writer.state).queue, b"e\n");
    }
    test.lets(Ok(ALL));
    test.lets(Ok(ALL));
    here();
    assert_eq!(test.written(), "e\n");
    assert!(test.written().ends_with(" count=7\n"));
    lock(&test.writer.state).queue = b"two\n".to_vec();
    test.lets(Err(ErrorKind::StorageFull.into()));
    here();
    lock(&test.writer.state).dropped = 8;
    test.writer.push("lost\n");
    for _ in 0..3 {
        test.lets(Ok(ALL));
    }
    assert_eq!(test.written(), "two\n");
    assert!(test.written().ends_with(" count=9\n"));
    test.writer.push("three\n");
    assert_eq!(test.written(), "three\n");
}
