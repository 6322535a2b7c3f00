//! The report for people.

use super::checklist::{Tick, checklist};
use super::{Asked, CheckReport, CheckResult, section_name};
use crate::catalogue::UNCHECKED;
use crate::declaration::{Profile, RequirementLevel};
use crate::findings::CheckOutcome;
use std::fmt::Write;

/// Escape sequences for a terminal, or nothing.
#[derive(Default)]
struct Colours {
    red: &'static str,
    yellow: &'static str,
    green: &'static str,
    bold: &'static str,
    dim: &'static str,
    off: &'static str,
}

const COLOURS: Colours = Colours {
    red: "\x1b[31m",
    yellow: "\x1b[33m",
    green: "\x1b[32m",
    bold: "\x1b[1m",
    dim: "\x1b[2m",
    off: "\x1b[0m",
};

/// The report: failures first, then one line for each other check, the checklist, the profiles, and how to
/// install the server.
pub fn write(report: &CheckReport, asked: Asked, has_colours: bool) -> String {
    let colours = if has_colours {
        COLOURS
    } else {
        Colours::default()
    };
    let mut out = String::new();
    let Colours { bold, off, .. } = colours;
    let server = if report.server.is_empty() {
        "the server"
    } else {
        &report.server
    };
    let protocol = if report.protocol.is_empty() {
        "no version of MCP"
    } else {
        &format!("MCP {}", report.protocol)
    };
    let transport = report.transport;
    let _ = writeln!(out, "{bold}{server}{off}, {protocol}, {transport}");
    let mut failed: Vec<&CheckResult> = report.checks.iter().filter(|it| it.is_failed()).collect();
    gosling_core::sorting::sort_by(&mut failed, |a, b| a.check.level.cmp(&b.check.level));
    if !failed.is_empty() {
        let _ = writeln!(out, "\n{bold}Failed{off}");
    }
    for checked in failed {
        write_failed(&mut out, checked, &colours);
    }
    write_others(&mut out, report, &colours);
    write_checklist(&mut out, report, &colours);
    write_profiles(&mut out, report, asked, &colours);
    write_installation(&mut out, report, &colours);
    out
}

fn write_failed(out: &mut String, checked: &CheckResult, colours: &Colours) {
    let CheckOutcome::Failed {
        detail,
        exchange,
        times,
    } = &checked.outcome
    else {
        return;
    };
    let Colours { dim, off, .. } = colours;
    let colour = match checked.check.level {
        RequirementLevel::Must | RequirementLevel::MustNot => colours.red,
        _ => colours.yellow,
    };
    let it = checked.check;
    let level = it.level.name();
    let _ = writeln!(
        out,
        "  {colour}{:<6}{off} {:<27} {level}: {detail}",
        section_name(it.section),
        it.name
    );
    let mut line = |name: &str, text: &str| {
        if !text.is_empty() {
            let _ = writeln!(out, "         {dim}{name:<10}{off} {text}");
        }
    };
    line("requires", it.requires);
    line("sent", &exchange.sent);
    line("received", &exchange.received);
    if *times > 1 {
        line("", &format!("and {} more of this kind", times - 1));
    }
    line("why", it.why);
    line("how to fix", it.fix);
}

fn write_others(out: &mut String, report: &CheckReport, colours: &Colours) {
    let Colours { dim, bold, off, .. } = colours;
    let green = colours.green;
    let mut sections: Vec<&str> = report.checks.iter().map(|it| it.check.section).collect();
    gosling_core::sorting::sort_by(&mut sections, |a, b| order(a).cmp(&order(b)));
    sections.dedup();
    for in_section in sections {
        let of_section = report
            .checks
            .iter()
            .filter(|it| it.check.section == in_section && !it.is_failed());
        let mut has_title = false;
        // Checks that do not apply for the same reason share a line.
        let mut not_applicable: Vec<(&str, Vec<&str>)> = Vec::new();
        for checked in of_section {
            if !has_title {
                let title = if in_section.is_empty() {
                    "Advice"
                } else {
                    &section_name(in_section)
                };
                let _ = writeln!(out, "\n{bold}{title}{off}");
                has_title = true;
            }
            let name = checked.check.name;
            let (mark, detail) = match &checked.outcome {
                CheckOutcome::Passed { detail } => (format!("{green}passed{off}     "), detail),
                CheckOutcome::NotChecked { reason } => (format!("{dim}not checked{off}"), reason),
                CheckOutcome::NotApplicable { reason } => {
                    match not_applicable.iter_mut().find(|(it, _)| it == reason) {
                        Some((_, names)) => names.push(name),
                        None => not_applicable.push((reason, vec![name])),
                    }
                    continue;
                }
                CheckOutcome::Failed { .. } => continue,
            };
            let line = format!("  {mark}  {name:<27} {detail}");
            let _ = writeln!(out, "{}", line.trim_end());
        }
        for (reason, names) in not_applicable {
            let names = names.join(", ");
            let _ = writeln!(out, "  {dim}n/a          {names}: {reason}{off}");
        }
    }
    let [passed, failed, not_applicable, not_checked] = report.counts();
    let _ = writeln!(
        out,
        "\n{} checks in {:.1} s: {passed} passed, {failed} failed, {not_applicable} not applicable, \
         {not_checked} not checked",
        report.checks.len(),
        report.seconds
    );
    let _ = writeln!(
        out,
        "{dim}{} requirements of the contract cannot be seen from outside, see `gosling check --list`{off}",
        UNCHECKED.len()
    );
}

/// Sections in the order of the contract, and advice at the end.
fn order(section: &str) -> (bool, Vec<u32>) {
    let numbers = section.split('.').filter_map(|part| part.parse().ok());
    (section.is_empty(), numbers.collect())
}

fn write_checklist(out: &mut String, report: &CheckReport, colours: &Colours) {
    let Colours { bold, off, .. } = colours;
    let Colours { red, green, .. } = colours;
    let _ = writeln!(out, "\n{bold}Checklist (§12){off}");
    for (number, text, tick) in checklist(&report.checks) {
        let mark = match tick {
            Tick::Held => format!("{green}[x]{off}"),
            Tick::Broken => format!("{red}[ ]{off}"),
            Tick::Open => "[-]".to_owned(),
        };
        let _ = writeln!(out, "  {mark} {number}. {text}");
    }
}

fn write_profiles(out: &mut String, report: &CheckReport, asked: Asked, colours: &Colours) {
    let Colours { bold, off, .. } = colours;
    let Colours { red, green, .. } = colours;
    let of_these = if report.is_complete() {
        ""
    } else {
        ", as far as these checks tell"
    };
    let _ = writeln!(out, "\n{bold}Profiles (§11){off}{of_these}");
    for profile in Profile::ALL {
        if report.holds(profile) {
            let _ = writeln!(out, "  {:<9} {green}holds{off}", profile.name());
        } else {
            let reasons = report.why_not(profile).join(", ");
            let _ = writeln!(out, "  {:<9} does not hold: {reasons}", profile.name());
        }
    }
    let what = match asked {
        Some(profile) => format!("the profile {}", profile.name()),
        None => "the contract in everything that it declares".to_owned(),
    };
    let summary = if report.passes(asked) {
        format!("{green}The server holds {what}.{off}")
    } else {
        format!("{red}The server does not hold {what}.{off}")
    };
    let _ = writeln!(out, "\n{summary}");
}

fn write_installation(out: &mut String, report: &CheckReport, colours: &Colours) {
    let Colours { bold, off, .. } = colours;
    let _ = writeln!(
        out,
        "\n{bold}To install it in Goose{off}, below `extensions` in config.yaml:"
    );
    for line in report.installation.yaml.lines() {
        let _ = writeln!(out, "  {line}");
    }
    if !report.installation.link.is_empty() {
        let _ = writeln!(out, "or with the link\n  {}", report.installation.link);
    }
}
