//! A list of the server with all its pages. SERVER §6.

use super::declaration::{Check, declare_checks};
use super::findings::{CheckFindings, Fault, ShownExchange};
use super::list_kind::ListKind;
use super::wire::answer::{RawAnswer, ServerReply};
use super::wire::raw_connection::RawConnection;
use crate::text::printable;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};

declare_checks! {
    TOOLS_LIST = 50 "tools-list" "5.1" Must Minimum [("5.1", 1), ("11.1", 3), ("12", 4)]
        requires: "`tools/list` returns a list of tools."
        why: "Goose lists the tools at every start."
        fix: "Declare `tools` and return `{\"tools\": […]}`."
    RESOURCES_LIST = 70 "resources-list" "5.2" Must Extended [("5.2", 1), ("11.2", 1), ("12", 4)]
        requires: "`resources/list` returns a list of resources."
        why: "Goose lists the resources of servers that declare them."
        fix: "Return `{\"resources\": […]}`, with an empty list if there are none."
    RESOURCE_TEMPLATES = 76 "resource-templates" "5.2" Should Extended [("5", 1)]
        requires: "`resources/templates/list` returns a list, or is refused as an unknown method."
        why: "Clients ask for templates with the resources."
        fix: "Return `{\"resourceTemplates\": []}` if there are none."
    PROMPTS_LIST = 80 "prompts-list" "5.3" Must Full [("5.3", 1), ("11.3", 1), ("12", 4)]
        requires: "`prompts/list` returns a list of prompts."
        why: "Goose lists the prompts of servers that declare them."
        fix: "Return `{\"prompts\": […]}`, with an empty list if there are none."
    PAGES_COMPLETE = 100 "pages-complete" "6" Must Minimum [("6", 1), ("12", 4)]
        requires: "The pages of a list have no entry twice, and a `nextCursor` leads to a page."
        why: "Clients show entries twice or lose the rest."
        fix: "Make the cursor an offset or the last entry of the page."
    PAGES_END = 102 "pages-end" "6" Must Minimum [("6", 3), ("12", 4)]
        requires: "A list ends with a page without `nextCursor`, and all pages are different."
        why: "Clients ask for pages without end, or give up and lose the list."
        fix: "Leave `nextCursor` out of the last page; null and \"\" are not the end for every client."
}

/// The most pages of a list that are fetched.
const MAX_PAGES: usize = 50;
/// The most entries of a list that are kept.
const MAX_ENTRIES: usize = 5_000;
/// The most text of a list that is kept, in bytes of JSON.
const MAX_BYTES: usize = 16 << 20;

/// Why there is no list.
pub(super) enum MissingList {
    /// Its capability is not declared.
    NotDeclared,
    /// The request failed.
    Failed(String),
}

/// A page.
pub(super) struct FetchedPage {
    /// The cursor that led to it.
    pub(super) cursor: Option<String>,
    pub(super) entries: Vec<Value>,
    pub(super) reply: ServerReply,
}

/// A list with its pages.
pub(super) struct FetchedList {
    kind: ListKind,
    pub(super) missing: Option<MissingList>,
    pub(super) pages: Vec<FetchedPage>,
    /// What was wrong with the pages.
    pub(super) faults: Vec<(&'static Check, Fault)>,
    /// Why the rest was not fetched.
    pub(super) cut: Option<String>,
}

impl FetchedList {
    fn empty(kind: ListKind, missing: Option<MissingList>) -> Self {
        FetchedList {
            kind,
            missing,
            pages: Vec::new(),
            faults: Vec::new(),
            cut: None,
        }
    }

    /// A list that could not be asked for.
    pub(super) fn failed(kind: ListKind, reason: String) -> Self {
        Self::empty(kind, Some(MissingList::Failed(reason)))
    }

    /// Asks for all pages of a list.
    pub(super) fn fetch(connection: &RawConnection, kind: ListKind) -> Self {
        if connection.capability(kind.capability()).is_none() {
            return Self::empty(kind, Some(MissingList::NotDeclared));
        }
        let mut list = Self::empty(kind, None);
        let mut cursor = None;
        let mut used = HashSet::new();
        let mut left = MAX_ENTRIES;
        let mut left_bytes = MAX_BYTES;
        loop {
            let reply = page(connection, kind, cursor.as_deref());
            let Some(entries) = entries(&reply, kind) else {
                list.broken_page(cursor, reply);
                break;
            };
            let result = reply.result().unwrap_or(&Value::Null);
            let size = result.to_string().len();
            if size > left_bytes {
                list.too_large(reply.exchange);
                break;
            }
            left_bytes -= size;
            let next = result.get("nextCursor").cloned();
            let exchange = reply.exchange.clone();
            let entries: Vec<Value> = entries.iter().take(left).cloned().collect();
            left -= entries.len();
            list.pages.push(FetchedPage {
                cursor,
                entries,
                reply,
            });
            let (check, fault) = match next {
                None => break,
                Some(Value::Null) => (PAGES_END, "`nextCursor` is null instead of missing"),
                Some(Value::String(next)) if next.is_empty() => {
                    (PAGES_END, "`nextCursor` is empty instead of missing")
                }
                Some(Value::String(next)) if used.contains(&next) => {
                    (PAGES_END, "the same `nextCursor` came again")
                }
                Some(Value::String(_)) if list.pages.len() == MAX_PAGES || left == 0 => {
                    let entries = MAX_ENTRIES - left;
                    list.cut = Some(list.about(&format!("the first {entries} entries are enough")));
                    break;
                }
                Some(Value::String(next)) => {
                    used.insert(next.clone());
                    cursor = Some(next);
                    continue;
                }
                Some(_) => (PAGES_COMPLETE, "`nextCursor` is not a string"),
            };
            let fault = list.about(fault);
            list.faults.push((check, (fault, exchange)));
            break;
        }
        list.find_repeated();
        list
    }

    /// A fault with the method that showed it.
    fn about(&self, fault: &str) -> String {
        format!("{}: {fault}", self.kind.method())
    }

    /// Notes that a list is not kept beyond the pages so far.
    fn too_large(&mut self, exchange: ShownExchange) {
        let reason = self.about(&format!("more than {} MiB", MAX_BYTES >> 20));
        if self.pages.is_empty() {
            self.fail((reason, exchange));
        } else {
            self.cut = Some(reason);
        }
    }

    /// Notes that there is no list.
    fn fail(&mut self, fault: Fault) {
        self.missing = Some(MissingList::Failed(fault.0.clone()));
        self.faults.push((list_check(self.kind), fault));
    }

    fn broken_page(&mut self, cursor: Option<String>, reply: ServerReply) {
        let method = self.kind.method();
        let (reason, exchange) = match &reply.answer {
            RawAnswer::Result(_) => {
                let field = self.kind.field();
                let reason = format!("{method} got a result without the list `{field}`");
                (reason, reply.exchange.clone())
            }
            _ => reply.fault(method),
        };
        if cursor.is_some() {
            let fault = format!("{reason} for the cursor of the page before");
            self.faults.push((PAGES_COMPLETE, (fault, exchange)));
        } else if self.kind == ListKind::Templates && reply.is_unknown_method() {
            self.missing = Some(MissingList::NotDeclared);
        } else {
            self.fail((reason, exchange));
        }
    }

    /// Finds entries that are on two pages.
    fn find_repeated(&mut self) {
        let mut seen = HashSet::new();
        for page in &self.pages {
            let keys: BTreeSet<&str> = keys(&page.entries, self.kind).collect();
            if let Some(key) = keys.iter().find(|key| seen.contains(**key)) {
                let fault = self.about(&format!("{} is on two pages", printable(key, 80)));
                let exchange = page.reply.exchange.clone();
                self.faults.push((PAGES_COMPLETE, (fault, exchange)));
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
    pub(super) fn entries_with_exchange(&self) -> impl Iterator<Item = (&Value, &ShownExchange)> {
        let pages = self.pages.iter();
        pages.flat_map(|page| page.entries.iter().map(|it| (it, &page.reply.exchange)))
    }

    /// The identifying fields of all entries.
    pub(super) fn keys(&self) -> BTreeSet<&str> {
        let pages = self.pages.iter();
        pages
            .flat_map(|page| keys(&page.entries, self.kind))
            .collect()
    }

    /// Why nothing can be checked, if there is no list.
    pub(super) fn why_missing(&self) -> Option<String> {
        Some(match self.missing.as_ref()? {
            MissingList::NotDeclared => format!("`{}` is not declared", self.kind.capability()),
            MissingList::Failed(reason) => reason.clone(),
        })
    }

    /// Records for each of `checks` why it is not made; true if there is a list.
    pub(super) fn is_there(&self, checks: &[&'static Check], findings: &mut CheckFindings) -> bool {
        let reason = self.why_missing().unwrap_or_default();
        match &self.missing {
            None => return true,
            Some(MissingList::NotDeclared) => findings.none_applicable(checks, &reason),
            Some(MissingList::Failed(_)) => findings.none_checked(checks, &reason),
        }
        false
    }
}

pub(super) fn page(
    connection: &RawConnection,
    kind: ListKind,
    cursor: Option<&str>,
) -> ServerReply {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    connection.request(kind.method(), params)
}

pub(super) fn entries(reply: &ServerReply, kind: ListKind) -> Option<&Vec<Value>> {
    reply.result()?[kind.field()].as_array()
}

pub(super) fn keys(entries: &[Value], kind: ListKind) -> impl Iterator<Item = &str> {
    entries.iter().filter_map(move |it| it[kind.key()].as_str())
}

/// The check that there is such a list.
pub(super) fn list_check(kind: ListKind) -> &'static Check {
    match kind {
        ListKind::Tools => TOOLS_LIST,
        ListKind::Resources => RESOURCES_LIST,
        ListKind::Templates => RESOURCE_TEMPLATES,
        ListKind::Prompts => PROMPTS_LIST,
    }
}

/// The tools that say that they are read-only. A name that another tool has as well, which does not say so, may call
/// either of them.
pub(super) fn read_only<'a>(tools: &[&'a Value]) -> Vec<&'a Value> {
    let is_read_only = |tool: &Value| tool["annotations"]["readOnlyHint"] == true;
    let others = tools.iter().filter(|tool| !is_read_only(tool));
    let others: HashSet<&str> = others.filter_map(|tool| tool["name"].as_str()).collect();
    let is_certain = |tool: &&Value| {
        let name = tool["name"].as_str();
        is_read_only(tool) && name.is_some_and(|name| !others.contains(name))
    };
    tools.iter().copied().filter(is_certain).collect()
}

#[cfg(test)]
mod tests;
