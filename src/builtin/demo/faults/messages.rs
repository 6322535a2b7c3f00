//! The faults in messages: what the broken server does with a message of its client, and how it changes its own.

use super::Fault;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// What the checks ask for and does not exist begins with this.
const UNKNOWN: &str = "gosling";

/// What to do with a message of the client.
pub(super) enum Incoming {
    /// Pass it to the real server.
    Pass(Value),
    /// Send these lines instead.
    Answer(Vec<String>),
    /// Do nothing.
    Ignore,
    /// End the server.
    End,
}

/// The state of a broken server.
pub(super) struct Broken {
    name: &'static str,
    /// The requests without an answer, by the JSON of their ids.
    requests: HashMap<String, Value>,
    has_initialize: bool,
    is_initialized: bool,
    is_bare: bool,
    /// Whether a request came before `initialize` was complete, or was ignored after it.
    was_early: bool,
    cursors: HashSet<String>,
    /// How often something happened that happens differently each time.
    count: usize,
    first_tool: Value,
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

impl Broken {
    pub(super) fn new(fault: &'static Fault) -> Self {
        Broken {
            name: fault.name,
            requests: HashMap::new(),
            has_initialize: false,
            is_initialized: false,
            is_bare: false,
            was_early: false,
            cursors: HashSet::new(),
            count: 0,
            first_tool: Value::Null,
        }
    }

    fn is(&self, name: &str) -> bool {
        self.name == name
    }

    pub(super) fn incoming(&mut self, message: Value) -> Incoming {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let Some(id) = message.get("id").cloned() else {
            return self.notified(&method, message);
        };
        if method.is_empty() {
            // An answer to a request of a fault.
            return Incoming::Ignore;
        }
        let is_early = !self.is_initialized && method != "initialize";
        self.was_early |= is_early;
        match self.name {
            "no-initialize" if method == "initialize" => return Incoming::Ignore,
            "ends-at-early-request" if is_early && !self.has_initialize => return Incoming::End,
            "ignores-early-request" if is_early && self.has_initialize => return Incoming::Ignore,
            "ignores-first-request" if self.is_initialized && !self.was_early && !self.is_bare => {
                self.was_early = true;
                return Incoming::Ignore;
            }
            _ => {}
        }
        if method == "initialize" {
            self.has_initialize = true;
            let capabilities = message["params"]["capabilities"].as_object();
            self.is_bare = capabilities.is_some_and(|it| it.is_empty());
        }
        if let Some(answer) = self.answer(&id, &method, &message["params"]) {
            return Incoming::Answer(answer);
        }
        let message = self.changed(&method, message);
        self.requests.insert(id.to_string(), message.clone());
        Incoming::Pass(message)
    }

    fn notified(&mut self, method: &str, message: Value) -> Incoming {
        if method == "notifications/initialized" {
            self.is_initialized = true;
        }
        if self.is("answers-notifications") && method.contains(UNKNOWN) {
            let answer = error(&Value::Null, -32601, "Method not found");
            return Incoming::Answer(vec![answer.to_string()]);
        }
        Incoming::Pass(message)
    }

    /// The answer that the fault gives in the place of the real server.
    fn answer(&mut self, id: &Value, method: &str, params: &Value) -> Option<Vec<String>> {
        let name = params["name"].as_str().unwrap_or_default();
        let uri = params["uri"].as_str().unwrap_or_default();
        let call = |name_of: &str| method == "tools/call" && name == name_of;
        let is_unknown = name.starts_with(UNKNOWN) || uri.starts_with(UNKNOWN);
        let answer = match self.name {
            "newest-only" if method == "initialize" => {
                let version = params["protocolVersion"].as_str().unwrap_or_default();
                let is_old = ("2000".."2025-11-25").contains(&version);
                is_old.then(|| error(id, -32602, "This version is too old"))?
            }
            "no-ping" if method == "ping" => error(id, -32601, "Method not found: ping"),
            "strict-meta" if method == "ping" => {
                let meta = &params["_meta"]["gosling/unknown"];
                let text = "Unknown metadata";
                meta.is_array().then(|| error(id, -32602, text))?
            }
            "unknown-echo" if call("echo") => error(id, -32601, "Method not found: echo"),
            "any-tool" if method == "tools/call" && is_unknown => {
                result(id, json!({"content": [{"type": "text", "text": "Done."}]}))
            }
            "optional-message" if call("echo") && !params["arguments"]["message"].is_string() => {
                result(id, json!({"content": []}))
            }
            "unanswered-after-decline"
                if call("echo") && params["arguments"]["message"].is_string() =>
            {
                json!({
                    "jsonrpc": "2.0", "id": "question", "method": "elicitation/create",
                    "params": {
                        "message": "May I?",
                        "requestedSchema": {"type": "object", "properties": {}},
                    },
                })
            }
            "any-resource" if method == "resources/read" && is_unknown => {
                result(id, json!({"contents": [{"uri": uri, "text": ""}]}))
            }
            "ui-html" if uri == "ui://demo/page" => {
                let contents = json!({"uri": uri, "mimeType": "text/html", "text": "<p>Hello</p>"});
                result(id, json!({ "contents": [contents] }))
            }
            "no-templates" if method == "resources/templates/list" => {
                error(id, -32603, "The templates are not available")
            }
            "any-prompt" if method == "prompts/get" && is_unknown => {
                let content = json!({"type": "text", "text": "Hello"});
                result(
                    id,
                    json!({"messages": [{"role": "user", "content": content}]}),
                )
            }
            "used-cursor" | "shorter-page" if method == "prompts/list" => {
                return self.used_cursor(id, params);
            }
            _ => return None,
        };
        Some(vec![answer.to_string()])
    }

    /// For pages of prompts: refuses a cursor that was used before, or counts its uses.
    fn used_cursor(&mut self, id: &Value, params: &Value) -> Option<Vec<String>> {
        let cursor = params["cursor"].as_str()?;
        let is_new = self.cursors.insert(cursor.to_owned());
        if is_new || cursor.starts_with(UNKNOWN) {
            self.count = 0;
            return None;
        }
        self.count = 1;
        let refused = error(id, -32602, "The cursor has been used");
        self.is("used-cursor").then(|| vec![refused.to_string()])
    }

    /// The request as the real server gets it.
    fn changed(&self, method: &str, mut message: Value) -> Value {
        match self.name {
            "optional-topic"
                if method == "prompts/get" && message["params"]["name"] == "explain" =>
            {
                let arguments = &mut message["params"]["arguments"];
                if arguments["topic"].is_null() {
                    arguments["topic"] = "".into();
                }
            }
            "any-cursor" => {
                let params = message.get_mut("params").and_then(Value::as_object_mut);
                if let Some(params) = params
                    && (params.get("cursor").and_then(Value::as_str))
                        .is_some_and(|cursor| cursor.starts_with(UNKNOWN))
                {
                    params.remove("cursor");
                }
            }
            _ => {}
        }
        message
    }

    /// The lines for a message of the real server.
    pub(super) fn outgoing(&mut self, message: &[u8]) -> Vec<String> {
        let as_is = || vec![String::from_utf8_lossy(message).into_owned()];
        let Ok(mut message) = gosling_text::json::from_slice::<Value>(message) else {
            return as_is();
        };
        let Some(id) = message.get("id").cloned() else {
            let is_progress = message["method"] == "notifications/progress";
            let times = if self.is("same-progress") && is_progress {
                2
            } else {
                1
            };
            return vec![message.to_string(); times];
        };
        let request = self.requests.remove(&id.to_string()).unwrap_or_default();
        let method = request["method"].as_str().unwrap_or_default();
        let mut before = Vec::new();
        if message.get("error").is_some() {
            self.change_error(method, &request["params"], &mut message);
        } else if let Some(result) = message.get_mut("result") {
            self.change_result(method, &request["params"], result);
            before = self.unasked(method);
        }
        if self.is("text-ids") && id.as_u64().is_some_and(|id| id > 1_000_000_000) {
            message["id"] = id.to_string().into();
        }
        if self.is("no-jsonrpc") && method == "prompts/list" {
            message
                .as_object_mut()
                .map(|fields| fields.remove("jsonrpc"));
        }
        let mut line = message.to_string();
        if self.is("fraction") {
            line = line.replace("\"size\":68", "\"size\":68.0");
        }
        let times = if self.is("two-responses") && method == "tools/list" {
            2
        } else {
            1
        };
        before.extend(vec![line; times]);
        before
    }

    /// What the server sends before its answer.
    fn unasked(&self, method: &str) -> Vec<String> {
        let request = |method: &str| {
            json!({"jsonrpc": "2.0", "id": "question", "method": method, "params": {}}).to_string()
        };
        let message = match (self.name, method) {
            ("bad-cancelled", "tools/list") => notification("notifications/cancelled", json!({})),
            ("unknown-level", "tools/call") => notification(
                "notifications/message",
                json!({"level": "loudest", "data": "Done"}),
            ),
            ("list-params", "tools/list") => notification("notifications/demo/odd", json!([1])),
            ("unknown-request", "tools/call") => request("demo/question"),
            ("bad-sampling", "tools/call") => request("sampling/createMessage"),
            ("undeclared-change", "tools/list") => {
                notification("notifications/tools/list_changed", json!({}))
            }
            ("nan", "prompts/list") => {
                let log =
                    notification("notifications/message", json!({"level": "info", "data": 0}));
                log.replace("\"data\":0", "\"data\":NaN")
            }
            _ => return Vec::new(),
        };
        vec![message]
    }

    fn change_error(&mut self, method: &str, params: &Value, message: &mut Value) {
        let id = message["id"].clone();
        let error = &mut message["error"];
        self.count += 1;
        let name = params["name"].as_str().unwrap_or_default();
        match self.name {
            "own-code" if method.starts_with(UNKNOWN) => error["code"] = json!(-32000),
            "text-code" if method == "prompts/get" => error["code"] = json!("unknown prompt"),
            "parse-code" if id.is_null() && error["code"] == -32700 => {
                error["code"] = json!(-32000)
            }
            "request-code" if id.is_null() && error["code"] == -32600 => {
                error["code"] = json!(-32000);
            }
            "changing-code" if method == "resources/read" && self.count.is_multiple_of(2) => {
                error["code"] = json!(-32603);
            }
            "counted-errors" if method == "tools/call" => {
                let text = error["message"].as_str().unwrap_or_default();
                error["message"] = json!(format!("{text} (error {})", self.count));
            }
            "vague-error" if method == "prompts/get" && name.starts_with(UNKNOWN) => {
                error["message"] = json!("Something went wrong.");
            }
            _ => {}
        }
    }

    fn change_result(&mut self, method: &str, params: &Value, result: &mut Value) {
        match method {
            "initialize" => self.change_initialize(params, result),
            "tools/list" => self.change_tools(params, result),
            "tools/call" => self.change_call(params, result),
            "resources/list" => self.change_resources(result),
            "resources/read" => self.change_contents(result),
            "prompts/list" => self.change_prompts(params, result),
            "prompts/get" if self.is("system-role") => {
                result["messages"][0]["role"] = "system".into();
            }
            _ => {}
        }
    }

    fn change_initialize(&self, params: &Value, result: &mut Value) {
        let capabilities = &mut result["capabilities"];
        match self.name {
            "no-version" => {
                let info = result["serverInfo"].as_object_mut();
                info.map(|info| info.remove("version"));
            }
            "future-version" => result["protocolVersion"] = "2099-01-01".into(),
            "echo-version" => result["protocolVersion"] = params["protocolVersion"].clone(),
            "no-completions" => capabilities["completions"] = json!({}),
            "hidden-prompts" => {
                let declared = capabilities.as_object_mut();
                declared.map(|declared| declared.remove("prompts"));
            }
            "ui-text" => {
                let details = json!({"mimeTypes": "text/html;profile=mcp-app"});
                capabilities["extensions"] = json!({"io.modelcontextprotocol/ui": details});
            }
            _ => {}
        }
    }

    /// A tool that no check calls.
    fn tool(&self, name: &str, schema: Value) -> Value {
        json!({
            "name": name, "title": "A tool", "description": "Exists.", "inputSchema": schema,
            "annotations": {"readOnlyHint": false},
        })
    }

    fn change_tools(&mut self, params: &Value, result: &mut Value) {
        let object = || json!({"type": "object"});
        let with = |property: Value| {
            let mut property = property;
            property["description"] = "Something".into();
            json!({"type": "object", "properties": {"a": property}})
        };
        let added = match self.name {
            "no-tools-list" => {
                result["tools"] = json!({});
                return;
            }
            "ui-only" if self.is_bare => {
                result["tools"] = json!([]);
                return;
            }
            "repeated-entry" => {
                if params["cursor"].is_null() {
                    self.first_tool = result["tools"][0].clone();
                    return;
                }
                self.first_tool.clone()
            }
            "changing-name" => {
                self.count += 1;
                self.tool(&format!("tool_{}", self.count), object())
            }
            "spaced-name" => self.tool("a tool", object()),
            "same-name" => self.tool("Echo", object()),
            "text-hint" => {
                let mut tool = self.tool("hinted", object());
                tool["annotations"]["destructiveHint"] = "perhaps".into();
                tool
            }
            "bad-schema" => self.tool("bad", with(json!({"type": "text"}))),
            "list-schema" => self.tool("list", json!({"type": "array"})),
            "unknown-required" => {
                let schema = json!({"type": "object", "required": ["ghost"]});
                self.tool("requiring", schema)
            }
            "remote-schema" => {
                let reference = json!({"$ref": "https://example.com/schema.json"});
                self.tool("remote", with(reference))
            }
            "big-schema" => {
                let mut schema = with(json!({"type": "string"}));
                schema["description"] = "x".repeat(33 << 10).into();
                self.tool("big", schema)
            }
            "list-output" => {
                let mut tool = self.tool("listing", object());
                tool["outputSchema"] = json!({"type": "array"});
                tool
            }
            "ui-dead-link" => {
                let mut tool = self.tool("linked", object());
                tool["_meta"] = json!({"ui": {"resourceUri": "ui://demo/nowhere"}});
                tool
            }
            _ => return,
        };
        if let Some(tools) = result["tools"].as_array_mut() {
            tools.push(added);
        }
    }

    fn change_call(&self, params: &Value, result: &mut Value) {
        match self.name {
            "text-content" if params["name"] == "echo" => result["content"] = "gosling".into(),
            "text-sum" if params["name"] == "add" => {
                result["structuredContent"]["sum"] = "2".into();
            }
            _ => {}
        }
    }

    fn change_resources(&self, result: &mut Value) {
        if self.is("no-resources-list") {
            result["resources"] = Value::Null;
        }
        let Some(resources) = result["resources"].as_array_mut() else {
            return;
        };
        let added = match self.name {
            "unreadable-resource" => json!({"uri": "demo://unreadable", "name": "unreadable"}),
            "ui-html" => json!({"uri": "ui://demo/page", "name": "page", "mimeType": "text/html"}),
            "text-size" | "fraction" => {
                let is_text = self.is("text-size");
                let size = if is_text { json!("large") } else { json!(68) };
                for resource in resources {
                    resource["size"] = size.clone();
                }
                return;
            }
            _ => return,
        };
        resources.push(added);
    }

    fn change_contents(&mut self, result: &mut Value) {
        let contents = &mut result["contents"][0];
        match self.name {
            "two-forms" => {
                contents["text"] = "".into();
                contents["blob"] = "".into();
            }
            "other-type" => {
                self.count += 1;
                if self.count.is_multiple_of(2) {
                    contents["mimeType"] = "application/octet-stream".into();
                }
            }
            _ => {}
        }
    }

    fn change_prompts(&mut self, params: &Value, result: &mut Value) {
        match self.name {
            "no-prompts-list" => {
                *result = json!({});
                return;
            }
            "empty-cursor" if result.get("nextCursor").is_none() => {
                result["nextCursor"] = "".into();
            }
            _ => {}
        }
        let Some(prompts) = result["prompts"].as_array_mut() else {
            return;
        };
        match self.name {
            "unknown-listed-prompt" => prompts.push(json!({"name": "unknown", "title": "Unknown"})),
            "text-argument" => prompts[0]["arguments"][0]["description"] = json!(7),
            "shorter-page" if self.count == 1 && !params["cursor"].is_null() => {
                prompts.remove(0);
            }
            "changing-type" => {
                self.count += 1;
                if self.count > 1 {
                    prompts[0]["description"] = json!(["Asks", "for", "something"]);
                }
            }
            _ => {}
        }
    }
}
