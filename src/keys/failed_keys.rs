//! Wrong keys, counted by address: from the fourth on, the answer comes later each time.

use crate::http::Stream;
use crate::sys::lock;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many wrong keys of an address are answered at once.
const AT_ONCE: u32 = 3;
/// The delay of the next one; each further one takes twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(50);
/// The longest delay.
const MAX_DELAY: Duration = Duration::from_secs(2);
/// After this time without a wrong key, an address begins anew.
const MEMORY: Duration = Duration::from_secs(600);
/// The most addresses that are counted; all sockets without one count as one of them.
/// The one heard of least recently is forgotten when there are more.
const MAX_ADDRESSES: usize = 1_024;
/// The most answers that are delayed at a time: each holds the thread of a connection.
const MAX_DELAYED: usize = 64;
/// How often a delay looks whether the connection has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(crate) struct FailedKeys {
    counts: Mutex<HashMap<Option<IpAddr>, (u32, Instant)>>,
    delayed: AtomicUsize,
}

impl FailedKeys {
    /// Counts a wrong key and delays the thread of its connection. If too many are delayed already, the connection is
    /// broken: an answer at once would serve those who guess.
    pub(crate) fn add(&self, address: Option<IpAddr>, connection: &Stream) {
        let count = self.count(address, Instant::now());
        if count.is_power_of_two() && count > AT_ONCE {
            let address = address.map_or_else(|| "local".to_owned(), |it| it.to_string());
            log::warn!("wrong keys address={address} count={count}");
        }
        let Some(delay) = delay_of(count) else {
            return;
        };
        if self.delayed.fetch_add(1, Ordering::SeqCst) < MAX_DELAYED {
            let end = Instant::now() + delay;
            while Instant::now() < end && !connection.hung_up() {
                thread::sleep(POLL_INTERVAL.min(delay));
            }
        } else {
            connection.abort();
        }
        self.delayed.fetch_sub(1, Ordering::SeqCst);
    }

    /// Counts a wrong key; how many there were of this address.
    fn count(&self, address: Option<IpAddr>, now: Instant) -> u32 {
        let address = address.map(network_of);
        let mut counts = lock(&self.counts);
        if counts.len() >= MAX_ADDRESSES && !counts.contains_key(&address) {
            let oldest = counts.iter().min_by_key(|(_, (_, last))| *last);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                counts.remove(&oldest);
            }
        }
        let (count, last) = counts.entry(address).or_insert((0, now));
        if now.saturating_duration_since(*last) > MEMORY {
            *count = 0;
        }
        (*count, *last) = (count.saturating_add(1), now);
        *count
    }
}

/// How long the answer to this wrong key of an address waits.
fn delay_of(count: u32) -> Option<Duration> {
    let doublings = count.checked_sub(AT_ONCE + 1)?;
    let delay = FIRST_DELAY.saturating_mul(2u32.saturating_pow(doublings));
    Some(delay.min(MAX_DELAY))
}

/// What one client has: an IPv4 address, or 64 bits of an IPv6 address.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let mut segments = address.segments();
            segments[4..].fill(0);
            IpAddr::from(segments)
        }
        address => address,
    }
}

#[cfg(test)]
mod tests;
