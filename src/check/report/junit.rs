//! The report as JUnit XML: a test case for each check. Only a failed MUST is a failure; other failures are the
//! case's output.

use super::{CheckReport, section_name};
use crate::findings::CheckOutcome;
use std::fmt::Write;

/// The report as an XML document.
pub fn write(report: &CheckReport) -> String {
    let broken = report.checks.iter().filter(|it| it.is_broken()).count();
    let [_, _, not_applicable, not_checked] = report.counts();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"gosling check\" tests=\"{}\" failures=\"{broken}\" errors=\"0\" skipped=\"{}\" \
         time=\"{:.3}\">\n",
        report.checks.len(),
        not_applicable + not_checked,
        report.seconds
    );
    for checked in &report.checks {
        let it = checked.check;
        let _ = write!(
            out,
            "  <testcase classname=\"SERVER {}\" name=\"{} {}\">",
            escape(&section_name(it.section)),
            it.number,
            it.name
        );
        match &checked.outcome {
            CheckOutcome::Passed { .. } => {}
            CheckOutcome::NotApplicable { reason } | CheckOutcome::NotChecked { reason } => {
                let _ = write!(out, "<skipped message=\"{}\"/>", escape(reason));
            }
            CheckOutcome::Failed {
                detail, exchange, ..
            } => {
                let text = format!(
                    "{}\nsent: {}\nreceived: {}\nhow to fix: {}",
                    it.requires, exchange.sent, exchange.received, it.fix
                );
                let (detail, text) = (escape(detail), escape(&text));
                let level = it.level.name();
                if checked.is_broken() {
                    let _ = write!(
                        out,
                        "<failure type=\"{level}\" message=\"{detail}\">{text}</failure>"
                    );
                } else {
                    let _ = write!(out, "<system-out>{level}: {detail}\n{text}</system-out>");
                }
            }
        }
        out += "</testcase>\n";
    }
    out + "</testsuite>\n"
}

/// The text with the characters of XML escaped, and those that XML cannot contain replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
