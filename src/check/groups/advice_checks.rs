//! Advice beyond the contract: time, memory, tokens, descriptions, many calls at once.

use crate::check_run::{CheckRun, Group};
use crate::declaration::{Check, declare_checks};
use crate::findings::ShownExchange;
use crate::list_kind::ListKind;
use crate::text::printable;
use serde_json::Value;

declare_checks! {
    MEMORY = 151 "memory" "" Advice Minimum []
        requires: "The server's processes use less than 200 MiB."
        why: "Each session starts a server of its own."
        fix: "Load less at the start."
    TOOL_TOKENS = 152 "tool-tokens" "" Advice Minimum []
        requires: "The list of tools has fewer than about 10,000 tokens (4 bytes each)."
        why: "The model gets it with every request."
        fix: "Shorten descriptions and schemas, or offer fewer tools."
    DESCRIPTIONS = 153 "descriptions" "" Advice Minimum []
        requires: "Each tool and each of its parameters has a description."
        why: "The model chooses tools and arguments by them."
        fix: "Add descriptions."
    ANNOTATIONS = 154 "annotations" "" Advice Minimum []
        requires: "Each tool says with `annotations.readOnlyHint` whether it changes anything."
        why: "Goose asks the user before it calls tools that do not say that they are read-only."
        fix: "Set `readOnlyHint`, and `destructiveHint` for tools that change something."
    CALLS_AT_ONCE = 155 "calls-at-once" "" Advice Minimum []
        requires: "Fifty calls of a read-only tool at once are all answered."
        why: "Models call several tools at once, and Goose runs them together."
        fix: "Handle requests concurrently, and bound the queue."
}

pub(crate) const GROUP: Group = Group::new("advice", &[CHECKS], run);

const MAX_MEMORY: u64 = 200 << 20;
const MAX_TOKENS: usize = 10_000;
const BYTES_PER_TOKEN: usize = 4;
/// How many calls are made at once.
const BURST: usize = 50;

fn run(run: &mut CheckRun<'_>) {
    check_memory(run);
    let list = run.list(ListKind::Tools);
    let checks = [TOOL_TOKENS, DESCRIPTIONS, ANNOTATIONS, CALLS_AT_ONCE];
    if !list.is_there(&checks, &mut run.findings) {
        return;
    }
    let tools: Vec<&Value> = list.entries().collect();
    let bytes: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    let tokens = bytes / BYTES_PER_TOKEN;
    let about = format!("{} tools, about {tokens} tokens", tools.len());
    advise(run, TOOL_TOKENS, tokens < MAX_TOKENS, about);
    check_texts(run, &tools);
    call_at_once(run);
}

fn advise(run: &mut CheckRun<'_>, check: &'static Check, is_right: bool, detail: String) {
    let observed = if is_right {
        Ok(detail)
    } else {
        Err((detail, ShownExchange::default()))
    };
    run.findings.note(check, observed);
}

fn check_memory(run: &mut CheckRun<'_>) {
    let process = run.main().ok().and_then(|main| main.process.clone());
    let Some(process) = process else {
        let reason = "the server is not a process of this run";
        return run.findings.not_applicable(MEMORY, reason);
    };
    let Some(memory) = crate::sys::resident_of_group(process.pid()) else {
        let reason = "the processes of the server cannot be seen";
        return run.findings.not_checked(MEMORY, reason);
    };
    let about = format!("{} MiB", memory >> 20);
    advise(run, MEMORY, memory < MAX_MEMORY, about);
}

fn check_texts(run: &mut CheckRun<'_>, tools: &[&Value]) {
    let is_described = |value: &Value| {
        let description = value["description"].as_str();
        description.is_some_and(|it| !it.is_empty())
    };
    let mut undescribed = Vec::new();
    let mut silent = Vec::new();
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
        if !tool["annotations"]["readOnlyHint"].is_boolean() && tool["name"].is_string() {
            silent.push(name.to_owned());
        }
    }
    let detail = counted("without description", &undescribed);
    advise(run, DESCRIPTIONS, undescribed.is_empty(), detail);
    let detail = counted("without `readOnlyHint`", &silent);
    advise(run, ANNOTATIONS, silent.is_empty(), detail);
}

fn counted(what: &str, names: &[String]) -> String {
    let count = names.len();
    names.first().map_or(String::new(), |first| {
        format!("{count} {what}, for example {}", printable(first, 80))
    })
}

fn call_at_once(run: &mut CheckRun<'_>) {
    let Some(params) = run.quick_call() else {
        let reason = "no read-only tool was called with success";
        return run.findings.not_checked(CALLS_AT_ONCE, reason);
    };
    let Ok(main) = run.main() else {
        return;
    };
    let replies = main.request_at_once(BURST, "tools/call", &params);
    let answered = replies.iter().filter(|reply| reply.is_answered()).count();
    let name = printable(params["name"].as_str().unwrap_or_default(), 80);
    let detail = format!("{answered} of {BURST} calls of {name} answered");
    advise(run, CALLS_AT_ONCE, answered == BURST, detail);
}
