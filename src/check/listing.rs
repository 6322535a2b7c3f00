//! The lists of the server, with all their pages, and the checks that all lists have in common. SERVER §6.

use super::checks::Check;
use super::findings::{Exchange, Findings};
use super::runner::Runner;
use super::session::{Answer, Reply, Session};
use super::types;
use crate::text::printable;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};

/// The most pages of a list that are fetched.
const MAX_PAGES: usize = 50;
/// The most entries of a list that are kept.
const MAX_ENTRIES: usize = 5_000;
/// The most text of a list that is kept, in bytes of JSON.
const MAX_BYTES: usize = 16 << 20;
/// The most cursors that are used again.
const MAX_REPEATED: usize = 3;
/// How often a list is fetched again to compare it.
const REPETITIONS: usize = 2;

/// A kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Tools, Kind::Resources, Kind::Templates, Kind::Prompts];

    pub(super) fn method(self) -> &'static str {
        match self {
            Kind::Tools => "tools/list",
            Kind::Resources => "resources/list",
            Kind::Templates => "resources/templates/list",
            Kind::Prompts => "prompts/list",
        }
    }

    pub(super) fn capability(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Resources | Kind::Templates => "resources",
            Kind::Prompts => "prompts",
        }
    }

    /// The field of the result.
    fn field(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Resources => "resources",
            Kind::Templates => "resourceTemplates",
            Kind::Prompts => "prompts",
        }
    }

    /// The field that identifies an entry.
    fn key(self) -> &'static str {
        match self {
            Kind::Tools | Kind::Prompts => "name",
            Kind::Resources => "uri",
            Kind::Templates => "uriTemplate",
        }
    }

    fn check(self) -> Check {
        match self {
            Kind::Tools => Check::ToolsList,
            Kind::Resources => Check::ResourcesList,
            Kind::Templates => Check::ResourceTemplates,
            Kind::Prompts => Check::PromptsList,
        }
    }

    fn shape_check(self) -> Check {
        match self {
            Kind::Tools => Check::ToolShape,
            Kind::Resources | Kind::Templates => Check::ResourceShape,
            Kind::Prompts => Check::PromptShape,
        }
    }
}

/// Why there is no list.
#[derive(Clone, Debug)]
pub(super) enum Missing {
    /// Its capability is not declared.
    NotDeclared,
    /// The request failed.
    Failed(String),
}

/// A page.
pub(super) struct Page {
    /// The cursor that led to it.
    cursor: Option<String>,
    entries: Vec<Value>,
    reply: Reply,
}

/// A list with its pages.
pub(super) struct Listing {
    pub(super) missing: Option<Missing>,
    pages: Vec<Page>,
    /// What was wrong with the pages.
    faults: Vec<(Check, String, Exchange)>,
    /// Why the rest was not fetched.
    cut: Option<String>,
}

impl Listing {
    /// A list that could not be asked for.
    pub(super) fn failed(reason: String) -> Self {
        Listing {
            missing: Some(Missing::Failed(reason)),
            pages: Vec::new(),
            faults: Vec::new(),
            cut: None,
        }
    }

    /// Asks for all pages of a list.
    pub(super) fn fetch(session: &Session, kind: Kind) -> Self {
        let mut listing = Listing {
            missing: None,
            pages: Vec::new(),
            faults: Vec::new(),
            cut: None,
        };
        if session.capability(kind.capability()).is_none() {
            listing.missing = Some(Missing::NotDeclared);
            return listing;
        }
        let mut cursor = None;
        let mut used = HashSet::new();
        let mut left = MAX_ENTRIES;
        let mut left_bytes = MAX_BYTES;
        loop {
            let reply = page(session, kind, cursor.as_deref());
            let Some(entries) = entries(&reply, kind) else {
                listing.broken_page(kind, cursor, reply);
                break;
            };
            let size = reply.result().map_or(0, |it| it.to_string().len());
            if size > left_bytes {
                listing.too_large(kind, reply.exchange);
                break;
            }
            left_bytes -= size;
            let next = reply.result().map(|result| result["nextCursor"].clone());
            let has_next = reply
                .result()
                .is_some_and(|it| it.get("nextCursor").is_some());
            let exchange = reply.exchange.clone();
            let entries: Vec<Value> = entries.iter().take(left).cloned().collect();
            left -= entries.len();
            listing.pages.push(Page {
                cursor,
                entries,
                reply,
            });
            if !has_next {
                break;
            }
            let method = kind.method();
            let (check, fault) = match next {
                Some(Value::String(next)) if !next.is_empty() => {
                    if !used.insert(next.clone()) {
                        let fault = format!("{method}: the same `nextCursor` came again");
                        (Check::PagesEnd, fault)
                    } else if listing.pages.len() == MAX_PAGES || left == 0 {
                        let entries = MAX_ENTRIES - left;
                        listing.cut =
                            Some(format!("{method}: the first {entries} entries are enough"));
                        break;
                    } else {
                        cursor = Some(next);
                        continue;
                    }
                }
                Some(Value::Null) => {
                    let fault = format!("{method}: `nextCursor` is null instead of missing");
                    (Check::PagesEnd, fault)
                }
                Some(Value::String(_)) => {
                    let fault = format!("{method}: `nextCursor` is empty instead of missing");
                    (Check::PagesEnd, fault)
                }
                _ => {
                    let fault = format!("{method}: `nextCursor` is not a string");
                    (Check::PagesComplete, fault)
                }
            };
            listing.faults.push((check, fault, exchange));
            break;
        }
        listing.find_repeated(kind);
        listing
    }

    /// Notes that a list is not kept beyond the pages so far.
    fn too_large(&mut self, kind: Kind, exchange: Exchange) {
        let reason = format!("{}: more than {} MiB", kind.method(), MAX_BYTES >> 20);
        if self.pages.is_empty() {
            self.missing = Some(Missing::Failed(reason.clone()));
            self.faults.push((kind.check(), reason, exchange));
        } else {
            self.cut = Some(reason);
        }
    }

    fn broken_page(&mut self, kind: Kind, cursor: Option<String>, reply: Reply) {
        let what = match &reply.answer {
            Answer::Result(_) => format!("a result without the list `{}`", kind.field()),
            _ => reply.describe(),
        };
        let reason = format!("{} got {what}", kind.method());
        if cursor.is_some() {
            let fault = format!("{reason} for the cursor of the page before");
            self.faults
                .push((Check::PagesComplete, fault, reply.exchange));
        } else if kind == Kind::Templates && reply.is_unknown_method() {
            self.missing = Some(Missing::NotDeclared);
        } else {
            self.faults
                .push((kind.check(), reason.clone(), reply.exchange));
            self.missing = Some(Missing::Failed(reason));
        }
    }

    /// Finds entries that are on two pages.
    fn find_repeated(&mut self, kind: Kind) {
        let mut seen = HashSet::new();
        for page in &self.pages {
            let keys: BTreeSet<&str> = keys(&page.entries, kind).collect();
            let repeated = keys.iter().find(|key| seen.contains(**key));
            if let Some(key) = repeated {
                let fault = format!("{}: {} is on two pages", kind.method(), printable(key, 80));
                let exchange = page.reply.exchange.clone();
                self.faults.push((Check::PagesComplete, fault, exchange));
                return;
            }
            seen.extend(keys);
        }
    }

    /// The entries of all pages.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Value> {
        self.pages.iter().flat_map(|page| &page.entries)
    }

    /// The entries with what was sent and received for their pages.
    pub(super) fn entries_with_exchange(&self) -> impl Iterator<Item = (&Value, &Exchange)> {
        let pages = self.pages.iter();
        pages.flat_map(|page| page.entries.iter().map(|it| (it, &page.reply.exchange)))
    }

    /// The identifying fields of all entries.
    fn keys(&self, kind: Kind) -> BTreeSet<String> {
        let pages = self.pages.iter();
        pages
            .flat_map(|page| keys(&page.entries, kind).map(str::to_owned))
            .collect()
    }

    /// Why nothing can be checked, if there is no list.
    pub(super) fn why_missing(&self, kind: Kind) -> Option<String> {
        match &self.missing {
            None => None,
            Some(Missing::NotDeclared) => Some(format!("`{}` is not declared", kind.capability())),
            Some(Missing::Failed(reason)) => Some(reason.clone()),
        }
    }

    /// Records for each of `checks` why it is not made; true if there is a list.
    pub(super) fn is_there(&self, kind: Kind, checks: &[Check], findings: &mut Findings) -> bool {
        match &self.missing {
            None => return true,
            Some(Missing::NotDeclared) => {
                let reason = format!("`{}` is not declared", kind.capability());
                findings.none_applicable(checks, &reason);
            }
            Some(Missing::Failed(reason)) => findings.none_checked(checks, reason),
        }
        false
    }
}

fn page(session: &Session, kind: Kind, cursor: Option<&str>) -> Reply {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    session.request(kind.method(), params)
}

fn entries(reply: &Reply, kind: Kind) -> Option<&Vec<Value>> {
    reply.result()?[kind.field()].as_array()
}

fn keys(entries: &[Value], kind: Kind) -> impl Iterator<Item = &str> {
    entries.iter().filter_map(move |it| it[kind.key()].as_str())
}

/// The lists, their entries' shapes, and whether they stay the same.
pub(super) fn run(runner: &mut Runner<'_>) {
    for kind in Kind::ALL {
        let listing = runner.listing(kind);
        let findings = &mut runner.findings;
        for (check, fault, exchange) in &listing.faults {
            findings.fail(*check, fault.clone(), exchange.clone());
        }
        if !listing.is_there(kind, &[kind.check(), kind.shape_check()], findings) {
            continue;
        }
        let count = listing.entries().count();
        let pages = match listing.pages.len() {
            1 => String::new(),
            pages => format!(" on {pages} pages"),
        };
        findings.pass(kind.check(), format!("{count} listed{pages}"));
        for (entry, exchange) in listing.entries_with_exchange() {
            for fault in types::entry_faults(kind, entry) {
                findings.fail(kind.shape_check(), fault, exchange.clone());
            }
            if let Some(place) = types::fraction_for_integer(entry) {
                let fault = format!("{}: {place} is not written as an integer", kind.method());
                findings.fail(Check::Integers, fault, exchange.clone());
            }
        }
        findings.pass(kind.shape_check(), format!("{count} entries"));
        compare_repeated(runner, kind, &listing);
    }
    runner.findings.pass(Check::TypesSteady, "in all lists");
    runner.findings.pass(Check::Integers, "in all lists");
}

/// Fetches a list again, and compares it with the first.
fn compare_repeated(runner: &mut Runner<'_>, kind: Kind, first: &Listing) {
    let names = first.keys(kind);
    let mut results: Vec<Value> = first.pages.iter().filter_map(result_of).collect();
    for _ in 0..REPETITIONS {
        let Ok(main) = runner.main() else {
            return;
        };
        let again = Listing::fetch(main, kind);
        let exchange = again.pages.first().map(|page| page.reply.exchange.clone());
        let exchange = exchange.unwrap_or_default();
        if kind == Kind::Tools {
            let now = again.keys(kind);
            if let Some(name) = names.symmetric_difference(&now).next() {
                let name = printable(name, 80);
                let fault = if names.contains(name.as_str()) {
                    format!("the tool {name} is missing in a later list")
                } else {
                    format!("the tool {name} is only in a later list")
                };
                runner
                    .findings
                    .fail(Check::ToolNamesStable, fault, exchange.clone());
            }
        }
        results.extend(again.pages.iter().filter_map(result_of));
        if let Some(conflict) = types::conflict(&results) {
            let fault = format!("{}: {conflict}", kind.method());
            runner.findings.fail(Check::TypesSteady, fault, exchange);
        }
        results.truncate(first.pages.len());
    }
    if kind == Kind::Tools {
        let detail = format!("{} lists are equal", REPETITIONS + 1);
        runner.findings.pass(Check::ToolNamesStable, detail);
    }
}

fn result_of(page: &Page) -> Option<Value> {
    page.reply.result().cloned()
}

/// The checks of pages.
pub(super) fn run_pages(runner: &mut Runner<'_>) {
    const CHECKS: [Check; 4] = [
        Check::PagesComplete,
        Check::PagesRepeat,
        Check::PagesEnd,
        Check::CursorsStay,
    ];
    let mut ended = 0;
    for kind in Kind::ALL {
        let listing = runner.listing(kind);
        let cursors: Vec<&Page> = listing
            .pages
            .iter()
            .filter(|page| page.cursor.is_some())
            .take(MAX_REPEATED)
            .collect();
        match &listing.cut {
            Some(reason) => runner.findings.not_checked(Check::PagesEnd, reason.clone()),
            None if listing.missing.is_none() => ended += 1,
            None => {}
        }
        let Ok(main) = runner.main() else {
            return;
        };
        let mut again = Vec::new();
        // Other requests come between the first use of a cursor and the second one: the rest of the list.
        for page_before in &cursors {
            let cursor = page_before.cursor.as_deref();
            again.push((*page_before, page(main, kind, cursor)));
        }
        if cursors.is_empty() {
            continue;
        }
        let bad = page(main, kind, Some("gosling-no-such-cursor"));
        record_pages(&mut runner.findings, kind, &again, &bad);
    }
    if ended > 0 {
        runner
            .findings
            .pass(Check::PagesEnd, format!("{ended} lists"));
    }
    let reason = "no list has a second page";
    runner.findings.none_applicable(&CHECKS, reason);
    runner.findings.not_applicable(Check::BadCursor, reason);
}

fn record_pages(findings: &mut Findings, kind: Kind, again: &[(&Page, Reply)], bad: &Reply) {
    let method = kind.method();
    findings.pass(Check::PagesComplete, "");
    for (before, reply) in again {
        match entries(reply, kind) {
            None => {
                let fault = format!(
                    "{method}: a cursor that was used before got {}",
                    reply.describe()
                );
                findings.fail(Check::CursorsStay, fault, reply.exchange.clone());
            }
            Some(now) if keys(now, kind).ne(keys(&before.entries, kind)) => {
                let fault = format!("{method}: a cursor that was used before led to another page");
                findings.fail(Check::PagesRepeat, fault, reply.exchange.clone());
            }
            Some(_) => {}
        }
    }
    findings.pass(Check::CursorsStay, "");
    findings.pass(Check::PagesRepeat, "");
    match &bad.answer {
        Answer::Error { .. } | Answer::Refused(_) => {
            findings.pass(Check::BadCursor, bad.describe())
        }
        _ => {
            let fault = format!("{method}: a made-up cursor got {}", bad.describe());
            findings.fail(Check::BadCursor, fault, bad.exchange.clone());
        }
    }
}
