//! Resources: everything listed can be read, in steady types. SERVER §5.2.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::field_types;
use crate::list_kind::ListKind;
use crate::refusals::{self, check_message, compare_codes};
use crate::text::printable;
use crate::wire::answer::{RawAnswer, ServerReply};
use serde_json::{Value, json};

declare_checks! {
    RESOURCES_READ {
        71 "resources-read" "5.2" Must Extended
        [("5.2", 2), ("5.2", 3), ("11.2", 1)]
        requires: "Every listed resource can be read."
        why: "Users and models pick resources from the list."
        fix: "List only what can be read."
    }
    RESOURCE_CONTENTS {
        73 "resource-contents" "5.2" Must Extended
        [("5.2", 4)]
        requires: "Contents have a `uri` and either `text` or `blob` in base64."
        why: "Clients cannot show other contents."
        fix: "Return text as `text`, bytes as `blob` in standard base64 with padding."
    }
    RESOURCE_TYPES_STEADY {
        74 "resource-types-steady" "5.2" Must Extended
        [("5.2", 4)]
        requires: "A resource has the same MIME type in the list and in both of two reads, and is text or a blob in both."
        why: "Clients choose a viewer by the type."
        fix: "Decide the type once for each resource."
    }
    UNKNOWN_RESOURCE {
        75 "unknown-resource" "8" Must Extended
        [("8", 1)]
        requires: "Reading a resource that does not exist gets an error."
        why: "The model takes empty contents for an empty file."
        fix: "Answer with the error -32002 and the `uri`."
    }
}

pub(crate) const GROUP: Group = Group::new("resources", &[CHECKS, refusals::CHECKS], run);

/// The most listed resources that are read.
const MAX_READ: usize = 100;
const UNKNOWN: &str = "gosling://unknown";

fn run(run: &mut CheckRun<'_>) {
    let list = run.list(ListKind::Resources);
    if !list.is_there(ListKind::Resources, CHECKS, &mut run.findings) {
        return;
    }
    let mut count = 0;
    for entry in list.entries().take(MAX_READ) {
        if let Some(uri) = entry["uri"].as_str() {
            read_twice(run, uri, &entry["mimeType"]);
            count += 1;
        }
    }
    let options = run.options;
    for uri in &options.reads {
        read_twice(run, uri, &Value::Null);
        count += 1;
    }
    let findings = &mut run.findings;
    if count == 0 {
        let reason = "the server lists no resources";
        findings.none_applicable(&CHECKS[..3], reason);
    } else {
        for check in &CHECKS[..3] {
            findings.pass(check, format!("{count} resources"));
        }
    }
    read_unknown(run);
}

/// The contents of a result.
fn contents(reply: &ServerReply) -> Option<&Vec<Value>> {
    let contents = reply.result()?["contents"].as_array()?;
    (!contents.is_empty()).then_some(contents)
}

fn read_twice(run: &mut CheckRun<'_>, uri: &str, listed_type: &Value) {
    let Ok(main) = run.main() else {
        return;
    };
    let first = main.request("resources/read", json!({ "uri": uri }));
    let second = main.request("resources/read", json!({ "uri": uri }));
    let findings = &mut run.findings;
    let shown = printable(uri, 80);
    let Some(parts) = contents(&first) else {
        let fault = format!("{shown} got {}", describe(&first));
        findings.fail(RESOURCES_READ, fault, first.exchange);
        return;
    };
    for part in parts {
        if let Some(fault) = field_types::resource_fault(part) {
            findings.fail(RESOURCE_CONTENTS, fault, first.exchange.clone());
        }
    }
    let Some(again) = contents(&second) else {
        let fault = format!("{shown} got {} when it was read again", describe(&second));
        findings.fail(RESOURCES_READ, fault, second.exchange);
        return;
    };
    let own = |parts: &[Value]| {
        let own = parts.iter().find(|part| part["uri"] == uri);
        let part = own.or(parts.first()).cloned().unwrap_or_default();
        (part["mimeType"].clone(), part.get("blob").is_some())
    };
    let (before, now) = (own(parts), own(again));
    if before != now {
        let fault = format!("{shown} has another type when it is read again");
        findings.fail(RESOURCE_TYPES_STEADY, fault, second.exchange);
    } else if !listed_type.is_null() && !before.0.is_null() && *listed_type != before.0 {
        let (listed, read) = (listed_type.to_string(), before.0.to_string());
        let fault = format!(
            "{shown} is listed as {} and read as {}",
            printable(&listed, 80),
            printable(&read, 80)
        );
        findings.fail(RESOURCE_TYPES_STEADY, fault, first.exchange);
    }
}

fn describe(reply: &ServerReply) -> String {
    match reply.answer {
        RawAnswer::Result(_) => "a result without contents".to_owned(),
        _ => reply.describe(),
    }
}

fn read_unknown(run: &mut CheckRun<'_>) {
    let Ok(main) = run.main() else {
        return;
    };
    let first = main.request("resources/read", json!({ "uri": UNKNOWN }));
    let second = main.request("resources/read", json!({ "uri": UNKNOWN }));
    let findings = &mut run.findings;
    let what = "a resource that does not exist";
    match first.answer {
        RawAnswer::Error { .. } => {
            findings.pass(UNKNOWN_RESOURCE, first.describe());
            compare_codes(findings, what, &first, &second);
            check_message(findings, what, UNKNOWN, &first);
        }
        _ => {
            let fault = format!("{what} got {}", first.describe());
            findings.fail(UNKNOWN_RESOURCE, fault, first.exchange);
        }
    }
}
