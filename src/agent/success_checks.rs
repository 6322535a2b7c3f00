//! The success checks of a recipe: shell commands that decide after the turn whether it is tried again.
//! They are part of the build with the feature `developer`, which contains the shell.

use super::turn::Turn;
use crate::recipe::{Retry, SuccessCheck};
use crate::sys::TimeLimit;
use crate::text::printable;
use std::time::Duration;

/// How long a check and the clean-up may take, unless the recipe says otherwise; as in Goose.
const CHECK_TIMEOUT: Duration = Duration::from_secs(300);
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(600);
/// The most retries.
const MAX_RETRIES: u32 = 100;
/// How much of a command is quoted, in characters.
const QUOTED: usize = 200;

/// What follows a turn of a recipe with success checks.
pub(super) enum Verdict {
    /// All checks passed.
    Passed,
    /// A check failed, and the turn is repeated.
    Retry(String),
    /// A check failed for the last time, or the clean-up failed.
    Failed(String),
}

impl Turn<'_> {
    /// Runs the checks, and the clean-up if one fails. `attempt` counts from 0.
    pub(super) fn check_success(&self, retry: &Retry, attempt: u32) -> Verdict {
        let limit = limit(retry.timeout_seconds, CHECK_TIMEOUT);
        let failed = retry.checks.iter().find_map(|check| {
            let SuccessCheck::Shell { command } = check;
            self.run_check(command, limit).err()
        });
        let Some(reason) = failed else {
            return Verdict::Passed;
        };
        let most = retry.max_retries.min(MAX_RETRIES);
        if attempt >= most {
            let times = match most {
                0 => String::new(),
                most => format!(", after {most} retries"),
            };
            return Verdict::Failed(format!("A success check failed{times}: {reason}"));
        }
        if let Some(command) = &retry.on_failure {
            let limit = self::limit(retry.on_failure_timeout_seconds, CLEANUP_TIMEOUT);
            if let Err(cleanup) = self.run_check(command, limit) {
                return Verdict::Failed(format!(
                    "A success check failed: {reason}. The command `on_failure` failed too: {cleanup}"
                ));
            }
        }
        Verdict::Retry(reason)
    }

    /// Runs a command; the reason if it fails.
    fn run_check(&self, command: &str, limit: Duration) -> Result<(), String> {
        #[cfg(feature = "developer")]
        let ran = crate::builtin::developer::run_check(
            &crate::builtin::developer::Check {
                command,
                dir: &self.session.working_dir,
                session_id: &self.session.id,
                config: &self.registry.stores().paths.config,
                offline: self.registry.is_offline(),
                limit,
            },
            &self.cancel,
        );
        #[cfg(not(feature = "developer"))]
        let ran: Result<(), String> = {
            let _ = limit;
            let hint = crate::features::hint("developer");
            Err(format!("no shell commands can be run{hint}"))
        };
        ran.map_err(|reason| format!("`{}`: {reason}", printable(command, QUOTED)))
    }
}

fn limit(seconds: Option<TimeLimit>, default: Duration) -> Duration {
    let limit = seconds.map(TimeLimit::get);
    limit.filter(|limit| !limit.is_zero()).unwrap_or(default)
}
