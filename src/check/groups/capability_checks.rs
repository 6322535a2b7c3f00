//! Capabilities: declared ones have their methods, and others are refused. SERVER §5.

use crate::check_run::{CheckRun, Group};
use crate::declaration::declare_checks;
use crate::list_kind::ListKind;
use crate::wire::answer::ServerReply;
use serde_json::{Value, json};

declare_checks! {
    DECLARED_METHODS = 14 "declared-methods" "5" Must Minimum [("5", 1), ("12", 3)]
        requires: "Each declared capability has its methods: `tools/list`, `resources/list`, `prompts/list`, `logging/setLevel`, `completion/complete`, `resources/subscribe`."
        why: "Goose calls the methods of every declared capability; users see the errors."
        fix: "Implement the method, or do not declare the capability."
    UNDECLARED_METHODS = 15 "undeclared-methods" "5" Must Minimum [("12", 3)]
        requires: "Methods of capabilities that are not declared are refused."
        why: "Goose never calls them, so what they offer is lost."
        fix: "Declare the capability in the result of `initialize`."
}

pub(crate) const GROUP: Group = Group::new("capabilities", &[CHECKS], run);

fn run(run: &mut CheckRun<'_>) {
    let expected = ListKind::EXPECTED.into_iter();
    let missing: Vec<&str> = expected
        .filter(|kind| run.list(*kind).missing.is_some())
        .map(ListKind::method)
        .collect();
    let resources = run.list(ListKind::Resources);
    let uri = resources.entries().find_map(|it| it["uri"].as_str());
    let uri = json!({ "uri": uri.unwrap_or("gosling://unknown") });
    let Ok(main) = run.main() else {
        return;
    };
    let completion = json!({
        "ref": {"type": "ref/prompt", "name": "gosling"},
        "argument": {"name": "gosling", "value": "g"},
    });
    let has = |capability: &str| main.capability(capability).is_some();
    let has_subscribe = main
        .capability("resources")
        .is_some_and(|resources| resources["subscribe"] == true);
    let cases = [
        ("tools/list", has("tools"), json!({})),
        ("resources/list", has("resources"), json!({})),
        ("prompts/list", has("prompts"), json!({})),
        (
            "logging/setLevel",
            has("logging"),
            json!({"level": "warning"}),
        ),
        ("completion/complete", has("completions"), completion),
        ("resources/subscribe", has_subscribe, uri.clone()),
    ];
    let mut replies = Vec::new();
    for (method, is_declared, params) in cases {
        // Lists that failed have their own check.
        if !(is_declared && missing.contains(&method)) {
            replies.push((method, is_declared, main.request(method, params)));
        }
    }
    if has_subscribe {
        main.request("resources/unsubscribe", uri);
    }
    let findings = &mut run.findings;
    for (method, is_declared, reply) in replies {
        if is_declared && (reply.is_unknown_method() || !reply.is_answered()) {
            let what = format!("{method} is declared and");
            findings.fail(DECLARED_METHODS, reply.fault(&what));
        } else if !is_declared && is_offered(method, &reply) {
            let detail = format!("{method} is not declared and got a result");
            findings.fail(UNDECLARED_METHODS, (detail, reply.exchange));
        }
    }
    findings.pass(DECLARED_METHODS, "");
    findings.pass(UNDECLARED_METHODS, "");
}

/// Whether a method that is not declared offers something: an empty list offers nothing.
fn is_offered(method: &str, reply: &ServerReply) -> bool {
    let result = reply.result().unwrap_or(&Value::Null);
    // Servers may accept a level or a subscription and ignore it.
    let entries = method.strip_suffix("/list").map(|field| &result[field]);
    let entries = entries.and_then(Value::as_array);
    entries.is_some_and(|it| !it.is_empty())
}
