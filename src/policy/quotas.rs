//! Counts what each key does, in this process: a day is one of UTC.

use crate::policy_file::Quota;
use crate::sys::{clock, lock};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Session,
    Turn,
    Call,
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
    ) -> Result<Option<RunningTurn>, String> {
        let Some(quota) = quotas.iter().find(|quota| quota.key.fit(key)) else {
            return Ok(None);
        };
        let today = clock::unix_seconds().div_euclid(24 * 3600);
        let mut all = lock(&self.0);
        let of_key = all.entry(key.to_owned()).or_default();
        if of_key.day != today {
            (of_key.day, of_key.sessions, of_key.calls) = (today, 0, 0);
        }
        let (done, limit, words) = match what {
            Counted::Session => (of_key.sessions, quota.sessions_per_day, "sessions a day"),
            Counted::Turn => {
                let running = of_key.turns.load(Ordering::Relaxed);
                (running, quota.turns_at_once, "turns at once")
            }
            Counted::Call => (of_key.calls, quota.calls_per_day, "calls of tools a day"),
        };
        if let Some(limit) = limit.filter(|limit| done >= *limit) {
            return Err(format!(
                "the administrator's policy allows this key {limit} {words}"
            ));
        }
        match what {
            Counted::Session => of_key.sessions += 1,
            Counted::Call => of_key.calls += 1,
            Counted::Turn => {
                of_key.turns.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(RunningTurn(of_key.turns.clone())));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, Counts};
    use crate::policy_file::{self, Quota};

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
        assert!(refused.contains("2 calls of tools a day"), "{refused}");
        count("a", Counted::Session).unwrap();
        count("b", Counted::Call).unwrap();
        count("b", Counted::Session).unwrap_err();
    }

    #[test]
    fn a_turn_counts_until_it_ends() {
        let (counts, quotas) = (Counts::default(), quotas());
        let turn = counts.count(&quotas, "a", Counted::Turn).unwrap();
        assert!(turn.is_some());
        counts.count(&quotas, "a", Counted::Turn).unwrap_err();
        drop(turn);
        counts.count(&quotas, "a", Counted::Turn).unwrap();
    }
}
