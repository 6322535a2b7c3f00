//! Comparison of JSON numbers.

use serde_json::Number;
use std::cmp::Ordering;

/// A number that is not a float.
fn whole(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_with_float(a, float(b)),
        (None, Some(b)) => compare_with_float(b, float(a)).reverse(),
        (None, None) => float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal),
    }
}

/// Exact: a float has fewer digits than a whole number.
fn compare_with_float(whole: i128, float: f64) -> Ordering {
    // The conversion saturates, beyond every whole number of JSON.
    let below = float.floor();
    let order = whole.cmp(&(below as i128));
    if below < float {
        order.then(Ordering::Less)
    } else {
        order
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// Whether `number` is a multiple of `of`, by their decimal digits: 0.0075 is one of 0.0001.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let (Some((digits, exponent)), Some((of, of_exponent))) = (decimal(number), decimal(of)) else {
        return false;
    };
    if digits == 0 || of == 0 {
        return digits == 0;
    }
    if exponent < of_exponent {
        let scale = 10_u128.checked_pow(of_exponent.abs_diff(exponent));
        // More than any digits that a number has.
        let Some(of) = scale.and_then(|scale| of.checked_mul(scale)) else {
            return false;
        };
        return digits % of == 0;
    }
    // `of` has at most 20 digits, which the remainders do not exceed.
    let mut rest = digits % of;
    for _ in of_exponent..exponent {
        if rest == 0 {
            return true;
        }
        match rest.checked_mul(10) {
            Some(product) => rest = product % of,
            None => return false,
        }
    }
    rest == 0
}

/// The decimal digits of the absolute value as a whole number, and the power of ten for it.
fn decimal(number: &Number) -> Option<(u128, i32)> {
    if let Some(whole) = whole(number) {
        return Some((whole.unsigned_abs(), 0));
    }
    let text = format!("{:e}", number.as_f64()?.abs());
    let (digits, exponent) = text.split_once('e')?;
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let digits = digits.replace('.', "").parse().ok()?;
    Some((
        digits,
        exponent.parse::<i32>().ok()? - i32::try_from(places).ok()?,
    ))
}
