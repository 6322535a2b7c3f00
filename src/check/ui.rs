//! User interfaces (MCP Apps, SEP-1865). SERVER §10.

use super::checks::Check;
use super::listing::{Kind, Listing};
use super::runner::Runner;
use super::session::{ClientKind, Session};
use super::types;
use crate::text::printable;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The MIME type of a page.
pub(super) const MIME_TYPE: &str = "text/html;profile=mcp-app";
const NAME: &str = "io.modelcontextprotocol/ui";

/// The details of the capability; null if it is not declared.
pub(super) fn capability(capabilities: &Value) -> &Value {
    match &capabilities["extensions"][NAME] {
        Value::Null => &capabilities["experimental"][NAME],
        details => details,
    }
}

pub(super) fn run(runner: &mut Runner<'_>) {
    let Ok(main) = runner.main() else {
        return;
    };
    let initialized = main.initialized.clone();
    check_capability(runner, &initialized["capabilities"]);
    check_resources(runner);
    check_links(runner);
    check_without(runner, &initialized["capabilities"]);
}

fn check_capability(runner: &mut Runner<'_>, capabilities: &Value) {
    let findings = &mut runner.findings;
    let details = capability(capabilities);
    let types = details.get("mimeTypes");
    let are_strings = |types: &Value| {
        let types = types.as_array();
        types.is_some_and(|types| types.iter().all(Value::is_string))
    };
    if details.is_null() {
        findings.not_applicable(Check::UiCapability, "it is not declared");
    } else if details.is_object() && types.is_none_or(are_strings) {
        findings.pass(Check::UiCapability, "");
    } else {
        let fault = format!("`{NAME}` is {}", printable(&details.to_string(), 100));
        findings.fail(Check::UiCapability, fault, Default::default());
    }
}

fn is_page(uri: &str) -> bool {
    uri.starts_with("ui://")
}

fn check_resources(runner: &mut Runner<'_>) {
    let listing = runner.listing(Kind::Resources);
    let pages: Vec<(String, Value)> = listing
        .entries()
        .filter_map(|entry| Some((entry["uri"].as_str()?.to_owned(), entry["mimeType"].clone())))
        .filter(|(uri, _)| is_page(uri))
        .collect();
    for (uri, listed) in &pages {
        let Ok(main) = runner.main() else {
            return;
        };
        let reply = main.request("resources/read", json!({ "uri": uri }));
        let findings = &mut runner.findings;
        let shown = printable(uri, 80);
        let part = reply.result().map(|result| result["contents"][0].clone());
        let part = part.unwrap_or_default();
        let is_html = |mime: &Value| {
            let mime = mime.as_str().unwrap_or_default();
            mime.starts_with("text/html") && mime.replace(' ', "") != MIME_TYPE
        };
        if is_html(listed) || is_html(&part["mimeType"]) {
            let fault = format!("{shown} has another MIME type");
            findings.fail(Check::UiMimeType, fault, reply.exchange.clone());
        }
        if let Some(fault) = types::resource_fault(&part) {
            findings.fail(
                Check::UiContents,
                format!("{shown}: {fault}"),
                reply.exchange,
            );
        }
    }
    let findings = &mut runner.findings;
    if pages.is_empty() {
        let reason = "no listed resource has an address that begins with ui://";
        findings.none_applicable(&[Check::UiMimeType, Check::UiContents], reason);
    } else {
        findings.pass(Check::UiMimeType, format!("{} pages", pages.len()));
        findings.pass(Check::UiContents, format!("{} pages", pages.len()));
    }
}

/// The page that a tool names, in the present form or the older one.
fn page_of(tool: &Value) -> Option<&Value> {
    let meta = &tool["_meta"];
    let uri = &meta["ui"]["resourceUri"];
    let uri = if uri.is_null() {
        &meta["ui/resourceUri"]
    } else {
        uri
    };
    (!uri.is_null()).then_some(uri)
}

fn check_links(runner: &mut Runner<'_>) {
    let tools = runner.listing(Kind::Tools);
    let mut count = 0;
    for tool in tools.entries() {
        let Some(uri) = page_of(tool) else {
            continue;
        };
        count += 1;
        let name = printable(tool["name"].as_str().unwrap_or_default(), 80);
        let shown = printable(&uri.to_string(), 80);
        if !uri.as_str().is_some_and(is_page) {
            let fault = format!("{name} names {shown}");
            let findings = &mut runner.findings;
            findings.fail(Check::UiLinks, fault, Default::default());
            continue;
        }
        let Ok(main) = runner.main() else {
            return;
        };
        let reply = main.request("resources/read", json!({ "uri": uri }));
        if reply.result().is_none() {
            let fault = format!("{name} names {shown}, which got {}", reply.describe());
            runner.findings.fail(Check::UiLinks, fault, reply.exchange);
        }
    }
    if count == 0 {
        let reason = "no tool names a user interface";
        runner.findings.not_applicable(Check::UiLinks, reason);
    } else {
        runner
            .findings
            .pass(Check::UiLinks, format!("{count} tools"));
    }
}

/// Compares what a client gets that declares nothing.
fn check_without(runner: &mut Runner<'_>, capabilities: &Value) {
    let with: Vec<bool> = [Kind::Tools, Kind::Resources, Kind::Prompts]
        .into_iter()
        .map(|kind| runner.listing(kind).entries().next().is_some())
        .collect();
    let (bare, reply) = match runner.open_initialized(ClientKind::Bare) {
        Ok(opened) => opened,
        Err(reason) => {
            let fault = format!("a client that declares nothing is refused: {reason}");
            let findings = &mut runner.findings;
            return findings.fail(Check::UiOptional, fault, Default::default());
        }
    };
    let fault = what_is_missing(&bare, capabilities, &with);
    let findings = &mut runner.findings;
    match fault {
        Some(fault) => findings.fail(Check::UiOptional, fault, reply.exchange),
        None => findings.pass(Check::UiOptional, ""),
    }
    // What it answers too much is seen on the main connection.
    bare.inbox.take_strays();
    bare.close(findings);
}

fn what_is_missing(bare: &Session, capabilities: &Value, with: &[bool]) -> Option<String> {
    let names = |capabilities: &Value| -> BTreeSet<String> {
        let names = ["tools", "resources", "prompts"].into_iter();
        let declared = names.filter(|name| !capabilities[*name].is_null());
        declared.map(str::to_owned).collect()
    };
    let without = names(&bare.initialized["capabilities"]);
    if let Some(name) = names(capabilities).difference(&without).next() {
        return Some(format!(
            "`{name}` is declared only to clients with user interfaces"
        ));
    }
    let kinds = [Kind::Tools, Kind::Resources, Kind::Prompts].into_iter();
    for (kind, has_entries) in kinds.zip(with) {
        let listing = Listing::fetch(bare, kind);
        if *has_entries && listing.entries().next().is_none() {
            let reason = listing.why_missing(kind);
            let reason = reason.unwrap_or_else(|| "it is empty".to_owned());
            let method = kind.method();
            return Some(format!(
                "{method} of a client that declares nothing: {reason}"
            ));
        }
    }
    None
}
