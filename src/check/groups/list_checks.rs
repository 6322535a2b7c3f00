//! The lists of the server: whether their entries are right, and whether the lists stay the same. SERVER §5, §7.

use crate::check_run::{CheckRun, Group};
use crate::declaration::{Check, declare_checks};
use crate::fetched_list::{self, FetchedList, FetchedPage, list_check};
use crate::field_types::{self, INTEGERS, TYPES_STEADY};
use crate::list_kind::ListKind;
use crate::text::printable;
use serde_json::Value;

declare_checks! {
    TOOL_NAMES_STABLE = 52 "tool-names-stable" "5.1" Must Minimum [("5.1", 3)]
        requires: "Repeated lists have the same tools."
        why: "The model calls tools by the names of the first list."
        fix: "List the same tools for the whole session; send `notifications/tools/list_changed` if they change."
    TOOL_SHAPE = 55 "tool-shape" "7" Must Minimum [("7", 2), ("12", 4)]
        requires: "Each tool has a string `name` and an object `inputSchema`; `title` and `description` are strings, `annotations` has booleans, `_meta` is an object."
        why: "Strict clients refuse the whole list for one wrong field."
        fix: "Compare the entry with the MCP schema, type `Tool`. Leave out fields instead of sending null."
    RESOURCE_SHAPE = 72 "resource-shape" "7" Must Extended [("7", 2), ("12", 4)]
        requires: "Each resource has the strings `uri` and `name`; `mimeType`, `title` and `description` are strings. Each template has `uriTemplate` and `name`."
        why: "Strict clients refuse the whole list for one wrong field."
        fix: "Compare the entry with the MCP schema, types `Resource` and `ResourceTemplate`."
    PROMPT_SHAPE = 82 "prompt-shape" "7" Must Full [("7", 2), ("12", 4)]
        requires: "Each prompt has a string `name`; its `arguments` are a list of objects with a string `name` and a boolean `required`."
        why: "Strict clients refuse the whole list for one wrong field."
        fix: "Compare the entry with the MCP schema, type `Prompt`."
}

pub(crate) const GROUP: Group = Group::new(
    "lists",
    &[CHECKS, fetched_list::CHECKS, field_types::CHECKS],
    run,
);

/// How often a list is fetched again to compare it.
const REPETITIONS: usize = 2;

/// The check of the fields of the entries.
fn shape_check(kind: ListKind) -> &'static Check {
    match kind {
        ListKind::Tools => TOOL_SHAPE,
        ListKind::Resources | ListKind::Templates => RESOURCE_SHAPE,
        ListKind::Prompts => PROMPT_SHAPE,
    }
}

/// The lists, their entries' shapes, and whether they stay the same.
fn run(run: &mut CheckRun<'_>) {
    for kind in ListKind::ALL {
        let list = run.list(kind);
        let findings = &mut run.findings;
        for (check, fault) in &list.faults {
            findings.fail(check, fault.clone());
        }
        let mut checks = vec![list_check(kind), shape_check(kind)];
        if kind == ListKind::Tools {
            checks.push(TOOL_NAMES_STABLE);
        }
        if !list.is_there(&checks, findings) {
            continue;
        }
        let count = list.entries().count();
        let pages = match list.pages.len() {
            1 => String::new(),
            pages => format!(" on {pages} pages"),
        };
        findings.pass(list_check(kind), format!("{count} listed{pages}"));
        for (entry, exchange) in list.entries_with_exchange() {
            for fault in field_types::entry_faults(kind, entry) {
                findings.fail(shape_check(kind), (fault, exchange.clone()));
            }
            if let Some(place) = field_types::fraction_for_integer(entry) {
                let fault = format!("{}: {place} is not written as an integer", kind.method());
                findings.fail(INTEGERS, (fault, exchange.clone()));
            }
        }
        findings.pass(shape_check(kind), format!("{count} entries"));
        compare_repeated(run, kind, &list);
    }
    run.findings.pass(TYPES_STEADY, "in all lists");
    run.findings.pass(INTEGERS, "in all lists");
}

/// Fetches a list again, and compares it with the first.
fn compare_repeated(run: &mut CheckRun<'_>, kind: ListKind, first: &FetchedList) {
    let names = first.keys();
    let mut results: Vec<Value> = first.pages.iter().filter_map(result_of).collect();
    for _ in 0..REPETITIONS {
        let Ok(main) = run.main() else {
            return;
        };
        let again = FetchedList::fetch(main, kind);
        let findings = &mut run.findings;
        let exchange = again.pages.first().map(|page| page.reply.exchange.clone());
        let exchange = exchange.unwrap_or_default();
        if kind == ListKind::Tools
            && let Some(name) = names.symmetric_difference(&again.keys()).next()
        {
            let is_missing = names.contains(name);
            let how = if is_missing { "missing" } else { "only" };
            let fault = format!("the tool {} is {how} in a later list", printable(name, 80));
            findings.fail(TOOL_NAMES_STABLE, (fault, exchange.clone()));
        }
        results.extend(again.pages.iter().filter_map(result_of));
        if let Some(conflict) = field_types::conflict(&results) {
            let fault = format!("{}: {conflict}", kind.method());
            findings.fail(TYPES_STEADY, (fault, exchange));
        }
        results.truncate(first.pages.len());
    }
    if kind == ListKind::Tools {
        let detail = format!("{} lists are equal", REPETITIONS + 1);
        run.findings.pass(TOOL_NAMES_STABLE, detail);
    }
}

fn result_of(page: &FetchedPage) -> Option<Value> {
    page.reply.result().cloned()
}
