//! Describes where a file has text that is similar to a text that it does not have. Pure: no I/O.

use std::fmt::Write;
use std::path::Path;

/// How many similar lines the message names.
const MAX_SUGGESTIONS: usize = 3;
/// How many lines are compared at each position. Without a limit, a file and a text of equal lines would take
/// quadratic time.
const MAX_COMPARED_LINES: usize = 100;
/// The lowest similarity of a line that the message names, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;

/// The error message for an `old` that is not in `text`: it names the place that comes closest.
pub(super) fn not_found_message(path: &Path, text: &str, old: &str) -> String {
    let mut message = format!(
        "`old_str` is not in {} as it is written, blanks included",
        path.display()
    );
    // Leading empty lines match almost anywhere.
    let wanted = old.lines().skip_while(|line| line.trim().is_empty());
    let wanted: Vec<&str> = wanted.collect();
    let first = wanted.first().copied().unwrap_or(old);
    let lines: Vec<&str> = text.lines().collect();
    if let Some((n, expected)) = first_difference(&lines, &wanted) {
        let end = "the end of the file".to_owned();
        let there = lines.get(n).map_or(end, |line| quoted(line));
        let _ = write!(
            message,
            ": it matches from line {} on, but line {} is {there}, not {}",
            n + 1 - expected,
            n + 1,
            quoted(wanted[expected])
        );
        return message;
    }
    let mut near: Vec<(f64, usize, &str)> = lines
        .iter()
        .enumerate()
        .map(|(n, line)| (similarity(first.trim(), line.trim()), n + 1, *line))
        .filter(|(similarity, ..)| *similarity >= MIN_SIMILARITY)
        .collect();
    gosling_core::sorting::sort_by(&mut near, |a, b| b.0.total_cmp(&a.0));
    if near.is_empty() {
        message.push_str("; view the file to see its content");
    } else {
        let near = near.iter().take(MAX_SUGGESTIONS);
        let near = near.map(|(_, n, line)| format!("line {n}, {}", quoted(line)));
        let near = near.collect::<Vec<_>>();
        let _ = write!(message, "; similar to its first line: {}", near.join("; "));
    }
    message
}

/// The position where the most wanted lines match before one differs, as the index of the differing line in
/// `lines` and in `wanted`.
fn first_difference(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let same = |at: usize, wanted: &[&str]| {
        let pairs = lines[at..].iter().zip(wanted);
        pairs.take_while(|(line, wanted)| line == wanted).count()
    };
    let head = &wanted[..wanted.len().min(MAX_COMPARED_LINES)];
    let places = (0..lines.len()).map(|at| (same(at, head), at));
    let found = places.filter(|(same, _)| (1..wanted.len()).contains(same));
    // The first of several equally good positions.
    let (_, at) = found.max_by_key(|(same, at)| (*same, std::cmp::Reverse(*at)))?;
    let same = same(at, wanted);
    (same < wanted.len()).then_some((at + same, same))
}

fn quoted(line: &str) -> String {
    let line: String = line.chars().take(200).collect();
    format!("{line:?}")
}

/// The similarity of two lines, from 0 to 1: the share of adjacent character pairs that they have in common
/// (Dice's coefficient).
fn similarity(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let pairs = |text: &str| {
        let chars: Vec<char> = text.chars().take(400).collect();
        let mut pairs: Vec<_> = chars.windows(2).map(|pair| (pair[0], pair[1])).collect();
        pairs.sort_unstable();
        pairs
    };
    let a = pairs(a);
    let b = pairs(b);
    let mut i = 0;
    let mut j = 0;
    let mut common = 0;
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, common) = (i + 1, j + 1, common + 1),
        }
    }
    match a.len() + b.len() {
        0 => 0.0,
        all => 2.0 * f64::from(common) / all as f64,
    }
}

#[cfg(test)]
mod tests;
