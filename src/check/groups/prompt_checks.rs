//! Prompts: everything listed can be got. SERVER §5.3.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::field_types;
use crate::findings::CheckFindings;
use crate::list_kind::ListKind;
use crate::refusals::{self, check_unknown};
use crate::text::printable;
use crate::wire::answer::{RawAnswer, ServerReply};
use crate::wire::raw_connection::RawConnection;
use serde_json::{Map, Value, json};

declare_checks! {
    PROMPTS_GET = 81 "prompts-get" "5.3" Must Full [("5.3", 2), ("11.3", 1)]
        requires: "Every listed prompt can be got. One with required arguments may refuse the check's sample arguments."
        why: "Users pick prompts from the list."
        fix: "Implement `prompts/get` for every listed prompt."
    PROMPT_MESSAGES = 83 "prompt-messages" "5.3" Must Full [("7", 2), ("7", 3)]
        requires: "A prompt's `messages` have the role `user` or `assistant` and one content object with a known `type`."
        why: "Goose refuses or drops other messages."
        fix: "Compare the result with the MCP schema, type `GetPromptResult`."
    PROMPT_ARGUMENTS = 84 "prompt-arguments" "8" Should Full [("8", 4)]
        requires: "A prompt without one of its required arguments gets an error."
        why: "Otherwise the model gets a text with a gap."
        fix: "Answer with the error -32602 and the name of the argument."
    UNKNOWN_PROMPT = 85 "unknown-prompt" "8" Must Full [("8", 1)]
        requires: "Getting a prompt that does not exist gets an error."
        why: "The user takes an empty prompt for the real one."
        fix: "Answer with the error -32602 and the name of the prompt."
}

pub(crate) const GROUP: Group = Group::new("prompts", &[CHECKS, refusals::CHECKS], run);

/// The most listed prompts that are got.
const MAX_GOT: usize = 50;
const UNKNOWN: &str = "gosling-unknown-prompt";

fn run(run: &mut CheckRun<'_>) {
    let list = run.list(ListKind::Prompts);
    if !list.is_there(CHECKS, &mut run.findings) {
        return;
    }
    let mut count = 0;
    for prompt in list.entries().take(MAX_GOT) {
        if let Some(name) = prompt["name"].as_str() {
            get_listed(run, name, prompt);
            count += 1;
        }
    }
    let options = run.options;
    for (name, arguments) in &options.prompts {
        let Ok(main) = run.main() else {
            return;
        };
        let reply = get(main, name, arguments);
        check_got(&mut run.findings, name, reply, true);
        count += 1;
    }
    let findings = &mut run.findings;
    if count == 0 {
        let reason = "the server lists no prompts";
        findings.none_applicable(&CHECKS[..3], reason);
    } else {
        findings.pass(PROMPTS_GET, format!("{count} prompts"));
        findings.pass(PROMPT_MESSAGES, format!("{count} prompts"));
        let reason = "no prompt has a required argument";
        findings.not_applicable(PROMPT_ARGUMENTS, reason);
    }
    let what = "a prompt that does not exist";
    let get = ("prompts/get", json!({"name": UNKNOWN, "arguments": {}}));
    check_unknown(run, UNKNOWN_PROMPT, what, UNKNOWN, get);
}

fn get(main: &RawConnection, name: &str, arguments: &Map<String, Value>) -> ServerReply {
    main.request("prompts/get", json!({"name": name, "arguments": arguments}))
}

fn get_listed(run: &mut CheckRun<'_>, name: &str, prompt: &Value) {
    let Ok(main) = run.main() else {
        return;
    };
    let declared = prompt["arguments"].as_array().into_iter().flatten();
    let required: Vec<&str> = declared
        .filter(|argument| argument["required"] == true)
        .filter_map(|argument| argument["name"].as_str())
        .collect();
    let samples = required.iter();
    let mut arguments: Map<String, Value> = samples
        .map(|name| ((*name).to_owned(), json!("gosling")))
        .collect();
    let reply = get(main, name, &arguments);
    let lacking = required.first().map(|missing| {
        arguments.remove(*missing);
        (printable(missing, 80), get(main, name, &arguments))
    });
    let findings = &mut run.findings;
    check_got(findings, name, reply, required.is_empty());
    if let Some((missing, reply)) = lacking {
        let what = format!("{} without `{missing}`", printable(name, 80));
        match reply.answer {
            RawAnswer::Error { .. } => findings.pass(PROMPT_ARGUMENTS, ""),
            _ => findings.fail(PROMPT_ARGUMENTS, reply.fault(&what)),
        }
    }
}

/// Whether a prompt was got. `must_succeed`: its arguments are certainly right.
fn check_got(findings: &mut CheckFindings, name: &str, reply: ServerReply, must_succeed: bool) {
    let name = printable(name, 80);
    let Some(result) = reply.result() else {
        let is_refusal = matches!(reply.answer, RawAnswer::Error { .. });
        if must_succeed || reply.is_unknown_method() || !is_refusal {
            findings.fail(PROMPTS_GET, reply.fault(&name));
        }
        return;
    };
    let fault = match result["messages"].as_array() {
        None => Some("`messages` is not a list".to_owned()),
        Some(messages) => messages.iter().find_map(|message| {
            if !matches!(message["role"].as_str(), Some("user" | "assistant")) {
                return Some("a `role` is neither `user` nor `assistant`".to_owned());
            }
            field_types::content_fault(&message["content"])
        }),
    };
    if let Some(fault) = fault {
        let fault = format!("{name}: {fault}");
        findings.fail(PROMPT_MESSAGES, (fault, reply.exchange));
    }
}
