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
