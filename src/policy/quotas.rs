//! Counts what each key does, in this process: a day is one of UTC.

use crate::policy_file::Quota;
use crate::sys::{clock, lock};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A day, in seconds.
const DAY: i64 = 24 * 3600;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Session,
    Turn,
    Call,
    /// A request to a model; its tokens are known later, see [`Counts::add_tokens`].
    Tokens,
}

/// Why a key may not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedUp {
    /// The quota in words, and when it begins anew.
    pub(crate) reason: String,
    /// In how many seconds it begins anew, if that is known.
    pub(crate) seconds: Option<u64>,
}

/// What all keys have done.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<HashMap<String, OfKey>>);

/// What one key has done.
#[derive(Debug, Default)]
struct OfKey {
    day: i64,
    sessions: u64,
    calls: u64,
    tokens: u64,
    turns: Arc<AtomicU64>,
}

/// A turn that runs.
#[derive(Debug)]
pub(crate) struct RunningTurn(Arc<AtomicU64>);

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counts {
    /// Counts what a key does now; a turn until what is returned is dropped.
    ///
    /// # Errors
    /// That the first quota of the key does not allow it.
    pub(crate) fn count(
        &self,
        quotas: &[Quota],
        key: &str,
        what: Counted,
    ) -> Result<Option<RunningTurn>, UsedUp> {
        let Some(quota) = quotas.iter().find(|quota| quota.key.fit(key)) else {
            return Ok(None);
        };
        let now = clock::unix_seconds();
        let mut all = lock(&self.0);
        let of_key = OfKey::today(&mut all, key, now);
        let (done, limit, words) = match what {
            Counted::Session => (of_key.sessions, quota.sessions_per_day, "sessions a day"),
            Counted::Turn => {
                let running = of_key.turns.load(Ordering::Relaxed);
                (running, quota.turns_at_once, "turns at once")
            }
            Counted::Call => (of_key.calls, quota.calls_per_day, "calls of tools a day"),
            Counted::Tokens => (of_key.tokens, quota.tokens_per_day, "tokens a day"),
        };
        if let Some(limit) = limit.filter(|limit| done >= *limit) {
            let mut reason = format!("the administrator's policy allows this key {limit} {words}");
            let is_of_day = what != Counted::Turn;
            let seconds =
                is_of_day.then(|| DAY.saturating_sub(now.rem_euclid(DAY)).cast_unsigned());
            if let Some(left) = seconds {
                let (hours, minutes) = (left / 3600, left / 60 % 60);
                let _ = write!(
                    reason,
                    ", which are used up; the next day begins at midnight UTC, in {hours} h {minutes} min"
                );
            }
            return Err(UsedUp { reason, seconds });
        }
        match what {
            Counted::Session => of_key.sessions += 1,
            Counted::Call => of_key.calls += 1,
            Counted::Tokens => {}
            Counted::Turn => {
                of_key.turns.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(RunningTurn(of_key.turns.clone())));
            }
        }
        Ok(None)
    }

    /// Counts what a model has taken for a key.
    pub(crate) fn add_tokens(&self, key: &str, tokens: u64) {
        let mut all = lock(&self.0);
        let of_key = OfKey::today(&mut all, key, clock::unix_seconds());
        of_key.tokens = of_key.tokens.saturating_add(tokens);
    }
}

impl OfKey {
    /// What this key has done since midnight.
    fn today<'a>(all: &'a mut HashMap<String, OfKey>, key: &str, now: i64) -> &'a mut OfKey {
        let of_key = all.entry(key.to_owned()).or_default();
        let today = now.div_euclid(DAY);
        if of_key.day != today {
            *of_key = OfKey {
                day: today,
                turns: of_key.turns.clone(),
                ..OfKey::default()
            };
        }
        of_key
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, Counts, DAY, OfKey};
    use crate::policy_file::{self, Quota};
    use crate::sys::{clock, lock};

    fn quotas() -> Vec<Quota> {
        let text = "default: allow\nquotas:\n  - {key: a, turns_at_once: 1, calls_per_day: 2}\n  \
                    - {key: '*', sessions_per_day: 0}\n";
        policy_file::read(text.as_bytes()).unwrap().quotas
    }

    #[test]
    fn each_key_has_the_first_quota_that_names_it() {
        let (counts, quotas) = (Counts::default(), quotas());
        let count = |key: &str, what| counts.count(&quotas, key, what);
        count("a", Counted::Call).unwrap();
        count("a", Counted::Call).unwrap();
        let refused = count("a", Counted::Call).unwrap_err();
        let reason = &refused.reason;
        assert!(
            reason.contains("2 calls of tools a day, which are used up"),
            "{reason}"
        );
        assert!(
            (1..=24 * 3600).contains(&refused.seconds.unwrap()),
            "{refused:?}"
        );
        count("a", Counted::Session).unwrap();
        count("b", Counted::Call).unwrap();
        count("b", Counted::Session).unwrap_err();
    }

    #[test]
    fn a_turn_counts_until_it_ends() {
        let (counts, quotas) = (Counts::default(), quotas());
        let turn = counts.count(&quotas, "a", Counted::Turn).unwrap();
        assert!(turn.is_some());
        let refused = counts.count(&quotas, "a", Counted::Turn).unwrap_err();
        assert_eq!(refused.seconds, None, "{refused:?}");
        drop(turn);
        counts.count(&quotas, "a", Counted::Turn).unwrap();
    }

    #[test]
    fn tokens_are_counted_when_they_are_known() {
        let text = "default: allow\nquotas: [{key: a, tokens_per_day: 10}]\n";
        let quotas = policy_file::read(text.as_bytes()).unwrap().quotas;
        let counts = Counts::default();
        let count = |key: &str| counts.count(&quotas, key, Counted::Tokens);
        counts.add_tokens("a", 9);
        count("a").unwrap();
        counts.add_tokens("b", u64::MAX);
        counts.add_tokens("a", u64::MAX);
        let refused = count("a").unwrap_err().reason;
        assert!(refused.contains("10 tokens a day"), "{refused}");
        assert!(refused.contains("midnight UTC"), "{refused}");
        count("b").unwrap();
        // A day later there are none.
        let mut all = lock(&counts.0);
        let tomorrow = clock::unix_seconds() + DAY;
        assert_eq!(OfKey::today(&mut all, "a", tomorrow).tokens, 0);
    }
}
