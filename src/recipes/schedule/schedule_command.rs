//! `gosling schedule`: the schedules, and when they run next.

use crate::command_line::{Command, Failure, failed, print};
use crate::schedule::{self, Listed};
use crate::text::printable;
use gosling_shared::words;
use std::fmt::Write;

pub(crate) const COMMAND: Command = Command {
    name: "schedule",
    summary: "list recipes that run at set times, with their next runs",
    help: HELP,
    run: |parser, _| run(parser),
};

const HELP: &str = "\
usage: gosling schedule list

Prints the schedules: the next run in local time, the cron line and the id. They
are made in a client, and run in `gosling agent`: see `gosling help schedules`.

options:
  -h, --help  show this
";

/// How many characters of a cron line and an id are printed.
const WIDTH: usize = 100;

fn run(parser: lexopt::Parser) -> Result<(), Failure> {
    let (action, []) = words(parser, 1, [])?;
    match action.first().map(String::as_str) {
        Some("list") => list(),
        Some(other) => Err(Failure::Usage(format!("{other:?} is not `list`"))),
        None => Err(Failure::Usage("what to do is missing: `list`".to_owned())),
    }
}

fn list() -> Result<(), Failure> {
    let listed = schedule::list(&crate::command_line::paths()?).map_err(failed("no schedules"))?;
    let mut lines = String::new();
    for Listed { job, next_run } in &listed {
        let next = match next_run {
            Some(next) => next,
            None if job.is_paused() => "paused",
            None => "never: the cron line is invalid",
        };
        let (cron, id) = (printable(job.cron(), WIDTH), printable(job.id(), WIDTH));
        let _ = writeln!(lines, "{next:<25}  {cron:<15}  {id}");
    }
    print(&lines)
}
