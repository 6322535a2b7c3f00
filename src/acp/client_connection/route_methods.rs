//! Those of Goose's methods that are routes of the HTTP API under another name: the parameters become the request,
//! and its answer the result.

use super::ConnectionState;
use super::goose_params::{Outcome, Params};
use crate::features;
use crate::http::{self, Method, Response};
use crate::mcp::jsonrpc::{
    ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
};
use crate::sys::cancel::Cancel;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// A method that is a route.
pub(crate) struct RouteMethod {
    /// Without the prefix of Goose's methods.
    name: &'static str,
    method: Method,
    /// The path and query of the route, with names of parameters in braces.
    target: &'static str,
    /// The members of the body, separated by blanks: the name in the body, and that of the parameter after `=` if
    /// it is another.
    body: &'static str,
    /// The result from the answer.
    result: fn(Value) -> Value,
    /// The feature that has the route, and the result without it, as JSON: Goose's clients show a page for it in any
    /// case.
    feature: Option<(&'static str, &'static str)>,
}

const fn route(name: &'static str, method: Method, target: &'static str) -> RouteMethod {
    RouteMethod {
        name,
        method,
        target,
        body: "",
        result: |_| json!({}),
        feature: None,
    }
}

impl RouteMethod {
    const fn body(mut self, body: &'static str) -> Self {
        self.body = body;
        self
    }

    const fn result(mut self, result: fn(Value) -> Value) -> Self {
        self.result = result;
        self
    }

    const fn without(mut self, feature: &'static str, result: &'static str) -> Self {
        self.feature = Some((feature, result));
        self
    }
}

/// The answer as it is.
const SAME: fn(Value) -> Value = |answer| answer;

static ROUTES: &[RouteMethod] = &[
    route("apps/export", Method::Get, "/agent/export_app/{name}")
        .result(|html| json!({ "html": html })),
    route("apps/import", Method::Post, "/agent/import_app")
        .body("html")
        .result(SAME),
    route("config/prompts/get", Method::Get, "/config/prompts/{name}").result(camel_case),
    route("config/prompts/list", Method::Get, "/config/prompts")
        .result(camel_case)
        .without("recipes", r#"{"prompts":[]}"#),
    route(
        "config/prompts/reset",
        Method::Delete,
        "/config/prompts/{name}",
    )
    .result(|message| json!({ "message": message })),
    route("config/prompts/save", Method::Put, "/config/prompts/{name}")
        .body("content")
        .result(|message| json!({ "message": message })),
    route(
        "diagnostics/get",
        Method::Get,
        "/diagnostics/{sessionId}/report",
    )
    .result(|report| json!({ "report": report })),
    route(
        "providers/secrets/delete",
        Method::Delete,
        "/config/provider-secrets/{id}",
    ),
    route(
        "providers/secrets/list",
        Method::Get,
        "/config/provider-secrets",
    )
    .result(camel_case)
    .without("desktop", r#"{"secrets":[]}"#),
    route("recipes/decode", Method::Post, "/recipes/decode")
        .body("deeplink")
        .result(SAME),
    route("recipes/delete", Method::Post, "/recipes/delete").body("id"),
    route("recipes/encode", Method::Post, "/recipes/encode")
        .body("recipe")
        .result(SAME),
    route("recipes/list", Method::Get, "/recipes/list")
        .result(|answer| json!({"recipes": answer["manifests"]}))
        .without("recipes", r#"{"recipes":[]}"#),
    route("recipes/parse", Method::Post, "/recipes/parse")
        .body("content")
        .result(SAME),
    route("recipes/scan", Method::Post, "/recipes/scan")
        .body("recipe")
        .result(SAME),
    route("recipes/schedule", Method::Post, "/recipes/schedule").body("id cron_schedule"),
    route(
        "recipes/slash-command",
        Method::Post,
        "/recipes/slash-command",
    )
    .body("id slash_command"),
    route("recipes/to-yaml", Method::Post, "/recipes/to-yaml")
        .body("recipe")
        .result(SAME),
    route("schedules/create", Method::Post, "/schedule/create")
        .body("id recipe cron")
        .result(|answer| json!({"job": job(&answer)})),
    route(
        "schedules/delete",
        Method::Delete,
        "/schedule/delete/{scheduleId}",
    ),
    route("schedules/list", Method::Get, "/schedule/list")
        .result(|answer| {
            let jobs = answer["jobs"].as_array().into_iter().flatten();
            json!({"jobs": jobs.map(job).collect::<Value>()})
        })
        .without("schedules", r#"{"jobs":[]}"#),
    route(
        "schedules/pause",
        Method::Post,
        "/schedule/{scheduleId}/pause",
    ),
    route(
        "schedules/run-now",
        Method::Post,
        "/schedule/{scheduleId}/run_now",
    )
    .result(|answer| json!({"status": "completed", "sessionId": answer["session_id"]})),
    route(
        "schedules/running-job/inspect",
        Method::Get,
        "/schedule/{jobId}/inspect",
    )
    .result(|answer| {
        json!({
            "running": !answer["sessionId"].is_null(),
            "sessionId": answer["sessionId"],
            "jobStartTime": answer["processStartTime"],
            "runningDurationSeconds": answer["runningDurationSeconds"],
        })
    }),
    route(
        "schedules/running-job/kill",
        Method::Post,
        "/schedule/{jobId}/kill",
    )
    .result(SAME),
    route(
        "schedules/sessions/list",
        Method::Get,
        "/schedule/{scheduleId}/sessions?limit={limit}",
    )
    .result(|sessions| {
        let sessions = sessions.as_array().into_iter().flatten();
        json!({"sessions": sessions.map(scheduled_session).collect::<Value>()})
    }),
    route(
        "schedules/unpause",
        Method::Post,
        "/schedule/{scheduleId}/unpause",
    ),
    route("schedules/update", Method::Put, "/schedule/{scheduleId}")
        .body("cron")
        .result(|answer| json!({"job": job(&answer)})),
    route(
        "session/export",
        Method::Get,
        "/sessions/{sessionId}/export",
    )
    .result(|text| json!({ "data": text })),
    route(
        "session/extensions/remove",
        Method::Post,
        "/agent/remove_extension",
    )
    .body("session_id=sessionId name"),
    route("tools/permissions/set", Method::Post, "/config/permissions")
        .body("tool_permissions=toolPermissions"),
];

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().map(|route| route.name)
}

/// The method of this name, without the prefix of Goose's methods.
pub(crate) fn find(name: &str) -> Option<&'static RouteMethod> {
    ROUTES.iter().find(|route| route.name == name)
}

impl RouteMethod {
    /// Calls the route.
    pub(crate) fn run(&self, state: &ConnectionState, params: &Params, cancel: &Cancel) -> Outcome {
        if let Some((feature, result)) = self.feature
            && features::is_left_out(feature)
        {
            return Ok(crate::json::from_str(result).unwrap_or_default());
        }
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        let mut segments = Vec::new();
        for segment in path.split('/') {
            segments.push(match name_in_braces(segment) {
                Some(name) => utf8_percent_encode(params.text(name)?, NON_ALPHANUMERIC).to_string(),
                None => segment.to_owned(),
            });
        }
        let pair = query.split_once('=').and_then(|(name, value)| {
            let value = params.value(name_in_braces(value)?);
            Some((name, value.to_string()))
        });
        let query = pair.as_ref().map(|(name, value)| (*name, value.as_str()));
        let members = self.body.split_whitespace().map(|member| {
            let (theirs, ours) = member.split_once('=').unwrap_or((member, member));
            (theirs.to_owned(), snake_case(params.value(ours)))
        });
        let body = Value::Object(members.collect());
        let query: Vec<(&str, &str)> = query.into_iter().collect();
        let method = self.method.clone();
        let answer = state.call_route(method, &segments.join("/"), &query, &body, cancel);
        answer.map(self.result)
    }
}

impl ConnectionState {
    /// The answer of a route of the HTTP API: JSON, or text.
    ///
    /// # Errors
    /// Those of the route.
    pub(crate) fn call_route(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: &Value,
        cancel: &Cancel,
    ) -> Outcome {
        let answer = self.routes.call(method, path, query, body, cancel);
        body_of(answer.map_err(error_object)?)
    }
}

fn name_in_braces(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}')
}

/// The body of an answer: JSON, or text.
fn body_of(answer: Response) -> Result<Value, ErrorObject> {
    if answer.body.is_empty() {
        return Ok(Value::Null);
    }
    match crate::json::from_slice(&answer.body) {
        Ok(value) => Ok(value),
        Err(_) => String::from_utf8(answer.body)
            .map(Value::from)
            .map_err(|_| {
                let text = "The answer is not text";
                ErrorObject::new(INTERNAL_ERROR, text)
            }),
    }
}

/// An error of a route, for the client.
pub(super) fn error_object(error: http::Error) -> ErrorObject {
    let code = match error.status.0 {
        400 | 413 | 415 | 422 => INVALID_PARAMS,
        404 => RESOURCE_NOT_FOUND,
        405 => METHOD_NOT_FOUND,
        403 | 409 => INVALID_REQUEST,
        _ => INTERNAL_ERROR,
    };
    ErrorObject::new(code, error.message)
}

/// The entries of a list of objects with the names of members as the HTTP API has them. Recipes have the same names
/// in both.
fn snake_case(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| renamed(item, to_snake)).collect(),
        other => other.clone(),
    }
}

/// The answer with the names of members as Goose's methods have them, those in lists of objects too.
fn camel_case(answer: Value) -> Value {
    match answer {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| match value {
                Value::Array(items) => {
                    let items = items.into_iter().map(|item| renamed(&item, to_camel));
                    (to_camel(&name), items.collect())
                }
                other => (to_camel(&name), other),
            });
            Value::Object(members.collect())
        }
        other => other,
    }
}

fn renamed(value: &Value, rename: fn(&str) -> String) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter();
            let members: Map<String, Value> = members
                .map(|(name, value)| (rename(name), value.clone()))
                .collect();
            members.into()
        }
        other => other.clone(),
    }
}

fn to_snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

fn to_camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        text.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

/// A schedule as Goose's methods list it.
fn job(job: &Value) -> Value {
    let flag = |name: &str| job[name].as_bool().unwrap_or_default();
    json!({
        "id": job["id"],
        "source": job["source"],
        "cron": job["cron"],
        "lastRun": job["last_run"],
        "currentlyRunning": flag("currently_running"),
        "paused": flag("paused"),
        "currentSessionId": job["current_session_id"],
        "jobStartTime": job["process_start_time"],
    })
}

/// A session of a schedule as `session/list` describes one.
fn scheduled_session(session: &Value) -> Value {
    json!({
        "sessionId": session["id"],
        "cwd": session["workingDir"],
        "title": session["name"],
        "updatedAt": session["createdAt"],
        "_meta": {
            "createdAt": session["createdAt"],
            "messageCount": session["messageCount"],
            "scheduleId": session["scheduleId"],
            "totalTokens": session["totalTokens"],
            "sessionType": "scheduled",
        },
    })
}
