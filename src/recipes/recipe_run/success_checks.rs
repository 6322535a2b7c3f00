//! The success checks of a recipe: shell commands that decide after the turn whether it is tried again.
//! They are part of the build with the feature `developer`, which contains the shell.

use crate::agent::recipes::{CheckedTurn, SuccessChecks};
use crate::agent::{Registry, Stores};
use crate::builtin::ShellCheck;
use crate::conversation::Session;
use crate::extension::sandbox::{Level, Place};
use crate::extension::{ExtensionConfig, Sandboxing};
use crate::recipe::Retry;
use crate::sys::TimeLimit;
use crate::sys::cancel::Cancel;
use crate::text::printable;
use gosling_core::part;
use serde_json::json;
use std::path::{Path, PathBuf};
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

/// The success checks of one session.
pub(super) struct Checks {
    retry: Retry,
    trusted: bool,
    session_id: String,
    working_dir: PathBuf,
    /// The session's level.
    sandbox: Level,
}

impl Checks {
    /// The checks of the session's recipe.
    pub(super) fn new(retry: &Retry, session: &Session) -> Self {
        Checks {
            retry: retry.clone(),
            trusted: session.extension_data.recipe_origin().trusted,
            session_id: session.id.clone(),
            working_dir: session.working_dir.clone(),
            sandbox: session.extension_data.sandbox(),
        }
    }

    /// Whether they are made.
    pub(super) fn kind(&self) -> SuccessChecks {
        if self.trusted {
            SuccessChecks::Run
        } else {
            SuccessChecks::NotRun(UNTRUSTED_CHECKS)
        }
    }

    /// Runs the checks, and the clean-up if one fails. `attempt` counts from 0.
    pub(super) fn check(&self, attempt: u32, registry: &Registry, cancel: &Cancel) -> CheckedTurn {
        let retry = &self.retry;
        let run = |command: &str, limit| self.run_check(command, limit, registry, cancel);
        let limit = limit(retry.timeout_seconds, CHECK_TIMEOUT);
        let mut checks = retry.checks.iter();
        let failed = checks.find_map(|check| run(&check.command, limit).err());
        let Some(reason) = failed else {
            return CheckedTurn::Passed;
        };
        let most = retry.max_retries.min(MAX_RETRIES);
        if attempt >= most {
            let times = match most {
                0 => String::new(),
                most => format!(", after {most} retries"),
            };
            return CheckedTurn::Failed(format!("A success check failed{times}: {reason}"));
        }
        if let Some(command) = &retry.on_failure {
            let limit = self::limit(retry.on_failure_timeout_seconds, CLEANUP_TIMEOUT);
            if let Err(cleanup) = run(command, limit) {
                return CheckedTurn::Failed(format!(
                    "A success check failed: {reason}. The command `on_failure` failed too: {cleanup}"
                ));
            }
        }
        CheckedTurn::Again(format!(
            "A success check failed, so the recipe starts again: {reason}"
        ))
    }

    /// Runs a command; the reason if it fails.
    fn run_check(
        &self,
        command: &str,
        limit: Duration,
        registry: &Registry,
        cancel: &Cancel,
    ) -> Result<(), String> {
        let Stores { config, paths, .. } = registry.stores();
        let place = Place {
            working_dir: &self.working_dir,
            folder: &self.working_dir,
            program: Path::new("/bin/sh"),
            files: &[],
        };
        // As the commands of the builtin server.
        let developer = json!({"type": "builtin", "name": "developer"});
        let developer = ExtensionConfig::from_value(developer)?;
        let sandboxing = Sandboxing::read(config, paths, self.sandbox);
        let walls = match sandboxing.around(&developer)? {
            Some(sandbox) => sandbox.walls(&developer, place)?,
            None => None,
        };
        let check = ShellCheck {
            command,
            dir: &self.working_dir,
            session_id: &self.session_id,
            config: &paths.config,
            offline: registry.is_offline(),
            limit,
            walls: walls.as_ref(),
        };
        let shell = part::all().iter().find_map(|part| part.shell);
        let ran = match shell {
            Some(shell) => shell(&check, cancel),
            None => {
                let hint = crate::features::hint("developer");
                Err(format!("no shell commands can be run{hint}"))
            }
        };
        ran.map_err(|reason| format!("`{}`: {reason}", printable(command, QUOTED)))
    }
}

fn limit(seconds: Option<TimeLimit>, default: Duration) -> Duration {
    let limit = seconds.map(TimeLimit::get);
    limit.filter(|limit| !limit.is_zero()).unwrap_or(default)
}
