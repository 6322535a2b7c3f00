//! MCP servers that are in the client itself: its tools are called over its connection, with `mcp/message` of the
//! protocol's draft. Like MCP 2026-07-28, whose requests it carries, that has neither sessions nor requests of the
//! server. Not announced, because it may change.

use super::ConnectionState;
use crate::agent::Registry;
use crate::client_requests::Answer;
use crate::conversation::{FrontendToolRequest, Outcome};
use crate::error_objects::MAX_SENTENCE;
use crate::extension::ExtensionConfig;
use crate::extension::config::key;
use crate::mcp::jsonrpc::RawJson;
use crate::mcp::types::CallToolResult;
use crate::mcp_servers::{self, McpServer};
use crate::store::settings;
use crate::sys::cancel::{Cancel, NoMessage};
use crate::sys::lock;
use crate::text::printable;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The revision of MCP that the requests follow.
const REVISION: &str = "2026-07-28";
/// How long the client may take to list the tools of all its servers.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// The most tools of one server, and the most text of them, in bytes.
const MAX_TOOLS: usize = 1_000;
const MAX_TEXT: usize = 4 << 20;

/// The tools in the clients of one server, by the sessions that have them.
#[derive(Default)]
pub(crate) struct ClientTools {
    sessions: Mutex<HashMap<String, SessionTools>>,
}

struct SessionTools {
    connection: Weak<ConnectionState>,
    /// The tools by their names in the session.
    tools: HashMap<String, ClientTool>,
}

/// A tool of a server in the client.
#[derive(Clone)]
pub(crate) struct ClientTool {
    server: String,
    name: String,
}

/// The MCP servers that a client brings along for a session.
#[derive(Default)]
pub(crate) struct Brought {
    pub(crate) extensions: Vec<ExtensionConfig>,
    /// Why others cannot be used.
    pub(crate) failures: Vec<String>,
    tools: HashMap<String, ClientTool>,
}

/// The parameters of `mcp/message`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct McpMessage<'a, P> {
    server_id: &'a str,
    request_id: String,
    method: &'a str,
    params: &'a P,
}

/// The parameters of `tools/call`.
#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    arguments: &'a RawJson,
    #[serde(rename = "_meta")]
    meta: Value,
}

/// What the client answers to `mcp/message`. A result comes before an error.
#[derive(Deserialize)]
struct Carrier {
    result: Option<RawJson>,
    error: Option<InnerError>,
}

/// An error of the server. One of the client is an error of the message.
#[derive(Deserialize)]
struct InnerError {
    code: i64,
    message: String,
}

impl ClientTools {
    /// Lets the session have these tools of the client, in place of those that a client has brought along before.
    pub(crate) fn set(&self, session: &str, of: &Arc<ConnectionState>, brought: &mut Brought) {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|id, it| id != session && it.connection.strong_count() > 0);
        let tools = std::mem::take(&mut brought.tools);
        if !tools.is_empty() {
            let connection = Arc::downgrade(of);
            sessions.insert(session.to_owned(), SessionTools { connection, tools });
        }
    }

    /// Forgets the tools of a session that ends.
    pub(crate) fn forget(&self, session: &str) {
        lock(&self.sessions).remove(session);
    }

    /// Lets the client that has the tool run this call, and passes its result on; false if no connected client has it.
    pub(crate) fn run(
        &self,
        session: &str,
        request: &FrontendToolRequest,
        cancel: &Cancel,
    ) -> bool {
        let Some(call) = request.tool_call.value() else {
            return false;
        };
        let found = lock(&self.sessions).get(session).and_then(|it| {
            let tool = it.tools.get(&call.name)?.clone();
            Some((it.connection.upgrade()?, tool))
        });
        let Some((connection, tool)) = found else {
            return false;
        };
        let arguments = call.arguments.clone();
        let (session, id, cancel) = (session.to_owned(), request.id.clone(), cancel.clone());
        let client = connection.clone();
        let spawned = connection.spawn("acp mcp/message", move || {
            let result = client.call_tool(&session, &tool, &arguments, &cancel);
            let result = match result {
                Ok(value) => Outcome::Success { value },
                Err(error) => Outcome::Error { error },
            };
            client.registry.questions(&session).tool_result(&id, result);
        });
        spawned.is_ok()
    }
}

/// Answers a call of a tool that no client has.
pub(crate) fn refuse(registry: &Registry, session: &str, request: &FrontendToolRequest) {
    let error = "the client has no such tool".to_owned();
    let refused = Outcome::Error { error };
    registry
        .questions(session)
        .tool_result(&request.id, refused);
}

impl ConnectionState {
    /// The client's MCP servers as extensions; asks for the tools of those that are in the client.
    pub(crate) fn bring(&self, servers: Vec<McpServer>, cancel: &Cancel) -> Brought {
        let mut tools = HashMap::new();
        let end = Instant::now() + LIST_TIMEOUT;
        let (extensions, failures) = mcp_servers::extensions(servers, &mut |name, server| {
            let (config, listed) = self.client_server(name, server, end, cancel)?;
            tools.extend(listed);
            Ok(config)
        });
        Brought {
            extensions,
            failures,
            tools,
        }
    }

    /// A server in the client as an extension whose tools the client runs.
    fn client_server(
        &self,
        name: &str,
        server: &str,
        end: Instant,
        cancel: &Cancel,
    ) -> Result<(ExtensionConfig, HashMap<String, ClientTool>), String> {
        let ask = |method: &str, mut params: Value| {
            params["_meta"] = meta(None);
            let left = end.saturating_duration_since(Instant::now());
            let result = self.message(server, method, &params, left, cancel)?;
            crate::json::from_str::<Value>(result.get()).map_err(|error| unreadable(method, error))
        };
        // It may have nothing to say about itself.
        let about = ask("server/discover", json!({})).unwrap_or_default();
        let (mut tools, mut names, mut text) = (Vec::new(), HashMap::new(), 0);
        let mut params = json!({});
        loop {
            let mut page = ask("tools/list", params)?;
            let Value::Array(listed) = page["tools"].take() else {
                return Err("its list of tools cannot be read".to_owned());
            };
            for mut tool in listed {
                text += tool.to_string().len();
                if tools.len() == MAX_TOOLS || text > MAX_TEXT {
                    return Err(format!(
                        "it has more than {MAX_TOOLS} tools, or more than {MAX_TEXT} bytes of them"
                    ));
                }
                if let Some(own) = tool["name"].as_str().map(str::to_owned) {
                    let shown = format!("{}__{own}", key(name));
                    tool["name"] = shown.as_str().into();
                    let (server, name) = (server.to_owned(), own);
                    names.insert(shown, ClientTool { server, name });
                }
                tools.push(tool);
            }
            params = match &page["nextCursor"] {
                Value::String(cursor) => json!({ "cursor": cursor }),
                _ => break,
            };
        }
        let config = ExtensionConfig::from_value(json!({
            "type": "frontend", "name": name, "tools": tools, "instructions": about["instructions"],
        }))?;
        Ok((config, names))
    }

    fn call_tool(
        &self,
        session: &str,
        tool: &ClientTool,
        arguments: &RawJson,
        cancel: &Cancel,
    ) -> Result<CallToolResult, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ResultType {
            result_type: Option<String>,
        }
        let params = Call {
            name: &tool.name,
            arguments,
            meta: meta(Some(session)),
        };
        let method = "tools/call";
        let timeout = settings::FRONTEND_TIMEOUT.count(&self.registry.stores().config);
        let timeout = Duration::from_secs(timeout);
        let result = self.message(&tool.server, method, &params, timeout, cancel)?;
        let read = crate::json::from_str(result.get()).map_err(|error| unreadable(method, error));
        if let ResultType {
            result_type: Some(kind),
        } = read?
            && kind != "complete"
        {
            let kind = printable(&kind, MAX_SENTENCE);
            return Err(format!(
                "the tool answered with {kind:?}, which needs more than one request"
            ));
        }
        crate::json::from_str(result.get()).map_err(|error| unreadable(method, error))
    }

    /// Sends a request to a server in the client, and waits for its result.
    fn message(
        &self,
        server: &str,
        method: &str,
        params: &impl Serialize,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<RawJson, String> {
        static REQUESTS: AtomicU64 = AtomicU64::new(0);
        let request = REQUESTS.fetch_add(1, Ordering::Relaxed);
        let message = McpMessage {
            server_id: server,
            request_id: format!("{}-{request}", self.prefix),
            method,
            params,
        };
        let answer = self.requests.ask("mcp/message", &message, timeout, cancel);
        let answer = answer.map_err(|no_answer| match no_answer {
            NoMessage::TimedOut => format!("the client did not answer `{method}` in time"),
            NoMessage::Cancelled => "the call was cancelled".to_owned(),
            NoMessage::Closed => "the client is not connected".to_owned(),
        })?;
        result_in(method, answer)
    }
}

/// The result of the server in what the client answered.
fn result_in(method: &str, answer: Answer) -> Result<RawJson, String> {
    let shown = |text: &str| printable(text, MAX_SENTENCE);
    let answer = answer.map_err(|error| {
        let why = shown(&error.message);
        format!("the client refused `{method}`: {why} (code {})", error.code)
    })?;
    let carrier = crate::json::from_str(answer.get()).map_err(|error| unreadable(method, error));
    let Carrier { result, error } = carrier?;
    match (result, error) {
        (Some(result), _) => Ok(result),
        (None, Some(InnerError { code, message })) => {
            let message = shown(&message);
            Err(format!("`{method}` failed: {message} (code {code})"))
        }
        (None, None) => Err(format!(
            "the client's answer to `{method}` has neither `result` nor `error`"
        )),
    }
}

fn unreadable(method: &str, error: impl fmt::Display) -> String {
    format!("the client's answer to `{method}` cannot be read: {error}")
}

/// What each request says about this client of the server (MCP 2026-07-28).
fn meta(session: Option<&str>) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {
            "name": "gosling", "version": env!("CARGO_PKG_VERSION"),
        },
    });
    if let Some(session) = session {
        meta["agent-session-id"] = session.into();
    }
    meta
}

#[cfg(test)]
mod tests;
