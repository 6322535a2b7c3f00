//! Sorting that is compiled once for all types: std's own takes 5 KB for each type and order.

use std::cmp::Ordering;

/// Sorts as `items.sort_by(compare)` does, a little slower. For lists that do not matter to speed.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    sort_places(&mut order, &|a, b| compare(&items[a], &items[b]));
    let mut unsorted: Vec<_> = items.drain(..).map(Some).collect();
    items.extend(order.into_iter().filter_map(|place| unsorted[place].take()));
}

#[inline(never)]
fn sort_places(order: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    order.sort_by(|a, b| compare(*a, *b));
}

#[cfg(test)]
mod tests;
