use super::*;

#[test]
fn input_from_the_cache_has_its_own_price_and_is_not_paid_twice() {
    let price = TokenPrices {
        input: 2.5,
        output: 10.0,
        cached: 1.25,
        written: 5.0,
    };
    let usage = |input, cached, output| Usage {
        input: Some(input),
        cached: Some(cached),
        output: Some(output),
        ..Usage::default()
    };
    let cost = |usage| (price.of(usage) * 1e6).round();
    assert_eq!(cost(usage(1_000_000, 0, 100_000)), 3_500_000.0);
    assert_eq!(cost(usage(1_000_000, 400_000, 0)), 2_000_000.0);
    assert_eq!(cost(usage(100, 1_000, 0)), 125.0);
    assert_eq!(cost(Usage::default()), 0.0);
    let written = Usage {
        written: Some(200_000),
        ..usage(1_000_000, 400_000, 0)
    };
    assert_eq!(cost(written), 2_500_000.0);
}
