//! A parallel map. A panic for one item does not affect the others.

use crate::sys::threads::share;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The results of `work` for `items`, in their order, computed in at most `most` threads. Where `work`
/// panics, `panicked` gives the result instead.
pub(in crate::agent) fn parallel_map<T: Sync, R: Send + Sync>(
    items: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
    panicked: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let results: Vec<_> = items.iter().map(|_| OnceLock::new()).collect();
    share(items.len(), most, "activate", &|n| {
        let done = catch_unwind(AssertUnwindSafe(|| work(&items[n])));
        let _ = results[n].set(done.unwrap_or_else(|_| panicked(&items[n])));
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
