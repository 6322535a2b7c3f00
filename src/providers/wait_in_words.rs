//! How long to wait, as servers say it in the words of a rate limit.

use std::time::Duration;

/// What stands before the time, in lower case.
const BEFORE: [&str; 5] = [
    "try again in ",
    "retry after ",
    "retry in ",
    "available in ",
    "please wait ",
];

/// The time that a message names: "try again in 1m2.5s", "retry after 12 seconds"; seconds if it has no unit.
pub(super) fn wait_in_words(message: &str) -> Option<Duration> {
    let message = message.to_lowercase();
    let after = |before: &&str| message.split_once(*before).map(|(_, after)| after);
    BEFORE.iter().filter_map(after).find_map(leading_time)
}

/// The time at the start of a text: numbers with their units.
fn leading_time(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = None;
    loop {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let number = &rest[..rest.find(|c| !is_number(c)).unwrap_or(rest.len())];
        // A full stop after the number ends the sentence.
        let Ok(count) = number.trim_end_matches('.').parse::<f64>() else {
            break;
        };
        rest = rest[number.len()..].trim_start();
        let is_letter = |c: char| c.is_ascii_alphabetic();
        let unit = &rest[..rest.find(|c| !is_letter(c)).unwrap_or(rest.len())];
        let (factor, has_unit) = seconds_of(unit);
        seconds = Some(seconds.unwrap_or(0.0) + count * factor);
        if !has_unit {
            break;
        }
        rest = rest[unit.len()..].trim_start();
    }
    Duration::try_from_secs_f64(seconds?).ok()
}

/// The seconds of a unit, and whether it is one.
fn seconds_of(unit: &str) -> (f64, bool) {
    match unit {
        "ms" | "millisecond" | "milliseconds" => (0.001, true),
        "s" | "sec" | "secs" | "second" | "seconds" => (1.0, true),
        "m" | "min" | "mins" | "minute" | "minutes" => (60.0, true),
        "h" | "hour" | "hours" => (3600.0, true),
        "d" | "day" | "days" => (86_400.0, true),
        _ => (1.0, false),
    }
}

#[cfg(test)]
mod tests;
