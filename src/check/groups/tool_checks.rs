//! Tools: names, schemas and calls. SERVER §5.1.
//!
//! A tool is called only if it says that it is read-only, or if the options name it.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::fetched_list::read_only;
use crate::field_types::{self, BOOLEAN, LIST, OBJECT, Optional, Typed};
use crate::findings::{CheckFindings, ShownExchange};
use crate::list_kind::ListKind;
use crate::refusals::{self, check_message, compare_codes, failure_text, is_failure};
use crate::sample_arguments;
use crate::text::printable;
use crate::tool_schemas::{self, OUTPUT_SCHEMA_VALID};
use crate::wire::answer::{RawAnswer, ServerReply};
use crate::wire::raw_connection::RawConnection;
use crate::wire::server_messages::REFUSED_SERVER_REQUESTS;
use gosling_json_schema::Schema;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::time::{Duration, Instant};

declare_checks! {
    TOOLS_CALL = 51 "tools-call" "5.1" Must Minimum [("5.1", 2), ("11.1", 3)]
        requires: "`tools/call` exists, and a call with valid arguments gets a result."
        why: "Tools that cannot be called are useless to the model."
        fix: "Implement `tools/call`, and answer every call, also one that fails."
    TOOL_NAMES_VALID = 53 "tool-names-valid" "5.1" Should Minimum [("5.1", 3)]
        requires: "Tool names have 1 to 64 characters of A–Z, a–z, 0–9, `_` and `-`."
        why: "Goose prefixes the extension's name, and models' APIs refuse other characters and names of more than 64 characters."
        fix: "Rename the tool."
    TOOL_NAMES_UNIQUE = 54 "tool-names-unique" "5.1" Must Minimum [("5.1", 3)]
        requires: "No two tools have the same name, also in lower case and with other characters replaced by `_`."
        why: "Only one of them can be called."
        fix: "Rename one of the tools."
    UNKNOWN_TOOL = 62 "unknown-tool" "8" Must Minimum [("8", 1), ("8", 3)]
        requires: "A call of an unknown tool gets an error, or a result with `isError`."
        why: "The model takes a result without `isError` for a success."
        fix: "Answer with the error -32602 and the name of the tool."
    WRONG_ARGUMENTS = 63 "wrong-arguments" "5.1" Should Minimum [("5.1", 5), ("8", 4)]
        requires: "A call that lacks a required argument, has one of a wrong type, or one that the schema excludes, gets an error."
        why: "The model corrects its call only if it learns what is wrong."
        fix: "Validate the arguments against `inputSchema` before the tool runs."
    SAME_ERROR = 64 "same-error" "5.1" Should Minimum [("5.1", 5)]
        requires: "The same wrong call gets the same error again."
        why: "Clients and models compare errors to find out whether a retry helps."
        fix: "Keep times, counters, addresses and stack traces out of errors."
    TOOL_RESULT_SHAPE = 65 "tool-result-shape" "7" Must Minimum [("7", 2), ("7", 3)]
        requires: "The result of a call has a list `content`, whose parts have a known `type` with its fields; `isError` is a boolean, `structuredContent` an object."
        why: "Clients drop or refuse results of another shape."
        fix: "Return `{\"content\": [{\"type\": \"text\", \"text\": …}]}`; compare with the MCP schema, type `CallToolResult`."
    STRUCTURED_CONTENT = 66 "structured-content" "7" Must Minimum [("7", 2)]
        requires: "A result of a tool with `outputSchema` has `structuredContent` that is valid against it."
        why: "Clients that check structured results refuse it."
        fix: "Return what the schema says, or correct the schema."
}

pub(crate) const GROUP: Group = Group::new(
    "tools",
    &[CHECKS, tool_schemas::CHECKS, refusals::CHECKS],
    run,
);

/// The most read-only tools that are called.
const MAX_CALLED: usize = 20;
/// The longest tool name that models' APIs accept.
const MAX_NAME: usize = 64;
/// How long a call that reports progress may take. Then it is cancelled.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
const UNKNOWN: &str = "gosling-unknown-tool";

/// A tool, for calls.
struct CalledTool {
    name: String,
    schema: Value,
    output: Option<Value>,
}

fn run(run: &mut CheckRun<'_>) {
    let list = run.list(ListKind::Tools);
    let checks = [CHECKS, tool_schemas::CHECKS].concat();
    if !list.is_there(&checks, &mut run.findings) {
        return;
    }
    let tools: Vec<(&Value, &ShownExchange)> = list.entries_with_exchange().collect();
    check_names(&mut run.findings, &tools);
    check_schemas(&mut run.findings, &tools);
    call_unknown(run);
    call(run, &tools);
}

fn check_names(findings: &mut CheckFindings, tools: &[(&Value, &ShownExchange)]) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut normalized: HashMap<String, (&str, &str)> = HashMap::new();
    for (tool, exchange) in tools {
        let Some(name) = tool["name"].as_str() else {
            continue;
        };
        let shown = printable(name, 80);
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
            let fault = format!("the name of {shown} has other characters, or too many");
            findings.fail(TOOL_NAMES_VALID, (fault, (*exchange).clone()));
        }
        let key = name.to_lowercase().replace(|c| !is_plain(c), "_");
        let before = normalized.insert(key, (name, &exchange.sent));
        // The same entry on two pages is a fault of the pages.
        if let Some((before, page)) = before
            && (before != name || page == exchange.sent)
        {
            let fault = format!("{} and {shown} are the same name", printable(before, 80));
            findings.fail(TOOL_NAMES_UNIQUE, (fault, (*exchange).clone()));
        }
    }
    let detail = format!("{} names", tools.len());
    findings.pass(TOOL_NAMES_VALID, detail.clone());
    findings.pass(TOOL_NAMES_UNIQUE, detail);
}

fn check_schemas(findings: &mut CheckFindings, tools: &[(&Value, &ShownExchange)]) {
    for (tool, exchange) in tools {
        for (check, fault) in tool_schemas::faults(tool) {
            findings.fail(check, (fault, (*exchange).clone()));
        }
    }
    let of_inputs = tool_schemas::CHECKS.iter();
    for check in of_inputs.filter(|it| **it != OUTPUT_SCHEMA_VALID) {
        findings.pass(check, format!("{} tools", tools.len()));
    }
    let mut outputs = tools.iter().map(|(tool, _)| &tool["outputSchema"]);
    if outputs.any(Value::is_object) {
        findings.pass(OUTPUT_SCHEMA_VALID, "");
    } else {
        let reason = "no tool has an `outputSchema`";
        findings.not_applicable(OUTPUT_SCHEMA_VALID, reason);
    }
}

/// Calls a tool. The request has a progress token, so that the server may report progress. `None`: the tool still
/// reports progress after a while, and the call was cancelled.
fn call_tool(
    connection: &RawConnection,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Option<ServerReply> {
    let token = connection.progress_token();
    connection.inbox.expect_progress(&token);
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
    let pending = connection.begin_request("tools/call", params);
    let reply = connection.wait_for_call(pending, &token, CALL_TIMEOUT);
    if reply.as_ref().is_some_and(ServerReply::is_answered) {
        connection.inbox.end_progress(&token);
    }
    reply
}

fn call_unknown(run: &mut CheckRun<'_>) {
    let Ok(main) = run.main() else {
        return;
    };
    let first = call_tool(main, UNKNOWN, &Map::new());
    let second = call_tool(main, UNKNOWN, &Map::new());
    let (Some(first), Some(second)) = (first, second) else {
        let reason = "a call of an unknown tool reports progress";
        return run.findings.not_checked(UNKNOWN_TOOL, reason);
    };
    let findings = &mut run.findings;
    let what = "a call of an unknown tool";
    if !is_failure(&first) {
        let (mut fault, exchange) = first.fault(what);
        if first.is_answered() {
            fault += " without `isError`";
        }
        return findings.fail(UNKNOWN_TOOL, (fault, exchange));
    }
    findings.pass(UNKNOWN_TOOL, first.describe());
    compare_codes(findings, what, &first, &second);
    compare_failures(findings, UNKNOWN, &first, &second);
    check_message(findings, "the call of an unknown tool", UNKNOWN, &first);
}

fn compare_failures(
    findings: &mut CheckFindings,
    tool: &str,
    first: &ServerReply,
    second: &ServerReply,
) {
    let code = |reply: &ServerReply| matches!(reply.answer, RawAnswer::Error { .. });
    let (before, after) = (failure_text(first), failure_text(second));
    // Another code is a fault of its own.
    if before != after && code(first) == code(second) {
        let tool = printable(tool, 80);
        let fault = format!("{tool}: the same wrong call got another error");
        findings.fail(SAME_ERROR, (fault, second.exchange.clone()));
    } else {
        findings.pass(SAME_ERROR, "");
    }
}

/// The calls with right and with wrong arguments.
fn call(run: &mut CheckRun<'_>, tools: &[(&Value, &ShownExchange)]) {
    let mut called = 0;
    let options = run.options;
    for (name, arguments) in &options.calls {
        let entry = tools.iter().find(|(tool, _)| tool["name"] == **name);
        let tool = CalledTool::new(name, entry.map_or(&Value::Null, |(tool, _)| tool));
        call_one(run, &tool, arguments, true);
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
        let tool = CalledTool::new(name, entry);
        let arguments = sample_arguments::arguments(&tool.schema);
        call_one(run, &tool, &arguments, false);
        call_wrongly(run, &tool);
        called += 1;
    }
    let findings = &mut run.findings;
    let calls = format!("{called} tools were called");
    if called == 0 {
        let reason = "no tool says that it is read-only, and none was asked for with --call";
        findings.none_checked(&[TOOLS_CALL, TOOL_RESULT_SHAPE], reason);
        findings.none_checked(&[WRONG_ARGUMENTS, STRUCTURED_CONTENT], reason);
    } else {
        findings.pass(TOOLS_CALL, calls.clone());
        findings.pass(TOOL_RESULT_SHAPE, calls);
        let reason = "no called tool has required or typed arguments";
        findings.not_applicable(WRONG_ARGUMENTS, reason);
        let reason = "no called tool has an `outputSchema`";
        findings.not_applicable(STRUCTURED_CONTENT, reason);
    }
    if let Ok(main) = run.main()
        && main.inbox.questions() > 0
    {
        let detail = "the calls that asked ended";
        run.findings.pass(REFUSED_SERVER_REQUESTS, detail);
    }
}

impl CalledTool {
    fn new(name: &str, entry: &Value) -> Self {
        CalledTool {
            name: name.to_owned(),
            schema: entry["inputSchema"].clone(),
            output: entry.get("outputSchema").cloned(),
        }
    }
}

/// Calls a tool. `must_succeed` if the user chose the arguments; made-up ones may be refused.
fn call_one(
    run: &mut CheckRun<'_>,
    tool: &CalledTool,
    arguments: &Map<String, Value>,
    must_succeed: bool,
) {
    let name = printable(&tool.name, 80);
    let Ok(main) = run.main() else {
        return;
    };
    let asked = main.inbox.questions();
    let begin = Instant::now();
    let Some(reply) = call_tool(main, &tool.name, arguments) else {
        // What goes on although it was cancelled shall not disturb the other checks.
        run.retire_main();
        return;
    };
    let has_asked = main.inbox.questions() > asked;
    if !must_succeed && !is_failure(&reply) && reply.is_answered() {
        run.note_call(begin.elapsed(), &tool.name, arguments);
    }
    let findings = &mut run.findings;
    if has_asked && !reply.is_answered() {
        let fault = format!("{name}: after a request to the client, the call got no response");
        return findings.fail(REFUSED_SERVER_REQUESTS, (fault, reply.exchange));
    }
    let is_broken = !reply.is_answered()
        || reply.is_unknown_method()
        || matches!(reply.answer, RawAnswer::Refused(_))
        || (must_succeed && is_failure(&reply));
    if is_broken {
        return findings.fail(TOOLS_CALL, reply.fault(&name));
    }
    let Some(result) = reply.result() else {
        return;
    };
    if let Some(fault) = result_fault(result) {
        let fault = format!("{name}: {fault}");
        return findings.fail(TOOL_RESULT_SHAPE, (fault, reply.exchange));
    }
    check_structured(findings, tool, &reply, result);
}

/// What is wrong with the shape of a result.
fn result_fault(result: &Value) -> Option<String> {
    let rules = [
        ("content", Typed, LIST),
        ("isError", Optional, BOOLEAN),
        ("structuredContent", Optional, OBJECT),
    ];
    let mut content = result["content"].as_array().into_iter().flatten();
    let fault = field_types::faults(result, &rules).next();
    fault.or_else(|| content.find_map(field_types::content_fault))
}

fn check_structured(
    findings: &mut CheckFindings,
    tool: &CalledTool,
    reply: &ServerReply,
    result: &Value,
) {
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
    let observed = match fault {
        None => Ok(String::new()),
        Some(fault) => Err((format!("{name}: {fault}"), reply.exchange.clone())),
    };
    findings.note(STRUCTURED_CONTENT, observed);
}

/// Calls a read-only tool with arguments that its schema forbids.
fn call_wrongly(run: &mut CheckRun<'_>, tool: &CalledTool) {
    let incomplete = sample_arguments::incomplete(&tool.schema)
        .map(|(name, it)| (format!("without `{name}`"), it));
    let mistyped = sample_arguments::mistyped(&tool.schema);
    let mistyped = mistyped.map(|(name, it)| (format!("with `{name}` of a wrong type"), it));
    let mut unknown = sample_arguments::arguments(&tool.schema);
    unknown.insert("gosling_unknown".to_owned(), json!(1));
    // Without `additionalProperties: false`, a tool may ignore it.
    let is_refused = tool.schema["additionalProperties"] == false;
    let unknown = is_refused.then(|| ("with an unknown argument".to_owned(), unknown));
    for (how, arguments) in incomplete.into_iter().chain(mistyped).chain(unknown) {
        let Ok(main) = run.main() else {
            return;
        };
        let Some(first) = call_tool(main, &tool.name, &arguments) else {
            continue;
        };
        let how = printable(&format!("{} {how}", tool.name), 120);
        if !is_failure(&first) {
            run.findings.fail(WRONG_ARGUMENTS, first.fault(&how));
            continue;
        }
        let Some(second) = call_tool(main, &tool.name, &arguments) else {
            continue;
        };
        let findings = &mut run.findings;
        findings.pass(WRONG_ARGUMENTS, "");
        compare_codes(findings, &how, &first, &second);
        compare_failures(findings, &tool.name, &first, &second);
    }
}
