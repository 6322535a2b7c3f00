//! Which of two models answers: a strong one begins, a cheap one goes on, and the strong one helps out.
//!
//! The rules of Goose's lead and worker: <https://block.github.io/goose/docs/tutorials/lead-worker>.

use crate::store::{Config, Result};
use serde_json::Value;

/// The strong model, and when it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadWorker {
    /// `GOOSE_LEAD_MODEL`.
    pub lead_model: String,
    /// `GOOSE_LEAD_PROVIDER`; that of the worker if absent.
    pub lead_provider: Option<String>,
    /// `GOOSE_LEAD_TURNS`: how many turns of a session it begins with (3).
    pub lead_turns: u32,
    /// `GOOSE_LEAD_FAILURE_THRESHOLD`: after how many failed turns in a row it helps out (2).
    pub failure_threshold: u32,
    /// `GOOSE_LEAD_FALLBACK_TURNS`: for how many good turns it then stays (2).
    pub fallback_turns: u32,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The strong model.
    Lead {
        /// Because the other one failed.
        fallback: bool,
    },
    /// The one that the session is set to.
    Worker,
}

/// How a session has fared so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Turns that were answered, well or not.
    turns: u32,
    /// Failed turns in a row.
    failures: u32,
    /// Turns for which the strong model still helps out.
    fallback_left: u32,
}

impl Progress {
    /// That of a session that has had so many turns, of which nothing else is known.
    pub fn of_turns(turns: usize) -> Self {
        Progress {
            turns: turns.try_into().unwrap_or(u32::MAX),
            ..Progress::default()
        }
    }
}

impl LeadWorker {
    /// What the configuration says; `None` if it names no strong model.
    ///
    /// # Errors
    /// As [`Config::get`].
    pub fn from_config(config: &Config) -> Result<Option<Self>> {
        let text = |key: &str| -> Result<Option<String>> {
            let value = config.get(key)?;
            let text = value.as_ref().and_then(Value::as_str).map(str::trim);
            Ok(text.filter(|text| !text.is_empty()).map(str::to_owned))
        };
        let count = |key: &str, default: u32| -> Result<u32> {
            let value = config.get(key)?;
            let count = value.as_ref().and_then(Value::as_u64);
            Ok(count
                .and_then(|count| count.try_into().ok())
                .unwrap_or(default))
        };
        let Some(lead_model) = text("GOOSE_LEAD_MODEL")? else {
            return Ok(None);
        };
        Ok(Some(LeadWorker {
            lead_model,
            lead_provider: text("GOOSE_LEAD_PROVIDER")?,
            lead_turns: count("GOOSE_LEAD_TURNS", 3)?,
            failure_threshold: count("GOOSE_LEAD_FAILURE_THRESHOLD", 2)?,
            fallback_turns: count("GOOSE_LEAD_FALLBACK_TURNS", 2)?,
        }))
    }

    /// Who answers the next turn.
    pub fn choose(&self, progress: &Progress) -> Choice {
        if progress.turns < self.lead_turns {
            Choice::Lead { fallback: false }
        } else if progress.fallback_left > 0 {
            Choice::Lead { fallback: true }
        } else {
            Choice::Worker
        }
    }

    /// The progress after a turn. A turn failed when the model called a tool in a way that could not
    /// be read, or its tools did nothing but fail. A provider that could not be reached says nothing
    /// about the model: such a turn is not counted at all.
    pub fn after(&self, progress: Progress, failed: bool) -> Progress {
        let mut next = progress;
        next.turns = progress.turns.saturating_add(1);
        if !failed {
            next.failures = 0;
            next.fallback_left = progress.fallback_left.saturating_sub(1);
            return next;
        }
        next.failures = progress.failures.saturating_add(1);
        let helps_already = progress.fallback_left > 0;
        if self.choose(&progress) == Choice::Worker
            && !helps_already
            && next.failures >= self.failure_threshold
        {
            next.failures = 0;
            next.fallback_left = self.fallback_turns;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> LeadWorker {
        LeadWorker {
            lead_model: "strong".into(),
            lead_provider: None,
            lead_turns: 3,
            failure_threshold: 2,
            fallback_turns: 2,
        }
    }

    /// `L`ead, `F`allback to the lead or `W`orker for each turn; `!` marks those that fail.
    fn run(policy: &LeadWorker, turns: &str) -> String {
        let mut progress = Progress::default();
        turns
            .chars()
            .map(|turn| {
                let choice = policy.choose(&progress);
                progress = policy.after(progress, turn == '!');
                match choice {
                    Choice::Lead { fallback: false } => 'L',
                    Choice::Lead { fallback: true } => 'F',
                    Choice::Worker => 'W',
                }
            })
            .collect()
    }

    #[test]
    fn the_lead_begins_and_the_worker_goes_on() {
        assert_eq!(run(&policy(), "......."), "LLLWWWW");
        let at_once = LeadWorker {
            lead_turns: 0,
            ..policy()
        };
        assert_eq!(run(&at_once, "..."), "WWW");
    }

    #[test]
    fn the_lead_helps_out_after_failures_in_a_row_and_leaves_after_good_turns() {
        assert_eq!(run(&policy(), "...!!....."), "LLLWWFFWWW");
        assert_eq!(run(&policy(), "...!.!.!!.."), "LLLWWWWWWFF");
        assert_eq!(run(&policy(), "...!!!!...."), "LLLWWFFFFWW");
    }

    #[test]
    fn failures_of_the_lead_itself_call_nobody() {
        assert_eq!(run(&policy(), "!!!..."), "LLLWWW");
    }

    #[test]
    fn the_configuration_says_it_all() {
        let config = |pairs: &'static [(&'static str, &'static str)]| {
            let env = move |name: &str| {
                let pair = pairs.iter().find(|(key, _)| *key == name);
                pair.map(|(_, value)| (*value).to_owned())
            };
            let nowhere = std::env::temp_dir().join("no-such-folder/config.yaml");
            LeadWorker::from_config(&Config::with_env(nowhere, Box::new(env))).unwrap()
        };
        assert_eq!(config(&[("GOOSE_LEAD_TURNS", "5")]), None);
        let all = config(&[
            ("GOOSE_LEAD_MODEL", "strong"),
            ("GOOSE_LEAD_PROVIDER", "anthropic"),
            ("GOOSE_LEAD_TURNS", "5"),
            ("GOOSE_LEAD_FAILURE_THRESHOLD", "nonsense"),
        ]);
        assert_eq!(
            all,
            Some(LeadWorker {
                lead_provider: Some("anthropic".into()),
                lead_turns: 5,
                ..policy()
            })
        );
    }
}
