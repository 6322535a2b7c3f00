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

fn notification(name: &str, params: Value) -> String {
    let method = format!("notifications/{name}");
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

fn remove(from: &mut Value, field: &str) {
    if let Some(fields) = from.as_object_mut() {
        fields.remove(field);
    }
}

fn push(list: &mut Value, entry: Value) {
    if let Some(entries) = list.as_array_mut() {
        entries.push(entry);
    }
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
        let Ok(mut message) = gosling_text::json::from_slice::<Value>(message) else {
            return vec![String::from_utf8_lossy(message).into_owned()];
        };
        let Some(id) = message.get("id").cloned() else {
            let is_progress = message["method"] == "notifications/progress";
            let is_twice = self.is("same-progress") && is_progress;
            return vec![message.to_string(); 1 + usize::from(is_twice)];
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
            remove(&mut message, "jsonrpc");
        }
        let mut line = message.to_string();
        if self.is("fraction") {
            line = line.replace("\"size\":68", "\"size\":68.0");
        }
        let is_twice = self.is("two-responses") && method == "tools/list";
        before.extend(vec![line; 1 + usize::from(is_twice)]);
        before
    }

    /// What the server sends before its answer.
    fn unasked(&self, method: &str) -> Vec<String> {
        let request = |method: &str| {
            json!({"jsonrpc": "2.0", "id": "question", "method": method, "params": {}}).to_string()
        };
        let message = match (self.name, method) {
            ("bad-cancelled", "tools/list") => notification("cancelled", json!({})),
            ("unknown-level", "tools/call") => {
                notification("message", json!({"level": "loudest", "data": "Done"}))
            }
            ("list-params", "tools/list") => notification("demo/odd", json!([1])),
            ("unknown-request", "tools/call") => request("demo/question"),
            ("bad-sampling", "tools/call") => request("sampling/createMessage"),
            ("undeclared-change", "tools/list") => notification("tools/list_changed", json!({})),
            ("nan", "prompts/list") => {
                let log = notification("message", json!({"level": "info", "data": 0}));
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
        let (field, value) = match self.name {
            "own-code" if method.starts_with(UNKNOWN) => ("code", json!(-32000)),
            "text-code" if method == "prompts/get" => ("code", json!("unknown prompt")),
            "parse-code" if id.is_null() && error["code"] == -32700 => ("code", json!(-32000)),
            "request-code" if id.is_null() && error["code"] == -32600 => ("code", json!(-32000)),
            "changing-code" if method == "resources/read" && self.count.is_multiple_of(2) => {
                ("code", json!(-32603))
            }
            "counted-errors" if method == "tools/call" => {
                let text = error["message"].as_str().unwrap_or_default();
                ("message", json!(format!("{text} (error {})", self.count)))
            }
            "vague-error" if method == "prompts/get" && name.starts_with(UNKNOWN) => {
                ("message", json!("Something went wrong."))
            }
            _ => return,
        };
        error[field] = value;
    }

    fn change_result(&mut self, method: &str, params: &Value, result: &mut Value) {
        match (self.name, method) {
            ("no-version", "initialize") => remove(&mut result["serverInfo"], "version"),
            ("future-version", "initialize") => result["protocolVersion"] = "2099-01-01".into(),
            ("echo-version", "initialize") => {
                result["protocolVersion"] = params["protocolVersion"].clone();
            }
            ("no-completions", "initialize") => result["capabilities"]["completions"] = json!({}),
            ("hidden-prompts", "initialize") => remove(&mut result["capabilities"], "prompts"),
            ("ui-text", "initialize") => {
                let details = json!({"mimeTypes": "text/html;profile=mcp-app"});
                result["capabilities"]["extensions"] =
                    json!({"io.modelcontextprotocol/ui": details});
            }
            ("text-content", "tools/call") if params["name"] == "echo" => {
                result["content"] = "gosling".into();
            }
            ("text-sum", "tools/call") if params["name"] == "add" => {
                result["structuredContent"]["sum"] = "2".into();
            }
            ("no-resources-list", "resources/list") => result["resources"] = Value::Null,
            ("unreadable-resource", "resources/list") => {
                let resource = json!({"uri": "demo://unreadable", "name": "unreadable"});
                push(&mut result["resources"], resource);
            }
            ("ui-html", "resources/list") => push(
                &mut result["resources"],
                json!({"uri": "ui://demo/page", "name": "page", "mimeType": "text/html"}),
            ),
            ("text-size" | "fraction", "resources/list") => {
                let size = if self.is("fraction") {
                    json!(68)
                } else {
                    json!("large")
                };
                for resource in result["resources"].as_array_mut().into_iter().flatten() {
                    resource["size"] = size.clone();
                }
            }
            ("two-forms", "resources/read") => {
                result["contents"][0]["text"] = "".into();
                result["contents"][0]["blob"] = "".into();
            }
            ("other-type", "resources/read") => {
                self.count += 1;
                if self.count.is_multiple_of(2) {
                    result["contents"][0]["mimeType"] = "application/octet-stream".into();
                }
            }
            ("system-role", "prompts/get") => result["messages"][0]["role"] = "system".into(),
            (_, "tools/list") => self.change_tools(params, result),
            (_, "prompts/list") => self.change_prompts(params, result),
            _ => {}
        }
    }

    fn change_tools(&mut self, params: &Value, result: &mut Value) {
        let with = |property: Value| json!({"type": "object", "properties": {"a": property}});
        let input = |schema: Value| json!({"inputSchema": schema});
        self.count += usize::from(self.is("changing-name"));
        let numbered = format!("tool_{}", self.count);
        let (name, fields) = match self.name {
            "no-tools-list" => return result["tools"] = json!({}),
            "ui-only" if self.is_bare => return result["tools"] = json!([]),
            "repeated-entry" if params["cursor"].is_null() => {
                self.first_tool = result["tools"][0].clone();
                return;
            }
            "repeated-entry" => return push(&mut result["tools"], self.first_tool.clone()),
            "changing-name" => (numbered.as_str(), json!({})),
            "spaced-name" => ("a tool", json!({})),
            "same-name" => ("Echo", json!({})),
            "text-hint" => {
                let hints = json!({"readOnlyHint": false, "destructiveHint": "perhaps"});
                ("hinted", json!({"annotations": hints}))
            }
            "bad-schema" => {
                let property = json!({"type": "text", "description": "Something"});
                ("bad", input(with(property)))
            }
            "list-schema" => ("list", input(json!({"type": "array"}))),
            "unknown-required" => {
                let schema = json!({"type": "object", "required": ["ghost"]});
                ("requiring", input(schema))
            }
            "remote-schema" => {
                let url = "https://example.com/schema.json";
                let property = json!({"$ref": url, "description": "Something"});
                ("remote", input(with(property)))
            }
            "big-schema" => {
                let property = json!({"type": "string", "description": "Something"});
                let mut schema = with(property);
                schema["description"] = "x".repeat(33 << 10).into();
                ("big", input(schema))
            }
            "list-output" => ("listing", json!({"outputSchema": {"type": "array"}})),
            "ui-dead-link" => {
                let link = json!({"ui": {"resourceUri": "ui://demo/nowhere"}});
                ("linked", json!({"_meta": link}))
            }
            _ => return,
        };
        // A tool that no check calls.
        let mut tool = json!({
            "name": name, "title": "A tool", "description": "Exists.",
            "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": false},
        });
        for (field, value) in fields.as_object().into_iter().flatten() {
            tool[field] = value.clone();
        }
        push(&mut result["tools"], tool);
    }

    fn change_prompts(&mut self, params: &Value, result: &mut Value) {
        match self.name {
            "no-prompts-list" => *result = json!({}),
            "empty-cursor" if result.get("nextCursor").is_none() => {
                result["nextCursor"] = "".into();
            }
            "unknown-listed-prompt" => push(
                &mut result["prompts"],
                json!({"name": "unknown", "title": "Unknown"}),
            ),
            "text-argument" => result["prompts"][0]["arguments"][0]["description"] = json!(7),
            "shorter-page" if self.count == 1 && !params["cursor"].is_null() => {
                let prompts = result["prompts"].as_array_mut();
                prompts.map(|prompts| prompts.remove(0));
            }
            "changing-type" => {
                self.count += 1;
                if self.count > 1 {
                    result["prompts"][0]["description"] = json!(["Asks", "for", "something"]);
                }
            }
            _ => {}
        }
    }
}
