//! Notifications and requests of the server: what is wrong with them, and how requests are answered. Pure.
//!
//! MCP 2025-11-25, schema; SERVER §5.4, §5.5.

use super::checks::Check;
use crate::mcp::types::{CreateMessageParams, ElicitParams, Level};
use serde_json::{Map, Value, json};

/// What is wrong with a notification of a server with these capabilities.
pub(super) fn notification_faults(
    method: &str,
    params: Option<&Value>,
    capabilities: &Value,
) -> Vec<(Check, String)> {
    let empty = Value::Object(Map::new());
    let fields = params.unwrap_or(&empty);
    let mut faults = Vec::new();
    let wrong = |what: &str| (Check::NotificationShape, format!("{method}: {what}"));
    if !fields.is_object() {
        let is_known = KNOWN.contains(&method);
        let check = if is_known {
            Check::NotificationShape
        } else {
            Check::UnknownNotifications
        };
        return vec![(check, format!("{method}: `params` is not an object"))];
    }
    let is_id = |field: &Value| field.is_string() || field.is_i64() || field.is_u64();
    match method {
        "notifications/progress" => {
            if !is_id(&fields["progressToken"]) {
                faults.push(wrong("`progressToken` is neither a string nor an integer"));
            }
            if !fields["progress"].is_number() {
                faults.push(wrong("`progress` is not a number"));
            }
            if fields.get("total").is_some_and(|total| !total.is_number()) {
                faults.push(wrong("`total` is not a number"));
            }
            if fields.get("message").is_some_and(|text| !text.is_string()) {
                faults.push(wrong("`message` is not a string"));
            }
        }
        "notifications/message" => {
            let log = |what: &str| (Check::LogMessages, format!("{method}: {what}"));
            if capabilities["logging"].is_null() {
                faults.push(log("`logging` is not declared"));
            }
            if crate::json::from_value::<Level>(&fields["level"]).is_err() {
                faults.push(log("`level` is not one of the eight levels"));
            }
            if fields.get("data").is_none() {
                faults.push(log("`data` is missing"));
            }
            if fields
                .get("logger")
                .is_some_and(|logger| !logger.is_string())
            {
                faults.push(log("`logger` is not a string"));
            }
        }
        "notifications/cancelled" if !is_id(&fields["requestId"]) => {
            faults.push(wrong("`requestId` is neither a string nor an integer"));
        }
        "notifications/resources/updated" => {
            if !fields["uri"].is_string() {
                faults.push(wrong("`uri` is not a string"));
            }
            if capabilities["resources"]["subscribe"] != true {
                let detail = format!("{method}: `resources.subscribe` is not declared");
                faults.push((Check::ListChanges, detail));
            }
        }
        _ => {
            let changed = method.strip_prefix("notifications/");
            let changed = changed.and_then(|rest| rest.strip_suffix("/list_changed"));
            if let Some(kind @ ("tools" | "resources" | "prompts")) = changed
                && capabilities[kind]["listChanged"] != true
            {
                let detail = format!("{method}: `{kind}.listChanged` is not declared");
                faults.push((Check::ListChanges, detail));
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
pub(super) struct ServerRequest {
    pub(super) answer: Result<Value, (i64, String)>,
    pub(super) faults: Vec<(Check, String)>,
}

/// Answers a request. `is_declared`: the client has declared roots, sampling and elicitation. Every question to
/// the user is declined.
pub(super) fn answer(method: &str, params: Option<&Value>, is_declared: bool) -> ServerRequest {
    let empty = Value::Object(Map::new());
    let params = params.unwrap_or(&empty);
    let mut faults = Vec::new();
    let answer = match method {
        "ping" => Ok(json!({})),
        "roots/list" if is_declared => Ok(json!({"roots": []})),
        "sampling/createMessage" if is_declared => {
            match crate::json::from_value::<CreateMessageParams>(params) {
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
            let params = crate::json::from_value::<ElicitParams>(params);
            let params = params.map_err(|error| error.to_string());
            match params.and_then(|params| params.check().map_err(str::to_owned)) {
                Ok(()) => Ok(json!({"action": "decline"})),
                // The client did not declare this mode.
                Err(error) => Err((-32602, error)),
            }
        }
        "roots/list" | "sampling/createMessage" | "elicitation/create" => {
            let detail = format!("{method}: the client has not declared it");
            faults.push((Check::ServerRequests, detail));
            Err((-32601, format!("{method} is not declared")))
        }
        _ => {
            let detail = format!("{method}: MCP has no such request of servers");
            faults.push((Check::ServerRequests, detail));
            Err((-32601, format!("there is no method {method}")))
        }
    };
    if let Err((-32602, reason)) = &answer {
        faults.push((Check::ServerRequestShape, format!("{method}: {reason}")));
    }
    ServerRequest { answer, faults }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faulty(method: &str, params: Value, capabilities: Value) -> Vec<Check> {
        let faults = notification_faults(method, Some(&params), &capabilities);
        faults.into_iter().map(|(check, _)| check).collect()
    }

    #[test]
    fn notifications_are_compared_with_the_schema_and_the_capabilities() {
        let progress = "notifications/progress";
        let fine = json!({"progressToken": "a", "progress": 0.5, "total": 1});
        assert_eq!(faulty(progress, fine, json!({})), []);
        let wrong = json!({"progressToken": 1.5, "progress": "1"});
        let shape = Check::NotificationShape;
        assert_eq!(faulty(progress, wrong, json!({})), [shape, shape]);

        let log = "notifications/message";
        let fine = json!({"level": "info", "data": null});
        let logging = json!({"logging": {}});
        assert_eq!(faulty(log, fine.clone(), logging.clone()), []);
        assert_eq!(faulty(log, fine, json!({})), [Check::LogMessages]);
        let wrong = json!({"level": "INFO", "data": 1});
        assert_eq!(faulty(log, wrong, logging), [Check::LogMessages]);

        let changed = "notifications/tools/list_changed";
        assert_eq!(faulty(changed, json!({}), json!({})), [Check::ListChanges]);
        let declared = json!({"tools": {"listChanged": true}});
        assert_eq!(faulty(changed, json!({}), declared), []);
        assert_eq!(faulty(changed, json!(1), json!({})), [shape]);

        assert_eq!(faulty("x/y", json!({"any": 1}), json!({})), []);
        let own = Check::UnknownNotifications;
        assert_eq!(faulty("x/y", json!([1]), json!({})), [own]);
    }

    #[test]
    fn only_declared_and_well_formed_requests_get_a_result() {
        let sampling = json!({"messages": [], "maxTokens": 5});
        let cases = [
            ("ping", json!({}), false, None),
            ("roots/list", json!({}), true, None),
            ("roots/list", json!({}), false, Some(Check::ServerRequests)),
            ("sampling/createMessage", sampling.clone(), true, None),
            (
                "sampling/createMessage",
                sampling,
                false,
                Some(Check::ServerRequests),
            ),
            (
                "sampling/createMessage",
                json!({}),
                true,
                Some(Check::ServerRequestShape),
            ),
            ("tools/list", json!({}), true, Some(Check::ServerRequests)),
        ];
        for (method, params, is_declared, fault) in cases {
            let request = answer(method, Some(&params), is_declared);
            assert_eq!(request.answer.is_ok(), fault.is_none(), "{method}");
            let faults = request.faults.first().map(|(check, _)| *check);
            assert_eq!(faults, fault, "{method}");
        }
    }
}
