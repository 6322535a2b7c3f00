//! When to ask a provider again: one policy for all. No clock and no I/O.

use super::Class;
use std::time::{Duration, SystemTime};
use ureq::http::header::{self, HeaderMap};

/// How often it is asked again at most.
const RETRIES: u32 = 3;
/// The first wait, if the provider names none; it doubles with each retry.
const FIRST: Duration = Duration::from_secs(1);
/// A provider that wants to be left alone for longer is not waited for.
const LONGEST: Duration = Duration::from_secs(60);

/// How long to wait before retry number `attempt`, which counts from 1; none if it is not worth it.
/// `after` is what the provider says itself; `noise` spreads the waits of clients that failed at the
/// same moment by up to a fifth either way.
pub(super) fn wait(
    class: Class,
    after: Option<Duration>,
    attempt: u32,
    noise: u8,
) -> Option<Duration> {
    let passing = matches!(
        class,
        Class::RateLimit { .. } | Class::Server | Class::Transport
    );
    if !passing || attempt > RETRIES {
        return None;
    }
    match after {
        Some(after) => (after <= LONGEST).then_some(after),
        None => {
            let wait = FIRST * 2u32.pow(attempt - 1);
            let fifth = wait / 5;
            Some(wait - fifth + fifth * 2 * u32::from(noise) / 255)
        }
    }
}

/// How long a response asks to be left alone: `retry-after-ms`, or `Retry-After` with seconds or a date
/// (RFC 9110 §10.2.3).
pub(super) fn after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str, unit: f64| {
        let number: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    if let Some(after) = text("retry-after-ms").and_then(|text| number(text, 0.001)) {
        return Some(after);
    }
    let text = text(header::RETRY_AFTER.as_str())?;
    number(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::header::HeaderValue;

    const RATE: Class = Class::RateLimit { after: None };

    #[test]
    fn only_what_passes_is_tried_again_and_three_times() {
        for class in [RATE, Class::Server, Class::Transport] {
            assert!(wait(class, None, 3, 0).is_some());
            assert!(wait(class, None, 4, 0).is_none());
        }
        for class in [
            Class::Config,
            Class::Authentication,
            Class::ContextExceeded,
            Class::Credits,
            Class::Refused,
            Class::Timeout,
            Class::Protocol,
            Class::Cancelled,
        ] {
            assert_eq!(wait(class, Some(Duration::ZERO), 1, 0), None, "{class:?}");
        }
    }

    #[test]
    fn waits_double_and_spread_by_a_fifth() {
        let millis = |attempt, noise| wait(RATE, None, attempt, noise).unwrap().as_millis();
        assert_eq!([1, 2, 3].map(|n| millis(n, 0)), [800, 1600, 3200]);
        assert_eq!([1, 2, 3].map(|n| millis(n, 255)), [1200, 2400, 4800]);
    }

    #[test]
    fn a_response_says_when_in_any_of_three_ways() {
        let now = httpdate::parse_http_date("Sun, 22 Nov 2026 10:00:00 GMT").unwrap();
        for (name, value, millis) in [
            ("retry-after", "7", Some(7000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "250.5", Some(250)),
            ("retry-after", "Sun, 22 Nov 2026 10:00:09 GMT", Some(9000)),
            ("retry-after", "Sun, 22 Nov 2026 09:00:00 GMT", Some(0)),
            ("retry-after", "-1", None),
            ("retry-after", "NaN", None),
            ("retry-after", "1e400", None),
            ("retry-after", "soon", None),
            ("x", "1", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            let after = after(&headers, now);
            assert_eq!(after.map(|d| d.as_millis()), millis, "{name}: {value}");
        }
    }

    #[test]
    fn what_the_provider_says_counts_unless_it_is_too_long() {
        let after = |seconds| wait(RATE, Some(Duration::from_secs(seconds)), 1, 9);
        assert_eq!(after(0), Some(Duration::ZERO));
        assert_eq!(after(60), Some(Duration::from_secs(60)));
        assert_eq!(after(61), None);
    }
}
