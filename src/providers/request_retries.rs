//! When to retry a request: one policy for all providers. No clock and no I/O.

use super::ErrorClass;
use std::time::Duration;

const MAX_RETRIES: u32 = 3;
/// The first wait, if the provider does not ask for one; it doubles with each retry.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// If the provider asks for a longer wait, the request fails at once.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before retry number `attempt`, which counts from 1; none if there is no retry.
/// `after` is the wait that the provider asks for. `jitter` spreads the waits of clients that failed at the
/// same moment by up to a fifth in both directions.
pub(super) fn backoff(
    class: ErrorClass,
    after: Option<Duration>,
    attempt: u32,
    jitter: u8,
) -> Option<Duration> {
    let may_pass = matches!(
        class,
        ErrorClass::RateLimit { .. } | ErrorClass::Server | ErrorClass::Transport
    );
    if !may_pass || attempt > MAX_RETRIES {
        return None;
    }
    match after {
        Some(after) => (after <= MAX_WAIT).then_some(after),
        None => {
            let wait = FIRST_WAIT * 2u32.pow(attempt - 1);
            let fifth = wait / 5;
            Some(wait - fifth + fifth * 2 * u32::from(jitter) / 255)
        }
    }
}

#[cfg(test)]
mod tests;
