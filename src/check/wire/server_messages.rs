//! Notifications and requests of the server: what is wrong with them, and how requests are answered. Pure.
//!
//! MCP 2025-11-25, schema; SERVER §5.4, §5.5.

use crate::declaration::{Check, declare_checks};
use crate::field_types::{self, FieldType, NUMBER, Optional, STRING, Typed};
use crate::findings::CheckFindings;
use crate::mcp::server::Level;
use crate::mcp::types::{CreateMessageParams, ElicitParams};
use serde_json::{Map, Value, json};

declare_checks! {
    NOTIFICATION_SHAPE = 90 "notification-shape" "5.4" Must Minimum [("5.4", 1), ("12", 6)]
        requires: "The parameters of known notifications have the fields of the MCP schema."
        why: "Clients drop notifications that they cannot read, and users miss progress and logs."
        fix: "Compare the notification with the MCP schema."
    LOG_MESSAGES = 92 "log-messages" "5.4" Should Minimum [("5.4", 3)]
        requires: "Log messages come only from servers that declare `logging`, with one of the eight levels and with `data`."
        why: "Clients drop others."
        fix: "Declare `logging`; use the levels of RFC 5424 in lower case."
    UNKNOWN_NOTIFICATIONS = 93 "unknown-notifications" "5.4" Should Minimum [("5.4", 4), ("5.4", 5)]
        requires: "Notifications of a server's own have an object as `params`, or none."
        why: "Clients that ignore unknown notifications still have to parse them."
        fix: "Put values into an object."
    SERVER_REQUESTS = 94 "server-requests" "5.5" Must Minimum [("5.5", 1), ("5.5", 2), ("12", 6)]
        requires: "The server sends only requests of MCP that the client has declared: `roots/list`, `sampling/createMessage`, `elicitation/create`, and `ping`."
        why: "A client answers others with an error, and the call fails or hangs."
        fix: "Look at the client's capabilities in `initialize` before you send a request."
    SERVER_REQUEST_SHAPE = 95 "server-request-shape" "5.5" Must Minimum [("5.5", 1), ("12", 6)]
        requires: "Requests to the client have the parameters of the MCP schema."
        why: "Goose refuses others, and the call fails."
        fix: "Compare the request with the MCP schema, types `CreateMessageRequest` and `ElicitRequest`."
    REFUSED_SERVER_REQUESTS = 96 "refused-server-requests" "5.5" Must Minimum [("5.5", 1)]
        requires: "The server goes on after its request was answered or refused."
        why: "Users decline questions, and clients may not answer them at all."
        fix: "Handle the error, and answer the call that asked."
    LIST_CHANGES = 97 "list-changes" "5.4" Should Minimum [("5", 1)]
        requires: "`list_changed` and `resources/updated` come only if they were declared."
        why: "Clients that look at the capabilities ignore others."
        fix: "Declare `listChanged` or `subscribe`."
}

/// The id of a request, or a token for its progress.
const ID: FieldType = ("neither a string nor an integer", |field| {
    field.is_string() || field.is_i64() || field.is_u64()
});

/// What is wrong with a notification of a server with these capabilities.
pub(crate) fn notification_faults(
    method: &str,
    params: Option<&Value>,
    capabilities: &Value,
) -> Vec<(&'static Check, String)> {
    let empty = Value::Object(Map::new());
    let fields = params.unwrap_or(&empty);
    let mut faults = Vec::new();
    let wrong = |what: String| (NOTIFICATION_SHAPE, format!("{method}: {what}"));
    if !fields.is_object() {
        let is_known = KNOWN.contains(&method);
        let check = if is_known {
            NOTIFICATION_SHAPE
        } else {
            UNKNOWN_NOTIFICATIONS
        };
        return vec![(check, format!("{method}: `params` is not an object"))];
    }
    match method {
        "notifications/progress" => {
            let rules = [
                ("progressToken", Typed, ID),
                ("progress", Typed, NUMBER),
                ("total", Optional, NUMBER),
                ("message", Optional, STRING),
            ];
            faults.extend(field_types::faults(fields, &rules).map(wrong));
        }
        "notifications/message" => {
            let log = |what: &str| (LOG_MESSAGES, format!("{method}: {what}"));
            if capabilities["logging"].is_null() {
                faults.push(log("`logging` is not declared"));
            }
            if crate::text::json::from_value::<Level>(&fields["level"]).is_err() {
                faults.push(log("`level` is not one of the eight levels"));
            }
            if fields.get("data").is_none() {
                faults.push(log("`data` is missing"));
            }
            let logger = field_types::faults(fields, &[("logger", Optional, STRING)]);
            faults.extend(logger.map(|fault| log(&fault)));
        }
        "notifications/cancelled" => {
            faults.extend(field_types::faults(fields, &[("requestId", Typed, ID)]).map(wrong));
        }
        "notifications/resources/updated" => {
            faults.extend(field_types::faults(fields, &[("uri", Typed, STRING)]).map(wrong));
            if capabilities["resources"]["subscribe"] != true {
                let detail = format!("{method}: `resources.subscribe` is not declared");
                faults.push((LIST_CHANGES, detail));
            }
        }
        _ => {
            let changed = method.strip_prefix("notifications/");
            let changed = changed.and_then(|rest| rest.strip_suffix("/list_changed"));
            if let Some(kind @ ("tools" | "resources" | "prompts")) = changed
                && capabilities[kind]["listChanged"] != true
            {
                let detail = format!("{method}: `{kind}.listChanged` is not declared");
                faults.push((LIST_CHANGES, detail));
            }
        }
    }
    faults
}

/// The notifications of a server in MCP.
const KNOWN: [&str; 8] = [
    "notifications/cancelled",
    "notifications/elicitation/complete",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/tools/list_changed",
];

/// How a request of the server is answered.
pub(crate) struct AnsweredRequest {
    pub(crate) answer: Result<Value, (i64, String)>,
    pub(crate) faults: Vec<(&'static Check, String)>,
}

/// Answers a request. `is_declared`: the client has declared roots, sampling and elicitation. Every question to
/// the user is declined.
pub(crate) fn answer(method: &str, params: Option<&Value>, is_declared: bool) -> AnsweredRequest {
    let empty = Value::Object(Map::new());
    let params = params.unwrap_or(&empty);
    let mut faults = Vec::new();
    let answer = match method {
        "ping" => Ok(json!({})),
        "roots/list" if is_declared => Ok(json!({"roots": []})),
        "sampling/createMessage" if is_declared => {
            match crate::text::json::from_value::<CreateMessageParams>(params) {
                Ok(_) => Ok(json!({
                    "role": "assistant",
                    "content": {"type": "text", "text": "This is the answer of gosling check."},
                    "model": "gosling-check",
                    "stopReason": "endTurn",
                })),
                Err(error) => Err((-32602, error.to_string())),
            }
        }
        "elicitation/create" if is_declared => {
            let params = crate::text::json::from_value::<ElicitParams>(params);
            let params = params.map_err(|error| error.to_string());
            match params.and_then(|params| params.check().map_err(str::to_owned)) {
                Ok(()) => Ok(json!({"action": "decline"})),
                // The client did not declare this mode.
                Err(error) => Err((-32602, error)),
            }
        }
        "roots/list" | "sampling/createMessage" | "elicitation/create" => {
            let detail = format!("{method}: the client has not declared it");
            faults.push((SERVER_REQUESTS, detail));
            Err((-32601, format!("{method} is not declared")))
        }
        _ => {
            let detail = format!("{method}: MCP has no such request of servers");
            faults.push((SERVER_REQUESTS, detail));
            Err((-32601, format!("there is no method {method}")))
        }
    };
    if let Err((-32602, reason)) = &answer {
        faults.push((SERVER_REQUEST_SHAPE, format!("{method}: {reason}")));
    }
    AnsweredRequest { answer, faults }
}

/// Passes what is only seen when it fails, after all messages of the run.
pub(crate) fn pass_what_was_not_seen(findings: &mut CheckFindings) {
    for (check, what) in [
        (NOTIFICATION_SHAPE, "notification"),
        (UNKNOWN_NOTIFICATIONS, "unknown notification"),
        (LOG_MESSAGES, "log message"),
        (LIST_CHANGES, "such notification"),
        (SERVER_REQUESTS, "request"),
        (SERVER_REQUEST_SHAPE, "request"),
    ] {
        findings.pass(check, format!("the server sent no {what} that breaks it"));
    }
    let reason = "no called tool sent a request to the client";
    findings.not_applicable(REFUSED_SERVER_REQUESTS, reason);
}

#[cfg(test)]
mod tests;
