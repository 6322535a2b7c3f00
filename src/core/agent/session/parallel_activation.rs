//! Activates extensions in parallel: a map whose items do not affect each other, even if one panics.

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
mod tests;
