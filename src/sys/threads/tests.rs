use super::*;
use std::collections::HashSet;
use std::sync::{Arc, Barrier, Mutex};

#[test]
fn each_number_is_worked_on_once_and_by_no_more_threads_than_allowed() {
    for (count, most) in [(0, 4), (1, 4), (50, 1), (50, 4)] {
        let done = Mutex::new((vec![0; count], HashSet::new()));
        share(count, most, "share", &|n| {
            let mut done = done.lock().unwrap();
            done.0[n] += 1;
            done.1.insert(thread::current().id());
        });
        let (each, threads) = done.into_inner().unwrap();
        assert!(each.iter().all(|times| *times == 1), "{each:?}");
        assert!(threads.len() <= most);
    }
    // All of them at the same time.
    let together = Barrier::new(4);
    share(4, 4, "share", &|_| {
        together.wait();
    });
}

#[test]
fn all_are_joined_or_those_that_have_ended() {
    let end = Arc::new(Barrier::new(2));
    let started = |threads: &mut Threads| {
        let end = end.clone();
        let waits = move || {
            end.wait();
        };
        threads.add(spawn("with \0".to_owned(), Some(SMALL_STACK), waits).unwrap());
    };
    let mut threads = Threads::default();
    started(&mut threads);
    assert_eq!(threads.join(false), 1);
    end.wait();
    let mut threads = Threads::default();
    started(&mut threads);
    end.wait();
    assert_eq!(threads.join(true), 0);
}

#[test]
fn a_thread_does_not_wait_for_itself() {
    let threads = Arc::new(Mutex::new(Threads::default()));
    let own = threads.clone();
    let ready = Arc::new(Barrier::new(2));
    let is_ready = ready.clone();
    let (sender, joined) = crossbeam_channel::bounded(1);
    let thread = spawn("itself".to_owned(), None, move || {
        is_ready.wait();
        let threads = std::mem::take(&mut *own.lock().unwrap());
        let has_this = threads.has_this();
        sender.send((has_this, threads.join(true))).unwrap();
    });
    threads.lock().unwrap().add(thread.unwrap());
    assert!(!threads.lock().unwrap().has_this());
    ready.wait();
    assert_eq!(joined.recv(), Ok((true, 0)));
}

#[test]
fn a_thread_that_does_not_end_is_left() {
    let end = Arc::new(Barrier::new(2));
    let waits = end.clone();
    let mut threads = Threads::default();
    let stays = spawn("stays".to_owned(), None, move || {
        waits.wait();
    });
    threads.add(stays.unwrap());
    threads.add(spawn("ends".to_owned(), None, || {}).unwrap());
    assert_eq!(threads.join_within(Duration::from_millis(50)), 1);
    end.wait();
}

#[test]
fn a_panic_that_is_caught_is_its_message() {
    assert_eq!(caught("work", || 1), Ok(1));
    let text = String::from("made up");
    assert_eq!(
        caught("work", || panic!("fixed")),
        Err::<(), _>("fixed".to_owned())
    );
    assert_eq!(
        caught("work", || panic!("{text}")),
        Err::<(), _>(text.clone())
    );
    let other = || std::panic::panic_any(7);
    assert_eq!(
        caught("work", other),
        Err::<(), _>("a panic without a message".to_owned())
    );
}
