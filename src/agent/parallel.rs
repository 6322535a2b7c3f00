//! A parallel map. A panic for one item does not affect the others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The results of `work` for `items`, in their order, computed in at most `most` threads. Where `work`
/// panics, `panicked` gives the result instead.
pub(super) fn parallel_map<T: Sync, R: Send + Sync>(
    items: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
    panicked: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let results: Vec<_> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some((item, result)) = {
            let n = next.fetch_add(1, Ordering::Relaxed);
            items.get(n).zip(results.get(n))
        } {
            let done = catch_unwind(AssertUnwindSafe(|| work(item)));
            let _ = result.set(done.unwrap_or_else(|_| panicked(item)));
        }
    };
    thread::scope(|scope| {
        for n in 1..items.len().min(most) {
            let thread = thread::Builder::new().name(format!("activate {n}"));
            // If a thread cannot start, the others do its work.
            let _ = thread.spawn_scoped(scope, take);
        }
        take();
    });
    results
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_takes_no_other_result_with_it() {
        let numbers: Vec<u32> = (0..40).collect();
        for most in [1, 2, 16] {
            let work = |number: &u32| match number % 10 {
                3 => std::panic::resume_unwind(Box::new("on purpose")),
                _ => number + 100,
            };
            let results = parallel_map(&numbers, most, work, |number| *number);
            let expected = numbers.iter().map(|number| match number % 10 {
                3 => *number,
                _ => number + 100,
            });
            assert_eq!(results, expected.collect::<Vec<_>>());
        }
    }
}
