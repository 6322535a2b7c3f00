//! Resources: everything listed can be read, in steady types. SERVER §5.2.

use super::checks::Check;
use super::listing::Kind;
use super::runner::Runner;
use super::session::{Answer, Reply};
use super::tools::{check_message, compare_codes};
use super::types;
use crate::text::printable;
use serde_json::{Value, json};

/// The most listed resources that are read.
const MAX_READ: usize = 100;
const UNKNOWN: &str = "gosling://unknown";

pub(super) fn run(runner: &mut Runner<'_>) {
    const CHECKS: [Check; 4] = [
        Check::ResourcesRead,
        Check::ResourceContents,
        Check::ResourceTypesSteady,
        Check::UnknownResource,
    ];
    let listing = runner.listing(Kind::Resources);
    if !listing.is_there(Kind::Resources, &CHECKS, &mut runner.findings) {
        return;
    }
    let mut count = 0;
    for entry in listing.entries().take(MAX_READ) {
        if let Some(uri) = entry["uri"].as_str() {
            read_twice(runner, uri, &entry["mimeType"]);
            count += 1;
        }
    }
    let options = runner.options;
    for uri in &options.reads {
        read_twice(runner, uri, &Value::Null);
        count += 1;
    }
    let findings = &mut runner.findings;
    if count == 0 {
        let reason = "the server lists no resources";
        findings.none_applicable(&CHECKS[..3], reason);
    } else {
        for check in &CHECKS[..3] {
            findings.pass(*check, format!("{count} resources"));
        }
    }
    read_unknown(runner);
}

/// The contents of a result.
fn contents(reply: &Reply) -> Option<&Vec<Value>> {
    let contents = reply.result()?["contents"].as_array()?;
    (!contents.is_empty()).then_some(contents)
}

fn read_twice(runner: &mut Runner<'_>, uri: &str, listed_type: &Value) {
    let Ok(main) = runner.main() else {
        return;
    };
    let first = main.request("resources/read", json!({ "uri": uri }));
    let second = main.request("resources/read", json!({ "uri": uri }));
    let findings = &mut runner.findings;
    let shown = printable(uri, 80);
    let Some(parts) = contents(&first) else {
        let fault = format!("{shown} got {}", describe(&first));
        findings.fail(Check::ResourcesRead, fault, first.exchange);
        return;
    };
    for part in parts {
        if let Some(fault) = types::resource_fault(part) {
            findings.fail(Check::ResourceContents, fault, first.exchange.clone());
        }
    }
    let Some(again) = contents(&second) else {
        let fault = format!("{shown} got {} when it was read again", describe(&second));
        findings.fail(Check::ResourcesRead, fault, second.exchange);
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
        findings.fail(Check::ResourceTypesSteady, fault, second.exchange);
    } else if !listed_type.is_null() && !before.0.is_null() && *listed_type != before.0 {
        let (listed, read) = (listed_type.to_string(), before.0.to_string());
        let fault = format!(
            "{shown} is listed as {} and read as {}",
            printable(&listed, 80),
            printable(&read, 80)
        );
        findings.fail(Check::ResourceTypesSteady, fault, first.exchange);
    }
}

fn describe(reply: &Reply) -> String {
    match reply.answer {
        Answer::Result(_) => "a result without contents".to_owned(),
        _ => reply.describe(),
    }
}

fn read_unknown(runner: &mut Runner<'_>) {
    let Ok(main) = runner.main() else {
        return;
    };
    let first = main.request("resources/read", json!({ "uri": UNKNOWN }));
    let second = main.request("resources/read", json!({ "uri": UNKNOWN }));
    let findings = &mut runner.findings;
    let what = "a resource that does not exist";
    match first.answer {
        Answer::Error { .. } => {
            findings.pass(Check::UnknownResource, first.describe());
            compare_codes(findings, what, &first, &second);
            check_message(findings, what, UNKNOWN, &first);
        }
        _ => {
            let fault = format!("{what} got {}", first.describe());
            findings.fail(Check::UnknownResource, fault, first.exchange);
        }
    }
}
