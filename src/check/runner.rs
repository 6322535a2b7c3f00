//! The run: the groups of checks in their order, and the report.

use super::catalogue::all_checks;
use super::check_options::CheckOptions;
use super::check_run::CheckRun;
use super::findings::CheckOutcome;
use super::groups::life_cycle_checks::{self, ServerFacts};
use super::groups::ui_checks::UI_CONTENTS;
use super::groups::{GROUPS, stdio_checks};
use super::install_instructions::installation;
use super::report::{CheckReport, CheckResult};
use super::wire;
use crate::agent::Registry;
use crate::extension::ExtensionConfig;
use crate::sys::cancel::Cancel;
use crate::text::{printable, redact};
use gosling_shared::InMemoryData;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The longest text about an outcome, in characters.
const MAX_DETAIL: usize = 1_000;

/// The id of the session that the server sees.
const SESSION: &str = "check";

/// Checks the server of an extension outside of all sessions, started as a session in `working_dir` would start it.
/// `progress` is called with the name of each group of checks.
///
/// # Errors
/// Why no check could be made: the server could not be started or reached, or the run was cancelled. Nothing of the
/// server is left.
pub fn check_extension(
    registry: &Registry,
    config: &ExtensionConfig,
    working_dir: &Path,
    options: &CheckOptions,
    progress: &dyn Fn(&str),
    cancel: &Cancel,
) -> Result<CheckReport, String> {
    let begin = Instant::now();
    progress("life cycle");
    let data = Arc::new(InMemoryData::default());
    let context = (registry.extension_setup()).context(SESSION, working_dir, data);
    let mut run = CheckRun::new(&context, config, options, cancel);
    let server = life_cycle_checks::run(&mut run)?;
    if run.main.is_some() {
        run_groups(&mut run, progress, cancel)?;
    }
    if server.is_initialized {
        stdio_checks::run_end(&mut run);
    }
    let (mut findings, secrets) = run.end();
    if cancel.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    let transport = transport(config);
    if server.is_initialized {
        wire::pass_what_was_not_seen(&mut findings, transport == STDIO);
    }
    let shown = |text: &str| printable(&redact(text, &secrets), MAX_DETAIL);
    let has_pages = findings.has_passed(UI_CONTENTS);
    let mut checks = all_checks();
    checks.retain(|check| options.only.is_empty() || options.only.contains(check));
    let checks = checks.into_iter().map(|check| CheckResult {
        check,
        outcome: match findings.take(check) {
            Some(outcome) => outcome.with_texts(shown),
            None => CheckOutcome::NotChecked {
                reason: "the checks before it did not get this far".to_owned(),
            },
        },
    });
    Ok(CheckReport {
        server: shown(&server.name),
        protocol: shown(&server.protocol),
        transport,
        capabilities: capabilities(&server, has_pages, shown),
        checks: checks.collect(),
        installation: installation(config),
        seconds: begin.elapsed().as_secs_f64(),
    })
}

const CANCELLED: &str = "the run was cancelled";
const STDIO: &str = "stdio";

/// Runs the groups that the asked checks need.
fn run_groups(
    run: &mut CheckRun<'_>,
    progress: &dyn Fn(&str),
    cancel: &Cancel,
) -> Result<(), String> {
    let only = &run.options.only;
    let is_everything = only.is_empty()
        || wire::CHECKS
            .iter()
            .copied()
            .flatten()
            .any(|it| only.contains(it));
    for group in GROUPS {
        if cancel.is_cancelled() {
            return Err(CANCELLED.to_owned());
        }
        if is_everything || group.is_needed_for(only) {
            progress(group.name);
            (group.run)(run);
            run.record();
        }
    }
    Ok(())
}

/// The transport in reports.
fn transport(config: &ExtensionConfig) -> &'static str {
    match config {
        ExtensionConfig::StreamableHttp(_) => "streamable_http",
        ExtensionConfig::Builtin(_) | ExtensionConfig::Platform(_) => "builtin",
        _ => STDIO,
    }
}

/// The declared capabilities, and `ui` if there are pages that can be read.
fn capabilities(
    server: &ServerFacts,
    has_pages: bool,
    shown: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut capabilities: Vec<String> = server.capabilities.iter().map(|it| shown(it)).collect();
    if has_pages && !capabilities.iter().any(|it| it == "ui") {
        capabilities.push("ui".to_owned());
    }
    capabilities
}
