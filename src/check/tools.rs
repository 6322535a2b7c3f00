//! Tools: names, schemas and calls. SERVER §5.1.
//!
//! A tool is called only if it says that it is read-only, or if the options name it.

use super::checks::Check;
use super::findings::{Exchange, Findings};
use super::listing::Kind;
use super::runner::Runner;
use super::session::{Answer, Reply, Session};
use super::{sample, tool_schemas, types};
use crate::text::printable;
use gosling_json_schema::Schema;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// The most read-only tools that are called.
const MAX_CALLED: usize = 20;
/// The longest tool name that models' APIs accept.
const MAX_NAME: usize = 64;
/// How long a call that reports progress may take. Then it is cancelled.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
const UNKNOWN: &str = "gosling-unknown-tool";

/// A tool, for calls.
struct Tool {
    name: String,
    schema: Value,
    output: Option<Value>,
}

pub(super) fn run(runner: &mut Runner<'_>) {
    const CHECKS: [Check; 15] = [
        Check::ToolsCall,
        Check::ToolNamesValid,
        Check::ToolNamesUnique,
        Check::ToolSchemaValid,
        Check::ToolSchemaObject,
        Check::ToolSchemaRequired,
        Check::ToolSchemaLocal,
        Check::ToolSchemaSize,
        Check::OutputSchemaValid,
        Check::UnknownTool,
        Check::WrongArguments,
        Check::SameError,
        Check::ToolResultShape,
        Check::StructuredContent,
        Check::ToolNamesStable,
    ];
    let listing = runner.listing(Kind::Tools);
    if !listing.is_there(Kind::Tools, &CHECKS, &mut runner.findings) {
        return;
    }
    let tools: Vec<(&Value, &Exchange)> = listing.entries_with_exchange().collect();
    check_names(&mut runner.findings, &tools);
    check_schemas(&mut runner.findings, &tools);
    call_unknown(runner);
    call(runner, &tools);
}

fn check_names(findings: &mut Findings, tools: &[(&Value, &Exchange)]) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut normalized: HashMap<String, (&str, &str)> = HashMap::new();
    for (tool, exchange) in tools {
        let Some(name) = tool["name"].as_str() else {
            continue;
        };
        let shown = printable(name, 80);
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
            let fault = format!("the name of {shown} has other characters, or too many");
            findings.fail(Check::ToolNamesValid, fault, (*exchange).clone());
        }
        let key = name.to_lowercase().replace(|c| !is_plain(c), "_");
        let before = normalized.insert(key, (name, &exchange.sent));
        // The same entry on two pages is a fault of the pages.
        if let Some((before, page)) = before
            && (before != name || page == exchange.sent)
        {
            let fault = format!("{} and {shown} are the same name", printable(before, 80));
            findings.fail(Check::ToolNamesUnique, fault, (*exchange).clone());
        }
    }
    let detail = format!("{} names", tools.len());
    findings.pass(Check::ToolNamesValid, detail.clone());
    findings.pass(Check::ToolNamesUnique, detail);
}

fn check_schemas(findings: &mut Findings, tools: &[(&Value, &Exchange)]) {
    for (tool, exchange) in tools {
        for (check, fault) in tool_schemas::faults(tool) {
            findings.fail(check, fault, (*exchange).clone());
        }
    }
    for check in [
        Check::ToolSchemaValid,
        Check::ToolSchemaObject,
        Check::ToolSchemaRequired,
        Check::ToolSchemaLocal,
        Check::ToolSchemaSize,
    ] {
        findings.pass(check, format!("{} tools", tools.len()));
    }
    if tools
        .iter()
        .any(|(tool, _)| tool["outputSchema"].is_object())
    {
        findings.pass(Check::OutputSchemaValid, "");
    } else {
        let reason = "no tool has an `outputSchema`";
        findings.not_applicable(Check::OutputSchemaValid, reason);
    }
}

/// Calls a tool. The request has a progress token, so that the server may report progress. `None`: the tool still
/// reports progress after a while, and the call was cancelled.
fn call_tool(session: &Session, tool: &str, arguments: &Map<String, Value>) -> Option<Reply> {
    let token = session.progress_token();
    session.inbox.expect_progress(&token);
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
    let pending = session.begin_request("tools/call", params);
    let reply = session.wait_for_call(pending, &token, CALL_TIMEOUT);
    if reply.as_ref().is_some_and(Reply::is_answered) {
        session.inbox.end_progress(&token);
    }
    reply
}

/// Whether a call failed, in either way.
fn is_failure(reply: &Reply) -> bool {
    match &reply.answer {
        Answer::Result(result) => result["isError"] == true,
        Answer::Error { .. } | Answer::Refused(_) => true,
        Answer::Silence(_) => false,
    }
}

/// The text of a failure, to compare it with another one.
fn failure_text(reply: &Reply) -> String {
    match &reply.answer {
        Answer::Result(result) => result["content"].to_string(),
        Answer::Error { code, message } => format!("{code} {message}"),
        Answer::Refused(reason) | Answer::Silence(reason) => reason.clone(),
    }
}

fn call_unknown(runner: &mut Runner<'_>) {
    let Ok(main) = runner.main() else {
        return;
    };
    let first = call_tool(main, UNKNOWN, &Map::new());
    let second = call_tool(main, UNKNOWN, &Map::new());
    let (Some(first), Some(second)) = (first, second) else {
        let reason = "a call of an unknown tool reports progress";
        return runner.findings.not_checked(Check::UnknownTool, reason);
    };
    let findings = &mut runner.findings;
    if !first.is_answered() {
        let fault = format!("a call of an unknown tool got {}", first.describe());
        findings.fail(Check::UnknownTool, fault, first.exchange);
        return;
    }
    if !is_failure(&first) {
        let fault = "a call of an unknown tool got a result without `isError`";
        findings.fail(Check::UnknownTool, fault, first.exchange);
        return;
    }
    findings.pass(Check::UnknownTool, first.describe());
    compare_codes(findings, "a call of an unknown tool", &first, &second);
    compare_failures(findings, UNKNOWN, &first, &second);
    check_message(findings, "the call of an unknown tool", UNKNOWN, &first);
}

/// Whether two equal wrong requests got the same code.
pub(super) fn compare_codes(findings: &mut Findings, what: &str, first: &Reply, second: &Reply) {
    let code = |reply: &Reply| match reply.answer {
        Answer::Error { code, .. } => Some(code),
        _ => None,
    };
    if code(first) == code(second) {
        findings.pass(Check::ErrorsSteady, "");
    } else {
        let fault = format!(
            "{what} got {}, then {}",
            first.describe(),
            second.describe()
        );
        findings.fail(Check::ErrorsSteady, fault, second.exchange.clone());
    }
}

fn compare_failures(findings: &mut Findings, tool: &str, first: &Reply, second: &Reply) {
    let code = |reply: &Reply| matches!(reply.answer, Answer::Error { .. });
    let (before, after) = (failure_text(first), failure_text(second));
    // Another code is a fault of its own.
    if before != after && code(first) == code(second) {
        let tool = printable(tool, 80);
        let fault = format!("{tool}: the same wrong call got another error");
        findings.fail(Check::SameError, fault, second.exchange.clone());
    } else {
        findings.pass(Check::SameError, "");
    }
}

/// Whether the message of an error names what was wrong.
pub(super) fn check_message(findings: &mut Findings, what: &str, name: &str, reply: &Reply) {
    if failure_text(reply).contains(name) {
        findings.pass(Check::ErrorMessages, "");
    } else {
        let fault = format!("the error for {what} does not name {name}");
        findings.fail(Check::ErrorMessages, fault, reply.exchange.clone());
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

/// The calls with right and with wrong arguments.
fn call(runner: &mut Runner<'_>, tools: &[(&Value, &Exchange)]) {
    let mut called = 0;
    let options = runner.options;
    for (name, arguments) in &options.calls {
        let entry = tools.iter().find(|(tool, _)| tool["name"] == **name);
        let tool = Tool::new(name, entry.map_or(&Value::Null, |(tool, _)| tool));
        call_one(runner, &tool, arguments, true);
        called += 1;
    }
    let entries: Vec<&Value> = tools.iter().map(|(tool, _)| *tool).collect();
    let read_only = read_only(&entries)
        .into_iter()
        .filter(|tool| !(options.calls.iter()).any(|(name, _)| tool["name"] == **name));
    for entry in read_only.take(MAX_CALLED) {
        let Some(name) = entry["name"].as_str() else {
            continue;
        };
        let tool = Tool::new(name, entry);
        let arguments = sample::arguments(&tool.schema);
        call_one(runner, &tool, &arguments, false);
        call_wrongly(runner, &tool);
        called += 1;
    }
    let findings = &mut runner.findings;
    let calls = format!("{called} tools were called");
    if called == 0 {
        let reason = "no tool says that it is read-only, and none was asked for with --call";
        findings.none_checked(
            &[
                Check::ToolsCall,
                Check::WrongArguments,
                Check::ToolResultShape,
                Check::StructuredContent,
            ],
            reason,
        );
    } else {
        findings.pass(Check::ToolsCall, calls.clone());
        findings.pass(Check::ToolResultShape, calls);
        let reason = "no called tool has required or typed arguments";
        findings.not_applicable(Check::WrongArguments, reason);
        let reason = "no called tool has an `outputSchema`";
        findings.not_applicable(Check::StructuredContent, reason);
    }
    if let Ok(main) = runner.main()
        && main.inbox.questions() > 0
    {
        let detail = "the calls that asked ended";
        runner.findings.pass(Check::RefusedServerRequests, detail);
    }
}

impl Tool {
    fn new(name: &str, entry: &Value) -> Self {
        Tool {
            name: name.to_owned(),
            schema: entry["inputSchema"].clone(),
            output: entry.get("outputSchema").cloned(),
        }
    }
}

/// Calls a tool. `must_succeed` if the user chose the arguments; made-up ones may be refused.
fn call_one(
    runner: &mut Runner<'_>,
    tool: &Tool,
    arguments: &Map<String, Value>,
    must_succeed: bool,
) {
    let name = printable(&tool.name, 80);
    let Ok(main) = runner.main() else {
        return;
    };
    let asked = main.inbox.questions();
    let begin = Instant::now();
    let Some(reply) = call_tool(main, &tool.name, arguments) else {
        // What goes on although it was cancelled shall not disturb the other checks.
        runner.retire_main();
        return;
    };
    let has_asked = main.inbox.questions() > asked;
    if !must_succeed && !is_failure(&reply) && reply.is_answered() {
        runner.note_call(begin.elapsed(), &tool.name, arguments);
    }
    let findings = &mut runner.findings;
    if has_asked && !reply.is_answered() {
        let fault = format!("{name}: after a request to the client, the call got no response");
        findings.fail(Check::RefusedServerRequests, fault, reply.exchange);
        return;
    }
    let is_broken = !reply.is_answered()
        || reply.is_unknown_method()
        || matches!(reply.answer, Answer::Refused(_))
        || (must_succeed && is_failure(&reply));
    if is_broken {
        let fault = format!("{name} got {}", reply.describe());
        findings.fail(Check::ToolsCall, fault, reply.exchange);
        return;
    }
    let Some(result) = reply.result() else {
        return;
    };
    if let Some(fault) = result_fault(result) {
        let fault = format!("{name}: {fault}");
        findings.fail(Check::ToolResultShape, fault, reply.exchange);
        return;
    }
    check_structured(findings, tool, &reply, result);
}

/// What is wrong with the shape of a result.
fn result_fault(result: &Value) -> Option<String> {
    let Some(content) = result["content"].as_array() else {
        return Some("`content` is not a list".to_owned());
    };
    if result.get("isError").is_some_and(|it| !it.is_boolean()) {
        return Some("`isError` is not a boolean".to_owned());
    }
    let structured = result.get("structuredContent");
    if structured.is_some_and(|it| !it.is_object()) {
        return Some("`structuredContent` is not an object".to_owned());
    }
    content.iter().find_map(types::content_fault)
}

fn check_structured(findings: &mut Findings, tool: &Tool, reply: &Reply, result: &Value) {
    let Some(Ok(schema)) = tool.output.clone().map(Schema::new) else {
        return;
    };
    if result["isError"] == true {
        return;
    }
    let name = printable(&tool.name, 80);
    let fault = match result.get("structuredContent") {
        None => Some("`structuredContent` is missing".to_owned()),
        Some(content) => schema.faults(content).first().map(ToString::to_string),
    };
    match fault {
        None => findings.pass(Check::StructuredContent, ""),
        Some(fault) => {
            let fault = format!("{name}: {fault}");
            findings.fail(Check::StructuredContent, fault, reply.exchange.clone());
        }
    }
}

/// Calls a read-only tool with arguments that its schema forbids.
fn call_wrongly(runner: &mut Runner<'_>, tool: &Tool) {
    let incomplete =
        sample::incomplete(&tool.schema).map(|(name, it)| (format!("without `{name}`"), it));
    let mistyped = sample::mistyped(&tool.schema);
    let mistyped = mistyped.map(|(name, it)| (format!("with `{name}` of a wrong type"), it));
    let mut unknown = sample::arguments(&tool.schema);
    unknown.insert("gosling_unknown".to_owned(), json!(1));
    // Without `additionalProperties: false`, a tool may ignore it.
    let is_refused = tool.schema["additionalProperties"] == false;
    let unknown = is_refused.then(|| ("with an unknown argument".to_owned(), unknown));
    for (how, arguments) in incomplete.into_iter().chain(mistyped).chain(unknown) {
        let Ok(main) = runner.main() else {
            return;
        };
        let Some(first) = call_tool(main, &tool.name, &arguments) else {
            continue;
        };
        let how = printable(&format!("{} {how}", tool.name), 120);
        if !is_failure(&first) {
            let fault = format!("{how} got {}", first.describe());
            let findings = &mut runner.findings;
            findings.fail(Check::WrongArguments, fault, first.exchange);
            continue;
        }
        let Some(second) = call_tool(main, &tool.name, &arguments) else {
            continue;
        };
        let findings = &mut runner.findings;
        findings.pass(Check::WrongArguments, "");
        compare_codes(findings, &how, &first, &second);
        compare_failures(findings, &tool.name, &first, &second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_also_belongs_to_a_tool_that_is_not_read_only_is_not_called() {
        let hint = |is_read_only: bool| json!({"readOnlyHint": is_read_only});
        let first = json!({"name": "a", "annotations": hint(true)});
        let second = json!({"name": "b", "annotations": hint(true)});
        let third = json!({"name": "b", "annotations": hint(false)});
        assert_eq!(read_only(&[&first, &second, &third]), [&first]);
        assert_eq!(read_only(&[&first, &second]), [&first, &second]);
    }
}
