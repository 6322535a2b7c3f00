use super::*;

#[test]
fn ranges_are_within_the_file() {
    assert_eq!(parse_range(&[2, 3], 10), Ok((2, 3)));
    assert_eq!(parse_range(&[2, -1], 10), Ok((2, 10)));
    assert_eq!(parse_range(&[9, 99], 10), Ok((9, 10)));
    for bad in [
        &[0, 3][..],
        &[4, 3],
        &[-1, 3],
        &[11, 12],
        &[1, -2],
        &[1],
        &[1, 2, 3],
        &[],
    ] {
        assert!(parse_range(bad, 10).is_err(), "{bad:?}");
    }
}
