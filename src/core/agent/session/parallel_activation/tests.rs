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
