use super::super::cancel::Cancel;
use super::super::child_command::Command;
use super::*;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

fn sleeping() -> unix::Prepared {
    let mut command = Command::new("sleep");
    command.arg("300");
    let null = || File::open("/dev/null").unwrap().into();
    let mark = ProcessMark::of_server(&crate::random_hex(16).unwrap());
    let stdio = [null(), null(), null()];
    unix::Prepared::child(&command, &mark, stdio).unwrap().0
}

fn fork(spawner: &Spawner) -> i32 {
    let cancel = Cancel::new();
    let limit = StartLimit::new(Some(LIMIT), &cancel);
    spawner.fork(sleeping(), &limit).unwrap()
}

#[test]
fn the_end_of_a_guardian_is_reported() {
    let pid = sleeping().fork().unwrap();
    let (_, stdin) = io::pipe().unwrap();
    let (sender, reported) = unbounded();
    assert!(watch(&Guardian::of(pid, stdin), &sender));
    unix::kill_child(pid);
    let job = reported.recv_timeout(LIMIT);
    assert!(matches!(job, Ok(Job::Unguarded)));
    unix::reap(pid);
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LIMIT, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

fn is_reaped(pid: i32) -> bool {
    matches!(unix::state_of(pid), unix::State::NotOurs)
}

fn end(spawner: &Spawner, pid: i32) {
    unix::kill_child(pid);
    spawner.0.send(Job::Ended(pid)).unwrap();
    until("it is reaped", || is_reaped(pid));
}

#[test]
fn a_panic_ends_neither_the_children_nor_the_guardian() {
    let spawner = Spawner::start(|| true).unwrap();
    // A stand-in for the guardian, which gets its messages. A pipe that ends without `bye` is the alarm.
    let guardian = sleeping().fork().unwrap();
    let (mut heard, told) = io::pipe().unwrap();
    let stand_in = Guardian::of(guardian, told);
    spawner.0.send(Job::Guard(stand_in)).unwrap();
    let first = fork(&spawner);
    spawner.0.send(Job::Panic).unwrap();
    let second = fork(&spawner);
    for pid in [guardian, first, second] {
        assert!(matches!(unix::state_of(pid), unix::State::Runs));
    }
    let expected = format!("+{first}\n+{second}\n");
    let mut text = vec![0; expected.len()];
    heard.read_exact(&mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    end(&spawner, first);
    end(&spawner, second);
    let expected = format!("-{first}\n-{second}\n");
    let mut text = vec![0; expected.len()];
    heard.read_exact(&mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    unix::kill_child(guardian);
    until("the guardian is reaped", || {
        // This program does not start another guardian.
        let _ = spawner.0.send(Job::Unguarded);
        is_reaped(guardian)
    });
}

#[test]
fn a_guardian_that_does_not_read_is_killed_so_that_another_takes_its_place() {
    let spawner = Spawner::start(|| true).unwrap();
    let guardian = sleeping().fork().unwrap();
    let (_unread, mut told) = io::pipe().unwrap();
    unix::set_nonblocking(std::os::fd::AsRawFd::as_raw_fd(&told)).unwrap();
    // Full to the last byte.
    while io::Write::write(&mut told, b"+").is_ok() {}
    let stand_in = Guardian::of(guardian, told);
    spawner.0.send(Job::Guard(stand_in)).unwrap();
    let child = fork(&spawner);
    until("the guardian is killed and reaped", || {
        let _ = spawner.0.send(Job::Unguarded);
        is_reaped(guardian)
    });
    end(&spawner, child);
}

#[test]
fn a_start_waits_for_the_spawner_no_longer_than_it_may() {
    let spawner = Spawner::start(|| true).unwrap();
    let (release, held) = bounded(0);
    spawner.0.send(Job::Hold(held)).unwrap();
    let cancel = Cancel::new();
    let limit = StartLimit::new(Some(Duration::from_millis(100)), &cancel);
    let late = spawner.fork(sleeping(), &limit).unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    cancel.cancel();
    let limit = StartLimit::new(None, &cancel);
    let cancelled = spawner.fork(sleeping(), &limit).unwrap_err();
    assert_eq!(cancelled.kind(), io::ErrorKind::Interrupted);
    drop(release);
    end(&spawner, fork(&spawner));
}

#[test]
fn a_child_that_its_caller_does_not_take_is_killed() {
    let spawner = Spawner::start(|| true).unwrap();
    let (reply, answer) = bounded(1);
    let wanted = Arc::new(());
    let job = Job::Fork {
        prepared: Box::new(sleeping()),
        wanted: Arc::downgrade(&wanted),
        reply,
    };
    spawner.0.send(job).unwrap();
    until("it is made", || !answer.is_empty());
    let pid = answer.recv().unwrap().unwrap().pid;
    until("it is reaped", || is_reaped(pid));
}

#[test]
fn no_start_waits_for_the_search_for_leftovers() {
    static SEARCHING: AtomicBool = AtomicBool::new(false);
    static DONE: AtomicBool = AtomicBool::new(false);
    let spawner = Spawner::start(|| {
        SEARCHING.store(true, Ordering::SeqCst);
        until("the test is done", || DONE.load(Ordering::SeqCst));
        false
    })
    .unwrap();
    let guardian = sleeping().fork().unwrap();
    let (mut heard, told) = io::pipe().unwrap();
    let stand_in = Guardian::of(guardian, told);
    spawner.0.send(Job::Guard(stand_in)).unwrap();
    end(&spawner, fork(&spawner));
    until("it searches", || SEARCHING.load(Ordering::SeqCst));
    let child = fork(&spawner);
    assert!(!DONE.swap(true, Ordering::SeqCst));
    // The running search no longer counts: this child may have left descendants.
    end(&spawner, child);
    // In the end nothing is left, and the guardian is dismissed.
    unix::kill_child(guardian);
    let mut text = String::new();
    heard.read_to_string(&mut text).unwrap();
    assert!(text.ends_with(&format!("-{child}\nbye\n")), "{text:?}");
    until("the guardian is reaped", || is_reaped(guardian));
}
