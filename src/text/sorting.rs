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
mod tests {
    use super::sort_by;

    #[test]
    fn it_sorts_and_keeps_the_order_of_equals() {
        for length in [0, 1, 2, 19, 20, 21, 1_000] {
            let mut items: Vec<_> = (0..length).map(|n| (n * 7_919 % 101, n)).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| std::cmp::Reverse(item.0));
            sort_by(&mut items, |a, b| b.0.cmp(&a.0));
            assert_eq!(items, expected);
        }
    }
}
