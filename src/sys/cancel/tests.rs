use super::*;
use std::sync::atomic::AtomicUsize;

#[test]
fn a_hook_runs_once_and_not_after_its_guard_is_gone() {
    let token = Cancel::new();
    let count = Arc::new(AtomicUsize::new(0));
    let bump = |count: &Arc<AtomicUsize>| {
        let count = count.clone();
        move || {
            count.fetch_add(1, Ordering::SeqCst);
        }
    };
    let kept = token.on_cancel(bump(&count));
    drop(token.on_cancel(bump(&count)));
    token.cancel();
    token.cancel();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let late = token.on_cancel(bump(&count));
    assert_eq!(count.load(Ordering::SeqCst), 2);
    drop((kept, late));
}

#[test]
fn a_message_the_end_of_its_senders_the_deadline_and_a_cancellation_end_a_wait() {
    let token = Cancel::new();
    let (sender, inbox) = bounded(1);
    sender.send(7).unwrap();
    assert_eq!(token.receive(&inbox, Duration::MAX), Ok(7));
    let late = token.receive(&inbox, Duration::ZERO);
    assert_eq!(late, Err(NoMessage::TimedOut));
    std::thread::scope(|scope| {
        scope.spawn(|| token.cancel());
        let cancelled = token.receive(&inbox, Duration::MAX);
        assert_eq!(cancelled, Err(NoMessage::Cancelled));
    });
    drop(sender);
    let closed = Cancel::new().receive(&inbox, Duration::MAX);
    assert_eq!(closed, Err(NoMessage::Closed));
    let watched = Cancel::new().child_watched(|token| token.cancel());
    let gone = watched.receive(&never::<()>(), Duration::MAX);
    assert_eq!(gone, Err(NoMessage::Cancelled));
}

#[test]
fn a_child_follows_its_parent_but_not_the_reverse() {
    let parent = Cancel::new();
    let one = parent.child();
    let two = parent.child();
    one.cancel();
    assert!(!parent.is_cancelled() && !two.is_cancelled());
    parent.cancel();
    assert!(two.is_cancelled());
    assert!(parent.child().is_cancelled());
}

#[test]
fn a_dropped_child_leaves_nothing_with_its_parent() {
    let parent = Cancel::new();
    drop(parent.child());
    assert!(lock(&parent.inner.hooks).waiting.is_empty());
}

#[test]
fn a_wait_ends_with_its_timeout_or_its_token() {
    let long = Duration::from_secs(60);
    let token = Cancel::new();
    assert!(!token.wait_timeout(Duration::ZERO));
    assert!(!token.wait_timeout(Duration::from_millis(5)));
    let canceller = {
        let token = token.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            token.cancel();
        })
    };
    let start = Instant::now();
    assert!(token.wait_timeout(long) && token.wait_timeout(long));
    assert!(start.elapsed() < long);
    canceller.join().unwrap();
}

#[test]
fn only_a_wait_that_lasts_begins_to_watch_and_only_the_first_of_them() {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let root = Cancel::new();
    let token = root.child_watched(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let grandchild = token.child().child();
    let (sender, inbox) = bounded(1);
    sender.send(()).unwrap();
    assert_eq!(grandchild.receive(&inbox, Duration::MAX), Ok(()));
    assert!(!root.check() && begun.load(Ordering::SeqCst) == 0);
    let left = Duration::from_secs(60);
    assert_eq!(grandchild.longest_sleep(left), WATCH_AFTER);
    assert_eq!(root.longest_sleep(left), left);
    assert!(!grandchild.wait_timeout(WATCH_AFTER) && !token.wait_timeout(WATCH_AFTER));
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    assert_eq!(grandchild.longest_sleep(left), left);
}

#[test]
fn what_watches_cancels_the_token_and_what_descends_from_it_and_keeps_neither() {
    let (sender, watching) = bounded(1);
    let root = Cancel::new();
    let token = root.child_watched(move |weak| sender.send(weak).unwrap());
    let grandchild = token.child().child();
    let waiter = std::thread::spawn(move || grandchild.wait_timeout(Duration::from_secs(60)));
    let weak = watching.recv().unwrap();
    assert!(weak.is_needed());
    weak.cancel();
    assert!(waiter.join().unwrap() && token.is_cancelled() && !root.is_cancelled());
    assert!(!weak.is_needed());
    let (sender, watching) = bounded(1);
    let token = root.child_watched(move |weak| sender.send(weak).unwrap());
    token.check();
    drop(token);
    assert!(!watching.recv().unwrap().is_needed());
}

#[test]
fn a_token_with_a_deadline_is_cancelled_then() {
    let now = Instant::now();
    let parent = Cancel::new();
    assert!(!parent.child_until(now + Duration::from_secs(60)).check());
    let begin = Instant::now();
    let end = begin + Duration::from_millis(20);
    assert!(
        parent
            .child_until(end)
            .wait_timeout(Duration::from_secs(60))
    );
    assert!(Instant::now() > end && !parent.is_cancelled());
    // The earliest deadline counts, and ends a wait for a message, too.
    let nested = parent
        .child_until(Instant::now())
        .child_until(now + Duration::from_secs(60));
    let (_sender, inbox) = bounded::<()>(1);
    let late = nested.child().receive(&inbox, Duration::MAX);
    assert_eq!(late, Err(NoMessage::Cancelled));
}

#[test]
fn a_hook_that_panics_holds_no_other_back() {
    let token = Cancel::new();
    let _panics = token.on_cancel(|| panic!("on purpose"));
    let child = token.child();
    token.cancel();
    assert!(child.is_cancelled());
}
