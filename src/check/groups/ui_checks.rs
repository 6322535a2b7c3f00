//! User interfaces (MCP Apps, SEP-1865). SERVER §10.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::fetched_list::FetchedList;
use crate::field_types;
use crate::list_kind::ListKind;
use crate::text::printable;
use crate::wire::client_kind::{ClientKind, MCP_APP_MIME_TYPE, UI_EXTENSION, ui_capability};
use crate::wire::raw_connection::RawConnection;
use serde_json::{Value, json};

declare_checks! {
    UI_CAPABILITY = 140 "ui-capability" "10.1" May Ui [("10", 1), ("10.1", 1), ("11.4", 1)]
        requires: "A declared capability `io.modelcontextprotocol/ui` is an object in `extensions`; its `mimeTypes` is a list of strings."
        why: "Clients ignore another declaration."
        fix: "Declare `{\"extensions\": {\"io.modelcontextprotocol/ui\": {…}}}`."
    UI_MIME_TYPE = 141 "ui-mime-type" "10.2" Should Ui [("10.2", 2)]
        requires: "HTML of `ui://` resources has the MIME type `text/html;profile=mcp-app`."
        why: "Clients show other resources as text."
        fix: "Set the MIME type in the list and in the contents."
    UI_CONTENTS = 142 "ui-contents" "10.2" May Ui [("10.2", 1), ("10.2", 3), ("11.4", 1)]
        requires: "Listed `ui://` resources can be read, and are text or a blob."
        why: "The user sees an empty frame."
        fix: "Return the page as `text`, or as `blob` in base64."
    UI_LINKS = 143 "ui-links" "10.3" Should Ui [("10.3", 1), ("10.3", 2)]
        requires: "`_meta.ui.resourceUri` of a tool is a `ui://` resource that can be read."
        why: "The client asks for it before it shows the result."
        fix: "Correct the address, or serve the resource."
    UI_OPTIONAL = 144 "ui-optional" "10.4" Must Ui [("10.1", 3), ("10.4", 1), ("10.4", 2), ("12", 9)]
        requires: "A client that does not declare user interfaces gets the same capabilities and as many lists."
        why: "Goose's command line and other clients show no interfaces."
        fix: "Return a text result from every tool, and offer the tools to all clients."
}

pub(crate) const GROUP: Group = Group::new("user interfaces", &[CHECKS], run);

fn run(run: &mut CheckRun<'_>) {
    let Ok(main) = run.main() else {
        return;
    };
    let initialized = main.initialized.clone();
    check_capability(run, &initialized["capabilities"]);
    check_resources(run);
    check_links(run);
    check_without(run, &initialized["capabilities"]);
}

fn check_capability(run: &mut CheckRun<'_>, capabilities: &Value) {
    let findings = &mut run.findings;
    let details = ui_capability(capabilities);
    let types = details.get("mimeTypes");
    let are_strings = |types: &Value| {
        let types = types.as_array();
        types.is_some_and(|types| types.iter().all(Value::is_string))
    };
    if details.is_null() {
        findings.not_applicable(UI_CAPABILITY, "it is not declared");
    } else if details.is_object() && types.is_none_or(are_strings) {
        findings.pass(UI_CAPABILITY, "");
    } else {
        let details = printable(&details.to_string(), 100);
        let fault = format!("`{UI_EXTENSION}` is {details}");
        findings.fail(UI_CAPABILITY, (fault, Default::default()));
    }
}

fn is_page(uri: &str) -> bool {
    uri.starts_with("ui://")
}

fn check_resources(run: &mut CheckRun<'_>) {
    let list = run.list(ListKind::Resources);
    let pages: Vec<(String, Value)> = list
        .entries()
        .filter_map(|entry| Some((entry["uri"].as_str()?.to_owned(), entry["mimeType"].clone())))
        .filter(|(uri, _)| is_page(uri))
        .collect();
    for (uri, listed) in &pages {
        let Ok(main) = run.main() else {
            return;
        };
        let reply = main.request("resources/read", json!({ "uri": uri }));
        let findings = &mut run.findings;
        let shown = printable(uri, 80);
        let part = reply.result().map(|result| result["contents"][0].clone());
        let part = part.unwrap_or_default();
        let is_html = |mime: &Value| {
            let mime = mime.as_str().unwrap_or_default();
            mime.starts_with("text/html") && mime.replace(' ', "") != MCP_APP_MIME_TYPE
        };
        if is_html(listed) || is_html(&part["mimeType"]) {
            let fault = format!("{shown} has another MIME type");
            findings.fail(UI_MIME_TYPE, (fault, reply.exchange.clone()));
        }
        if let Some(fault) = field_types::resource_fault(&part) {
            let fault = format!("{shown}: {fault}");
            findings.fail(UI_CONTENTS, (fault, reply.exchange));
        }
    }
    let findings = &mut run.findings;
    if pages.is_empty() {
        let reason = "no listed resource has an address that begins with ui://";
        findings.none_applicable(&[UI_MIME_TYPE, UI_CONTENTS], reason);
    } else {
        findings.pass(UI_MIME_TYPE, format!("{} pages", pages.len()));
        findings.pass(UI_CONTENTS, format!("{} pages", pages.len()));
    }
}

/// The page that a tool names, in the present form or the older one.
fn page_of(tool: &Value) -> Option<&Value> {
    let meta = &tool["_meta"];
    let mut uris = [&meta["ui"]["resourceUri"], &meta["ui/resourceUri"]].into_iter();
    uris.find(|uri| !uri.is_null())
}

fn check_links(run: &mut CheckRun<'_>) {
    let tools = run.list(ListKind::Tools);
    let mut count = 0;
    for tool in tools.entries() {
        let Some(uri) = page_of(tool) else {
            continue;
        };
        count += 1;
        let name = printable(tool["name"].as_str().unwrap_or_default(), 80);
        let shown = printable(&uri.to_string(), 80);
        if !uri.as_str().is_some_and(is_page) {
            let fault = (format!("{name} names {shown}"), Default::default());
            run.findings.fail(UI_LINKS, fault);
            continue;
        }
        let Ok(main) = run.main() else {
            return;
        };
        let reply = main.request("resources/read", json!({ "uri": uri }));
        if reply.result().is_none() {
            let fault = reply.fault(&format!("{name} names {shown}, which"));
            run.findings.fail(UI_LINKS, fault);
        }
    }
    if count == 0 {
        let reason = "no tool names a user interface";
        run.findings.not_applicable(UI_LINKS, reason);
    } else {
        run.findings.pass(UI_LINKS, format!("{count} tools"));
    }
}

/// Compares what a client gets that declares nothing.
fn check_without(run: &mut CheckRun<'_>, capabilities: &Value) {
    let with = ListKind::EXPECTED.map(|kind| run.list(kind).entries().next().is_some());
    let (bare, reply) = match run.open_initialized(ClientKind::Bare) {
        Ok(opened) => opened,
        Err(reason) => {
            let fault = format!("a client that declares nothing is refused: {reason}");
            let fault = (fault, Default::default());
            return run.findings.fail(UI_OPTIONAL, fault);
        }
    };
    let fault = what_is_missing(&bare, capabilities, &with);
    let findings = &mut run.findings;
    match fault {
        Some(fault) => findings.fail(UI_OPTIONAL, (fault, reply.exchange)),
        None => findings.pass(UI_OPTIONAL, ""),
    }
    // What it answers too much is seen on the main connection.
    bare.inbox.take_strays();
    bare.close(findings);
}

fn what_is_missing(bare: &RawConnection, capabilities: &Value, with: &[bool]) -> Option<String> {
    // By name, as the first of them is shown.
    let mut names = ["prompts", "resources", "tools"].into_iter();
    let is_lost = |name: &&str| !capabilities[*name].is_null() && bare.capability(name).is_none();
    if let Some(name) = names.find(is_lost) {
        let fault = format!("`{name}` is declared only to clients with user interfaces");
        return Some(fault);
    }
    for (kind, has_entries) in ListKind::EXPECTED.into_iter().zip(with) {
        let list = FetchedList::fetch(bare, kind);
        if *has_entries && list.entries().next().is_none() {
            let reason = list.why_missing();
            let reason = reason.unwrap_or_else(|| "it is empty".to_owned());
            let what = format!("{} of a client that declares nothing", kind.method());
            return Some(format!("{what}: {reason}"));
        }
    }
    None
}
