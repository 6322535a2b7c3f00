//! How long a response asks the client to wait before the next request. No clock.

use std::time::{Duration, SystemTime};
use ureq::http::header::{self, HeaderMap};

/// The wait that a response asks for: `retry-after-ms`, or `Retry-After` with seconds or a date
/// (RFC 9110 §10.2.3). It may be longer than a clock can add. `now` is the time that a date is compared with.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str, unit: f64| wait_of(text.parse::<f64>().ok()? * unit);
    if let Some(after) = text("retry-after-ms").and_then(|text| number(text, 0.001)) {
        return Some(after);
    }
    let text = text(header::RETRY_AFTER.as_str())?;
    number(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}

/// A wait of this many seconds; `None` if negative or not finite, and [`Duration::MAX`] if there are too many.
pub fn wait_of(seconds: f64) -> Option<Duration> {
    let counts = seconds.is_finite() && seconds >= 0.0;
    counts.then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests;
