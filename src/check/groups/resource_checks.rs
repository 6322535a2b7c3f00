//! Resources: everything listed can be read, in steady types. SERVER §5.2.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::field_types;
use crate::findings::Fault;
use crate::list_kind::ListKind;
use crate::refusals::{self, check_unknown};
use crate::text::printable;
use crate::wire::answer::ServerReply;
use serde_json::{Value, json};

declare_checks! {
    RESOURCES_READ = 71 "resources-read" "5.2" Must Extended [("5.2", 2), ("5.2", 3), ("11.2", 1)]
        requires: "Every listed resource can be read."
        why: "Users and models pick resources from the list."
        fix: "List only what can be read."
    RESOURCE_CONTENTS = 73 "resource-contents" "5.2" Must Extended [("5.2", 4)]
        requires: "Contents have a `uri` and either `text` or `blob` in base64."
        why: "Clients cannot show other contents."
        fix: "Return text as `text`, bytes as `blob` in standard base64 with padding."
    RESOURCE_TYPES_STEADY = 74 "resource-types-steady" "5.2" Must Extended [("5.2", 4)]
        requires: "A resource has the same MIME type in the list and in both of two reads, and is text or a blob in both."
        why: "Clients choose a viewer by the type."
        fix: "Decide the type once for each resource."
    UNKNOWN_RESOURCE = 75 "unknown-resource" "8" Must Extended [("8", 1)]
        requires: "Reading a resource that does not exist gets an error."
        why: "The model takes empty contents for an empty file."
        fix: "Answer with the error -32002 and the `uri`."
}

pub(crate) const GROUP: Group = Group::new("resources", &[CHECKS, refusals::CHECKS], run);

/// The most listed resources that are read.
const MAX_READ: usize = 100;
const UNKNOWN: &str = "gosling://unknown";

fn run(run: &mut CheckRun<'_>) {
    let list = run.list(ListKind::Resources);
    if !list.is_there(CHECKS, &mut run.findings) {
        return;
    }
    let options = run.options;
    let listed = list.entries().take(MAX_READ);
    let listed = listed.filter_map(|it| Some((it["uri"].as_str()?, &it["mimeType"])));
    let asked = options.reads.iter().map(|uri| (&**uri, &Value::Null));
    let mut count = 0;
    for (uri, listed_type) in listed.chain(asked) {
        read_twice(run, uri, listed_type);
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
    let what = "a resource that does not exist";
    check_unknown(run, UNKNOWN_RESOURCE, what, UNKNOWN, read(UNKNOWN));
}

/// The method and the parameters to read a resource.
fn read(uri: &str) -> (&'static str, Value) {
    ("resources/read", json!({ "uri": uri }))
}

/// The contents of a result.
fn contents<'a>(reply: &'a ServerReply, what: &str) -> Result<&'a Vec<Value>, Fault> {
    let result = reply.result().ok_or_else(|| reply.fault(what))?;
    let contents = result["contents"].as_array();
    contents.filter(|it| !it.is_empty()).ok_or_else(|| {
        let fault = format!("{what} got a result without contents");
        (fault, reply.exchange.clone())
    })
}

fn read_twice(run: &mut CheckRun<'_>, uri: &str, listed_type: &Value) {
    let Ok(main) = run.main() else {
        return;
    };
    let (method, params) = read(uri);
    let first = main.request(method, params.clone());
    let second = main.request(method, params);
    let findings = &mut run.findings;
    let shown = printable(uri, 80);
    let parts = match contents(&first, &shown) {
        Ok(parts) => parts,
        Err(fault) => return findings.fail(RESOURCES_READ, fault),
    };
    for fault in parts.iter().filter_map(field_types::resource_fault) {
        findings.fail(RESOURCE_CONTENTS, (fault, first.exchange.clone()));
    }
    let again = match contents(&second, &shown) {
        Ok(again) => again,
        Err((fault, exchange)) => {
            let fault = format!("{fault} when it was read again");
            return findings.fail(RESOURCES_READ, (fault, exchange));
        }
    };
    let own = |parts: &[Value]| {
        let own = parts.iter().find(|part| part["uri"] == uri);
        let part = own.or(parts.first()).cloned().unwrap_or_default();
        (part["mimeType"].clone(), part.get("blob").is_some())
    };
    let (before, now) = (own(parts), own(again));
    if before != now {
        let fault = format!("{shown} has another type when it is read again");
        findings.fail(RESOURCE_TYPES_STEADY, (fault, second.exchange));
    } else if !listed_type.is_null() && !before.0.is_null() && *listed_type != before.0 {
        let listed = printable(&listed_type.to_string(), 80);
        let read = printable(&before.0.to_string(), 80);
        let fault = format!("{shown} is listed as {listed} and read as {read}");
        findings.fail(RESOURCE_TYPES_STEADY, (fault, first.exchange));
    }
}
