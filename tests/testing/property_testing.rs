//! Random input for property tests, biased towards meaningful values.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::{ArbTest, arbtest};
use serde_json::{Map, Number, Value};

/// Pieces of text that some code treats specially.
const PARTS: [&str; 40] = [
    "a",
    "key",
    "sk-1234",
    "4sk-",
    " ",
    "\n",
    "\r",
    "\t",
    "\0",
    "\u{7f}",
    "\u{9b}",
    "\x1b[31m",
    "\x1b]0;t\x07",
    "\u{ad}",
    "\u{61c}",
    "\u{200b}",
    "\u{200d}",
    "\u{200e}",
    "\u{2028}",
    "\u{202e}",
    "\u{2060}",
    "\u{2064}",
    "\u{2066}",
    "\u{2069}",
    "\u{206f}",
    "\u{feff}",
    "\u{fff9}",
    "\u{fe0f}",
    "\u{e0001}",
    "\u{e0041}",
    "\u{e007f}",
    "\u{e0100}",
    "é",
    "ß",
    "\u{301}",
    "日本",
    "\u{1f468}",
    "__",
    "\\",
    "\"",
];

/// Checks a property for a short time, or for `ARBTEST_BUDGET_MS`.
pub fn check<P: FnMut(&mut Unstructured<'_>) -> Result<()>>(property: P) -> ArbTest<P> {
    let budget = std::env::var("ARBTEST_BUDGET_MS").ok();
    let budget = budget.and_then(|budget| budget.parse().ok());
    (arbtest(property).size_max(4096)).budget_ms(budget.unwrap_or(150))
}

/// A vector of up to `most` values.
pub fn vec_of<T>(
    u: &mut Unstructured<'_>,
    most: usize,
    mut one: impl FnMut(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..u.int_in_range(0..=most)?).map(|_| one(u)).collect()
}

/// One of `parts`, or sometimes any character.
pub fn one_of(u: &mut Unstructured<'_>, parts: &[&str]) -> Result<String> {
    if u.ratio(1, 8)? {
        u.arbitrary::<char>().map(String::from)
    } else {
        u.choose(parts).map(|part| (*part).to_owned())
    }
}

/// Any text.
pub fn any_text(u: &mut Unstructured<'_>) -> Result<String> {
    vec_of(u, 20, |u| one_of(u, &PARTS)).map(|parts| parts.concat())
}

/// Splits `bytes` into pieces of any size, also empty ones.
pub fn split<'b>(u: &mut Unstructured<'_>, bytes: &'b [u8]) -> Result<Vec<&'b [u8]>> {
    let mut cuts = vec_of(u, 12, |u| u.int_in_range(0..=bytes.len()))?;
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    Ok(cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect())
}

/// Any JSON value; names and strings are often among `words`.
pub fn any_json(u: &mut Unstructured<'_>, words: &[&str], depth: u32) -> Result<Value> {
    let word = |u: &mut Unstructured<'_>| {
        if u.ratio(1, 6)? {
            any_text(u)
        } else {
            u.choose(words).map(|word| (*word).to_owned())
        }
    };
    Ok(match u.int_in_range(0..=if depth == 0 { 6 } else { 11 })? {
        0 => Value::Null,
        1 => Value::Bool(u.arbitrary()?),
        2 => Value::from(u.int_in_range(-2..=12)?),
        3 => Value::from(u.arbitrary::<u64>()?),
        4 => Number::from_f64(u.arbitrary()?).map_or(Value::Null, Value::Number),
        5 | 6 => Value::String(word(u)?),
        7 | 8 => Value::Array(vec_of(u, 4, |u| any_json(u, words, depth - 1))?),
        _ => {
            let member = |u: &mut Unstructured<'_>| Ok((word(u)?, any_json(u, words, depth - 1)?));
            Value::Object(vec_of(u, 6, member)?.into_iter().collect::<Map<_, _>>())
        }
    })
}
