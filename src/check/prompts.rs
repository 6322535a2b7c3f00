//! Prompts: everything listed can be got. SERVER §5.3.

use super::checks::Check;
use super::findings::Findings;
use super::listing::Kind;
use super::runner::Runner;
use super::session::{Answer, Reply};
use super::tools::{check_message, compare_codes};
use super::types;
use crate::text::printable;
use serde_json::{Map, Value, json};

/// The most listed prompts that are got.
const MAX_GOT: usize = 50;
const UNKNOWN: &str = "gosling-unknown-prompt";

pub(super) fn run(runner: &mut Runner<'_>) {
    const CHECKS: [Check; 4] = [
        Check::PromptsGet,
        Check::PromptMessages,
        Check::PromptArguments,
        Check::UnknownPrompt,
    ];
    let listing = runner.listing(Kind::Prompts);
    if !listing.is_there(Kind::Prompts, &CHECKS, &mut runner.findings) {
        return;
    }
    let mut count = 0;
    for prompt in listing.entries().take(MAX_GOT) {
        if let Some(name) = prompt["name"].as_str() {
            get_listed(runner, name, prompt);
            count += 1;
        }
    }
    let options = runner.options;
    for (name, arguments) in &options.prompts {
        let Ok(main) = runner.main() else {
            return;
        };
        let reply = main.request("prompts/get", json!({"name": name, "arguments": arguments}));
        check_got(&mut runner.findings, name, reply, true);
        count += 1;
    }
    let findings = &mut runner.findings;
    if count == 0 {
        let reason = "the server lists no prompts";
        findings.none_applicable(&CHECKS[..3], reason);
    } else {
        findings.pass(Check::PromptsGet, format!("{count} prompts"));
        findings.pass(Check::PromptMessages, format!("{count} prompts"));
        let reason = "no prompt has a required argument";
        findings.not_applicable(Check::PromptArguments, reason);
    }
    get_unknown(runner);
}

fn get_listed(runner: &mut Runner<'_>, name: &str, prompt: &Value) {
    let Ok(main) = runner.main() else {
        return;
    };
    let declared = prompt["arguments"].as_array().into_iter().flatten();
    let required: Vec<&str> = declared
        .filter(|argument| argument["required"] == true)
        .filter_map(|argument| argument["name"].as_str())
        .collect();
    let samples = required
        .iter()
        .map(|name| ((*name).to_owned(), json!("gosling")));
    let samples: Map<String, Value> = samples.collect();
    let reply = main.request("prompts/get", json!({"name": name, "arguments": samples}));
    let lacking = required.first().map(|missing| {
        let mut lacking = samples.clone();
        lacking.remove(*missing);
        let reply = main.request("prompts/get", json!({"name": name, "arguments": lacking}));
        (printable(missing, 80), reply)
    });
    let findings = &mut runner.findings;
    check_got(findings, name, reply, required.is_empty());
    if let Some((missing, reply)) = lacking {
        let name = printable(name, 80);
        match reply.answer {
            Answer::Error { .. } => findings.pass(Check::PromptArguments, ""),
            _ => {
                let fault = format!("{name} without `{missing}` got {}", reply.describe());
                findings.fail(Check::PromptArguments, fault, reply.exchange);
            }
        }
    }
}

/// Whether a prompt was got. `must_succeed`: its arguments are certainly right.
fn check_got(findings: &mut Findings, name: &str, reply: Reply, must_succeed: bool) {
    let name = printable(name, 80);
    let Some(result) = reply.result() else {
        if must_succeed
            || reply.is_unknown_method()
            || !matches!(reply.answer, Answer::Error { .. })
        {
            let fault = format!("{name} got {}", reply.describe());
            findings.fail(Check::PromptsGet, fault, reply.exchange);
        }
        return;
    };
    let fault = match result["messages"].as_array() {
        None => Some("`messages` is not a list".to_owned()),
        Some(messages) => messages.iter().find_map(|message| {
            if !matches!(message["role"].as_str(), Some("user" | "assistant")) {
                return Some("a `role` is neither `user` nor `assistant`".to_owned());
            }
            types::content_fault(&message["content"])
        }),
    };
    if let Some(fault) = fault {
        let fault = format!("{name}: {fault}");
        findings.fail(Check::PromptMessages, fault, reply.exchange);
    }
}

fn get_unknown(runner: &mut Runner<'_>) {
    let Ok(main) = runner.main() else {
        return;
    };
    let params = json!({"name": UNKNOWN, "arguments": {}});
    let first = main.request("prompts/get", params.clone());
    let second = main.request("prompts/get", params);
    let findings = &mut runner.findings;
    let what = "a prompt that does not exist";
    match first.answer {
        Answer::Error { .. } => {
            findings.pass(Check::UnknownPrompt, first.describe());
            compare_codes(findings, what, &first, &second);
            check_message(findings, what, UNKNOWN, &first);
        }
        _ => {
            let fault = format!("{what} got {}", first.describe());
            findings.fail(Check::UnknownPrompt, fault, first.exchange);
        }
    }
}
