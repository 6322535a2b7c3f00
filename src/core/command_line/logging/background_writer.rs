//! Writes records in a thread, so that logging never blocks, whatever state the destination is in.
//!
//! A record costs its caller a lock, and a system call if the thread sleeps. The thread writes all queued records
//! with one system call.

use crate::sys::{self, SMALL_STACK, clock, lock};
use std::io::{ErrorKind, Write};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The size of the queue, in bytes. Records beyond it are dropped and counted.
const MAX_QUEUED: usize = 512 << 10;
/// The shortest and the longest pause before a failed write is retried.
const RETRY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A writer for records. Its thread starts with the first record and ends with the process.
pub(super) struct BackgroundWriter {
    /// The name of the thread, for example `log file`.
    name: &'static str,
    state: Mutex<State>,
    /// Signals that the queue is not empty.
    filled: Condvar,
    /// Signals that everything has been written, or that a write has failed.
    settled: Condvar,
}

struct State {
    /// The destination, until the thread takes it.
    sink: Option<Box<dyn Write + Send>>,
    /// Whether the thread runs.
    runs: bool,
    /// The queued lines.
    queue: Vec<u8>,
    /// How many records were dropped. No record is queued until the count has been written.
    dropped: u64,
    /// Whether the thread is writing.
    writes: bool,
    /// Whether the last write failed; it is retried.
    fails: bool,
    /// Whether the destination is closed for good.
    closed: bool,
}

impl BackgroundWriter {
    /// Creates a writer for `sink`.
    pub(super) fn new(name: &'static str, sink: Box<dyn Write + Send>) -> Self {
        BackgroundWriter {
            name,
            state: Mutex::new(State {
                sink: Some(sink),
                runs: false,
                queue: Vec::new(),
                dropped: 0,
                writes: false,
                fails: false,
                closed: false,
            }),
            filled: Condvar::new(),
            settled: Condvar::new(),
        }
    }

    /// Queues one or more complete lines, or counts them as dropped.
    pub(super) fn push(&'static self, lines: &str) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        if !state.runs {
            let name = self.name.to_owned();
            // Without a thread the queue fills up; the next record tries again.
            state.runs = sys::spawn(name, Some(SMALL_STACK), || self.run()).is_ok();
        }
        if state.dropped > 0 || state.queue.len() + lines.len() > MAX_QUEUED {
            state.dropped += 1;
            return;
        }
        let sleeps = state.queue.is_empty() && !state.writes;
        state.queue.extend_from_slice(lines.as_bytes());
        drop(state);
        if sleeps {
            self.filled.notify_one();
        }
    }

    /// Waits until everything has been written, at most until `end`; returns at once if writing fails.
    pub(super) fn flush(&self, end: Instant) {
        let mut state = lock(&self.state);
        while state.runs && !state.fails && (state.writes || !state.queue.is_empty()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.settled.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The thread's function.
    fn run(&self) {
        let Some(mut sink) = lock(&self.state).sink.take() else {
            return;
        };
        loop {
            let lines = self.next();
            if !self.write(&mut *sink, &lines) {
                return;
            }
        }
    }

    /// Waits for queued lines and takes them.
    fn next(&self) -> Vec<u8> {
        let mut state = lock(&self.state);
        state.writes = false;
        self.settled.notify_all();
        while state.queue.is_empty() {
            let waited = self.filled.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.writes = true;
        let mut lines = std::mem::take(&mut state.queue);
        let dropped = std::mem::take(&mut state.dropped);
        drop(state);
        if dropped > 0 {
            let warning = format!(
                "{} WARN log records dropped: the queue was full count={dropped}\n",
                clock::now_rfc3339()
            );
            lines.extend_from_slice(warning.as_bytes());
        }
        lines
    }

    /// Writes all lines, however long that takes; returns false if the destination is closed.
    fn write(&self, sink: &mut dyn Write, lines: &[u8]) -> bool {
        let mut rest = lines;
        let mut pause = RETRY.0;
        while !rest.is_empty() {
            match sink.write(rest) {
                Ok(n @ 1..) => {
                    rest = &rest[n..];
                    self.set(|state| state.fails = false);
                    pause = RETRY.0;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    self.set(|state| {
                        state.queue = Vec::new();
                        (state.writes, state.closed) = (false, true);
                    });
                    return false;
                }
                failed => {
                    // A slow reader may continue soon, so this does not count as a failure.
                    let slow = failed.is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
                    self.set(|state| state.fails = !slow);
                    thread::sleep(pause);
                    pause = RETRY.1.min(pause * 2);
                }
            }
        }
        true
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.settled.notify_all();
    }
}

#[cfg(test)]
mod tests {
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
}
