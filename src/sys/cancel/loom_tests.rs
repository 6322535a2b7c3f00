//! Tests of the token in every order of its threads.

use super::*;
use crate::sync::check;
use loom::thread;
use std::sync::atomic::AtomicUsize as Count;

/// Counts, without being a step of the model.
fn bump(count: &Arc<Count>) -> impl FnOnce() + Send + 'static {
    let count = count.clone();
    move || {
        count.fetch_add(1, Ordering::SeqCst);
    }
}

fn read(count: &Count) -> usize {
    count.load(Ordering::SeqCst)
}

#[test]
fn a_hook_runs_exactly_once_whenever_it_comes_and_whoever_cancels() {
    check(|| {
        let token = Cancel::new();
        let count = Arc::new(Count::new(0));
        let cancellers: Vec<_> = (0..2)
            .map(|_| {
                let token = token.clone();
                thread::spawn(move || token.cancel())
            })
            .collect();
        let guard = token.on_cancel(bump(&count));
        for canceller in cancellers {
            canceller.join().unwrap();
        }
        assert!(token.is_cancelled());
        assert_eq!(read(&count), 1);
        drop(guard);
        assert!(lock(&token.inner.hooks).waiting.is_empty());
    });
}

#[test]
fn a_hook_taken_back_before_the_end_does_not_run_and_one_taken_back_meanwhile_at_most_once() {
    check(|| {
        let (token, early, late) = (
            Cancel::new(),
            Arc::new(Count::new(0)),
            Arc::new(Count::new(0)),
        );
        drop(token.on_cancel(bump(&early)));
        let guard = token.on_cancel(bump(&late));
        let canceller = {
            let token = token.clone();
            thread::spawn(move || token.cancel())
        };
        drop(guard);
        canceller.join().unwrap();
        assert_eq!(read(&early), 0);
        assert!(read(&late) <= 1);
    });
}

#[test]
fn a_hook_that_uses_the_token_and_drops_its_own_guard_holds_nobody_up() {
    check(|| {
        let token = Cancel::new();
        let own: Arc<Mutex<Option<HookGuard>>> = Arc::default();
        let guard = {
            let own = own.clone();
            let token = token.clone();
            token.clone().on_cancel(move || {
                drop(lock(&own).take());
                drop(token.on_cancel(|| {}));
                token.cancel();
            })
        };
        *lock(&own) = Some(guard);
        let canceller = {
            let token = token.clone();
            thread::spawn(move || token.cancel())
        };
        drop(lock(&own).take());
        canceller.join().unwrap();
    });
}

#[test]
fn a_hook_that_owns_another_one_is_taken_back_with_it() {
    check(|| {
        let token = Cancel::new();
        let owned = token.on_cancel(|| {});
        let owner = token.on_cancel(move || drop(owned));
        let canceller = {
            let token = token.clone();
            thread::spawn(move || token.cancel())
        };
        drop(owner);
        canceller.join().unwrap();
        assert!(lock(&token.inner.hooks).waiting.is_empty());
    });
}

#[test]
fn a_child_that_is_made_while_its_parent_is_cancelled_is_cancelled() {
    check(|| {
        let parent = Cancel::new();
        let canceller = {
            let parent = parent.clone();
            thread::spawn(move || parent.cancel())
        };
        let child = parent.child();
        let count = Arc::new(Count::new(0));
        let hook = child.on_cancel(bump(&count));
        let grandchild = child.child();
        canceller.join().unwrap();
        assert!(child.is_cancelled() && grandchild.is_cancelled());
        assert_eq!(read(&count), 1);
        drop(hook);
    });
}

#[test]
fn a_child_that_ends_while_its_parent_is_cancelled_holds_nobody_up_and_leaves_nothing() {
    check(|| {
        let parent = Cancel::new();
        let child = parent.child();
        let others: [Box<dyn FnOnce() + Send>; 2] = [
            {
                let parent = parent.clone();
                Box::new(move || parent.cancel())
            },
            {
                let child = child.clone();
                Box::new(move || child.cancel())
            },
        ];
        let others = others.map(|other| thread::spawn(other));
        drop(child);
        for other in others {
            other.join().unwrap();
        }
        assert!(lock(&parent.inner.hooks).waiting.is_empty());
    });
}

#[test]
fn a_watch_that_finds_nobody_begins_once_and_runs_the_hooks_once() {
    check(|| {
        let parent = Cancel::new();
        let (begun, count) = (Arc::new(Count::new(0)), Arc::new(Count::new(0)));
        let begin = bump(&begun);
        let token = parent.child_watched(move |token| {
            begin();
            token.cancel();
        });
        let hook = token.on_cancel(bump(&count));
        let waiter = {
            let token = token.clone();
            thread::spawn(move || token.check())
        };
        token.check();
        parent.cancel();
        waiter.join().unwrap();
        assert!(token.is_cancelled());
        assert_eq!((read(&begun), read(&count)), (1, 1));
        drop(hook);
    });
}
