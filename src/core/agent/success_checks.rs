//! The success checks of a recipe: shell commands that decide after the turn whether it is tried again.
//! They are part of the build with the feature `developer`, which contains the shell.

use super::Error;
use super::turn::{End, Turn};
use crate::builtin::{self, ShellCheck};
use crate::conversation::{Message, NotificationType};
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

/// What the user is told in place of success checks.
const UNTRUSTED_CHECKS: &str = "The success checks of this recipe are shell commands. They are not run, because \
                                the recipe does not come from you: save it in your own folder to trust it.";

/// What follows a turn of a recipe with success checks.
enum Verdict {
    /// All checks passed.
    Passed,
    /// A check failed, and the turn is repeated.
    Retry(String),
    /// A check failed for the last time, or the clean-up failed.
    Failed(String),
}

impl Turn<'_> {
    /// Lets the model work until the recipe's success checks pass, or there are no more retries. Each retry
    /// begins with the messages of now.
    pub(super) fn run_with_checks(&mut self) -> Result<End, Error> {
        let Some(retry) = self.recipe.retry().cloned() else {
            return self.ask_and_call();
        };
        if !self.session.extension_data.recipe_origin().trusted {
            self.reply_without_model(UNTRUSTED_CHECKS)?;
            return self.ask_and_call();
        }
        let start = self.state.journal.messages().iter();
        let start: Vec<Message> = start.map(|message| message.as_ref().clone()).collect();
        for attempt in 0.. {
            let end = self.ask_and_call()?;
            if self.failure.is_some() || matches!(end, End::Cancelled) {
                return Ok(end);
            }
            let verdict = self.check_success(&retry, attempt);
            if self.cancel.is_cancelled() {
                return Ok(End::Cancelled);
            }
            match verdict {
                Verdict::Passed => break,
                Verdict::Failed(reason) => {
                    self.fail(reason)?;
                    break;
                }
                Verdict::Retry(reason) => {
                    self.state.journal.replace(start.clone())?;
                    self.state.estimate.forget();
                    self.recipe.reset();
                    self.send_conversation();
                    let kind = NotificationType::InlineMessage;
                    let text =
                        format!("A success check failed, so the recipe starts again: {reason}");
                    self.output.notify(kind, text);
                }
            }
        }
        Ok(End::Finished)
    }

    /// Runs the checks, and the clean-up if one fails. `attempt` counts from 0.
    fn check_success(&self, retry: &Retry, attempt: u32) -> Verdict {
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
        let check = ShellCheck {
            command,
            dir: &self.session.working_dir,
            session_id: &self.session.id,
            config: &self.registry.stores().paths.config,
            offline: self.registry.is_offline(),
            limit,
        };
        let ran = builtin::run_check(&check, &self.cancel).unwrap_or_else(|| {
            let hint = crate::features::hint("developer");
            Err(format!("no shell commands can be run{hint}"))
        });
        ran.map_err(|reason| format!("`{}`: {reason}", printable(command, QUOTED)))
    }
}

fn limit(seconds: Option<TimeLimit>, default: Duration) -> Duration {
    let limit = seconds.map(TimeLimit::get);
    limit.filter(|limit| !limit.is_zero()).unwrap_or(default)
}
