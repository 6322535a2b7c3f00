//! Advice beyond the contract: time, memory, tokens, descriptions, many calls at once.

use super::checks::Check;
use super::findings::Exchange;
use super::listing::Kind;
use super::runner::Runner;
use crate::sys;
use crate::text::printable;
use serde_json::Value;

const MAX_MEMORY: u64 = 200 << 20;
const MAX_TOKENS: usize = 10_000;
const BYTES_PER_TOKEN: usize = 4;
/// How many calls are made at once.
const BURST: usize = 50;

pub(super) fn run(runner: &mut Runner<'_>) {
    check_memory(runner);
    let listing = runner.listing(Kind::Tools);
    let checks = [
        Check::ToolTokens,
        Check::Descriptions,
        Check::Annotations,
        Check::CallsAtOnce,
    ];
    if !listing.is_there(Kind::Tools, &checks, &mut runner.findings) {
        return;
    }
    let tools: Vec<&Value> = listing.entries().collect();
    let bytes: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    let tokens = bytes / BYTES_PER_TOKEN;
    let about = format!("{} tools, about {tokens} tokens", tools.len());
    advise(runner, Check::ToolTokens, tokens < MAX_TOKENS, about);
    check_texts(runner, &tools);
    call_at_once(runner);
}

fn advise(runner: &mut Runner<'_>, check: Check, is_right: bool, detail: String) {
    if is_right {
        runner.findings.pass(check, detail);
    } else {
        runner.findings.fail(check, detail, Exchange::default());
    }
}

fn check_memory(runner: &mut Runner<'_>) {
    let process = runner.main().ok().and_then(|main| main.process.clone());
    let Some(process) = process else {
        let reason = "the server is not a process of this run";
        return runner.findings.not_applicable(Check::Memory, reason);
    };
    match sys::resident_of_group(process.pid()) {
        None => {
            let reason = "the processes of the server cannot be seen";
            runner.findings.not_checked(Check::Memory, reason);
        }
        Some(memory) => {
            let about = format!("{} MiB", memory >> 20);
            advise(runner, Check::Memory, memory < MAX_MEMORY, about);
        }
    }
}

fn check_texts(runner: &mut Runner<'_>, tools: &[&Value]) {
    let is_described = |value: &Value| {
        value["description"]
            .as_str()
            .is_some_and(|it| !it.is_empty())
    };
    let mut undescribed = Vec::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_described(tool) {
            undescribed.push(name.to_owned());
        }
        let properties = tool["inputSchema"]["properties"].as_object();
        for (property, schema) in properties.into_iter().flatten() {
            if schema.is_object() && !is_described(schema) {
                undescribed.push(format!("{name}.{property}"));
            }
        }
    }
    let detail = counted("without description", &undescribed);
    advise(runner, Check::Descriptions, undescribed.is_empty(), detail);
    let silent: Vec<String> = tools
        .iter()
        .filter(|tool| !tool["annotations"]["readOnlyHint"].is_boolean())
        .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
        .collect();
    let detail = counted("without `readOnlyHint`", &silent);
    advise(runner, Check::Annotations, silent.is_empty(), detail);
}

fn counted(what: &str, names: &[String]) -> String {
    match names {
        [] => String::new(),
        [first, ..] => format!(
            "{} {what}, for example {}",
            names.len(),
            printable(first, 80)
        ),
    }
}

fn call_at_once(runner: &mut Runner<'_>) {
    let Some(params) = runner.quick_call() else {
        let reason = "no read-only tool was called with success";
        return runner.findings.not_checked(Check::CallsAtOnce, reason);
    };
    let Ok(main) = runner.main() else {
        return;
    };
    let pending: Vec<_> = (0..BURST)
        .map(|_| main.begin_request("tools/call", params.clone()))
        .collect();
    let replies = pending.into_iter().map(|request| main.wait(request));
    let answered = replies.filter(|reply| reply.is_answered()).count();
    let name = printable(params["name"].as_str().unwrap_or_default(), 80);
    let detail = format!("{answered} of {BURST} calls of {name} answered");
    advise(runner, Check::CallsAtOnce, answered == BURST, detail);
}
