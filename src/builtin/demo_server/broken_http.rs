//! The demo server over Streamable HTTP with one rule of the transport broken, see [`faults`]. A small endpoint of
//! its own, because the real one cannot break the rules.
//!
//! [`faults`]: super::faults

use super::faults::Fault;
use super::server;
use crate::http::Method::Delete;
use crate::http::{Access::Keyed, AccessControl, Error, Request, Response, Router};
use crate::mcp::jsonrpc::{self, ErrorObject, INVALID_REQUEST};
use crate::mcp::server::{Connection, ReplySink};
use crate::mcp::types::VERSIONS;
use crate::sys::cancel::Cancel;
use crate::sys::lock;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATH: &str = "/mcp";
const SESSION: &str = "Mcp-Session-Id";
const ACCEPT: &str = "application/json, text/event-stream";
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(60);
const HTML: &str = "<!DOCTYPE html><title>Error</title><h1>Bad Request</h1>";

/// The sessions of the endpoint.
struct Endpoint {
    fault: &'static str,
    sessions: Mutex<Sessions>,
    cancel: Cancel,
}

#[derive(Default)]
struct Sessions {
    count: usize,
    by_id: HashMap<String, Arc<Connection>>,
}

/// The routes of the broken server. `cancel` ends its calls.
pub(super) fn router(fault: &'static Fault, cancel: &Cancel) -> Router {
    let endpoint = Arc::new(Endpoint {
        fault: fault.name,
        sessions: Mutex::default(),
        cancel: cancel.clone(),
    });
    let with = |handler: fn(&Endpoint, &Request) -> Result<Response, Error>| {
        let endpoint = endpoint.clone();
        move |request: &Request| handler(&endpoint, request)
    };
    let refusal = |_, text: &str| {
        let error = ErrorObject::new(INVALID_REQUEST, text);
        jsonrpc::response(None, Err::<&(), _>(&error)).unwrap_or_default()
    };
    Router::new()
        .error_format(refusal)
        .post(PATH, Keyed, with(post))
        .get(PATH, Keyed, with(get))
        .route(Delete, PATH, Keyed, with(delete))
}

/// Who may call the broken server.
pub(super) fn access_control(fault: &Fault) -> AccessControl {
    let hosts = match fault.name {
        "http-host" => vec!["gosling-check.invalid".to_owned()],
        _ => Vec::new(),
    };
    let access = AccessControl::new(None, hosts);
    if fault.name == "http-origin" {
        access.any_origin()
    } else {
        access
    }
}

fn get(endpoint: &Endpoint, _: &Request) -> Result<Response, Error> {
    match endpoint.fault {
        "http-get" => Err(Error::not_found("There is nothing here")),
        "http-legacy-sse" => Ok(Response::bytes(
            "text/event-stream",
            "event: endpoint\ndata: /messages\n\n",
        )),
        _ => Err(Error::new(405, "There is no stream")),
    }
}

fn delete(endpoint: &Endpoint, request: &Request) -> Result<Response, Error> {
    let id = request.header(SESSION).unwrap_or_default();
    if endpoint.fault != "http-kept-session" {
        lock(&endpoint.sessions).by_id.remove(id);
    }
    Ok(Response::empty(200))
}

fn post(endpoint: &Endpoint, request: &Request) -> Result<Response, Error> {
    let fault = endpoint.fault;
    if fault == "http-legacy-sse" {
        return Err(Error::not_found("There is nothing here"));
    }
    if fault == "http-accept" && request.header("Accept") != Some(ACCEPT) {
        return Err(Error::new(406, format!("`Accept` must be `{ACCEPT}`")));
    }
    let version = request.header("MCP-Protocol-Version");
    if fault != "http-version" && version.is_some_and(|version| !VERSIONS.contains(&version)) {
        return Err(Error::bad_request("The version is not supported"));
    }
    let Ok(message) = gosling_core::json::from_slice::<Value>(&request.body) else {
        if fault == "http-html" {
            return Ok(Response::bytes("text/html", HTML).with_status(400));
        }
        return Err(Error::bad_request("The body is not JSON"));
    };
    let method = message["method"].as_str().unwrap_or_default();
    let (id, connection) = endpoint.session(request, method == "initialize")?;
    let messages = Arc::new(Mutex::new(Vec::new()));
    let kept = messages.clone();
    let sink: ReplySink = Arc::new(move |message| lock(&kept).push(message));
    connection.receive(&request.body, &sink);
    connection.settle(TIMEOUT);
    let messages = std::mem::take(&mut *lock(&messages));
    let response = respond(fault, &message, messages);
    if request.header(SESSION).is_none() && method != "initialize" {
        return Ok(response);
    }
    Ok(response.header(SESSION, &id))
}

impl Endpoint {
    /// The session of a request: a new one if it `begins` one.
    fn session(&self, request: &Request, begins: bool) -> Result<(String, Arc<Connection>), Error> {
        let mut sessions = lock(&self.sessions);
        let fault = self.fault;
        let id = match request.header(SESSION) {
            Some(id) => id.to_owned(),
            None if begins => {
                sessions.count += 1;
                let space = if fault == "http-id" { " " } else { "-" };
                let id = format!("demo{space}{}", sessions.count);
                let connection = Connection::new(server(false), &self.cancel).overtaking();
                sessions.by_id.insert(id.clone(), Arc::new(connection));
                id
            }
            None if fault == "http-no-id" => {
                let any = sessions.by_id.iter().next();
                let (id, connection) = any.ok_or_else(|| Error::bad_request("No session"))?;
                return Ok((id.clone(), connection.clone()));
            }
            None => return Err(Error::bad_request("The session id is missing")),
        };
        let status = if fault == "http-unknown" && id.len() > 20 {
            400
        } else {
            404
        };
        let found = sessions.by_id.get(&id).cloned();
        let found = found.ok_or_else(|| Error::new(status, "There is no such session"))?;
        Ok((id, found))
    }
}

/// The response with these messages: JSON if there is one, otherwise an event stream.
fn respond(fault: &str, message: &Value, mut messages: Vec<Vec<u8>>) -> Response {
    let status = match (fault, message["method"].as_str()) {
        ("http-status", Some("ping")) => 201,
        ("http-500", Some("tools/call")) if message["params"]["name"].is_null() => 500,
        _ => 200,
    };
    if message.get("id").is_none() || message.get("method").is_none() {
        return Response::empty(if fault == "http-notified" { 200 } else { 202 });
    }
    if messages.len() == 1 && fault != "http-events" {
        let body = messages.pop().unwrap_or_default();
        return Response::bytes("application/json", body).with_status(status);
    }
    let mut body = String::new();
    for message in messages {
        let field = if fault == "http-events" {
            "content-type: application/json\n"
        } else {
            ""
        };
        let data = String::from_utf8_lossy(&message);
        body += &format!("event: message\n{field}data: {data}\n\n");
    }
    Response::bytes("text/event-stream", body).with_status(status)
}
