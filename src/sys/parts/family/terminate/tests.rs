use super::*;
use crate::marked_processes::kill;
use crate::marked_processes::tests::{LIMIT, Limited, exhausted, runs, server, trapped};

#[test]
fn who_is_asked_may_see_to_its_affairs_first() {
    let mark = server().of_child(1);
    // Other processes come and go all the time.
    let none_left = |_| !terminate(&mark, LIMIT);
    assert!((0..1000).any(none_left), "a marked process is left");
    let other = Limited::new(&server().of_child(1));
    let mut child = trapped(&mark, "trap 'sleep 0.1; exit 7' TERM;");
    let begin = Instant::now();
    assert!(terminate(&mark, LIMIT));
    assert!(begin.elapsed() >= Duration::from_millis(100));
    // A process that is about to end has lost its mark already, and has no status yet.
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert!(other.runs());
    unix::kill_child(other.0);
    other.wait();
}

#[test]
fn all_who_do_not_listen_are_waited_for_together() {
    let mark = server().of_child(1);
    let mut deaf: Vec<_> = (0..4).map(|_| trapped(&mark, "trap '' TERM;")).collect();
    let limit = Duration::from_secs(2);
    let begin = Instant::now();
    assert!(terminate(&mark, limit));
    let took = begin.elapsed();
    assert!(took >= limit && took < 4 * limit, "{took:?}");
    assert!(deaf.iter_mut().all(runs));
    kill(&mark, LIMIT);
    for child in &mut deaf {
        child.wait().unwrap();
    }
}

#[test]
fn who_becomes_another_program_is_not_waited_for() {
    let mark = server().of_child(1);
    let mut child = trapped(&mark, "trap 'exec env -i sleep 300' TERM;");
    let begin = Instant::now();
    assert!(terminate(&mark, LIMIT));
    assert!(begin.elapsed() < LIMIT / 2, "{:?}", begin.elapsed());
    assert!(runs(&mut child));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_search_is_tried_again_while_descriptors_are_short_and_for_no_other_reason() {
    use std::cell::Cell;

    let mark = server().of_child(1);
    let child = Limited::new(&mark);
    let searches = Cell::new(0);
    let search = |error: fn() -> io::Error, failures: u32| {
        let searches = &searches;
        searches.set(0);
        move || {
            searches.set(searches.get() + 1);
            if searches.get() <= failures {
                Err(error())
            } else {
                Ok(vec![child.0])
            }
        }
    };
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    assert!(!terminate_listed(&mark, LIMIT, search(denied, 9)));
    assert_eq!(searches.get(), 1);
    // Who could not be listed in time may be there.
    let short = 3 * POLL_INTERVAL;
    assert!(terminate_listed(&mark, short, search(exhausted, 99)));
    assert!((2..99).contains(&searches.get()));
    assert!(child.runs());
    assert!(terminate_listed(&mark, LIMIT, search(exhausted, 2)));
    child.wait();
}
