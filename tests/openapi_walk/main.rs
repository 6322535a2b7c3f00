//! Walks the OpenAPI document of Goose 1.24 (`openapi.json`): each operation gets a valid and an invalid request, on
//! a real server, and each answer must have a documented status and fit its schema.
#![cfg(all(
    feature = "desktop",
    feature = "manual",
    feature = "metrics",
    feature = "recipes",
    feature = "schedules",
    feature = "search"
))]

#[path = "../support/mod.rs"]
mod support;

mod cases;
mod documentation;
mod schema;

use cases::{Ask, Case, cases};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use support::client::{KEY, send};
use support::scripted::{Action, Script};
use support::server::{RunningServer, Server, as_argument, scripted_mcp};

const DOCUMENT: &str = include_str!("openapi.json");

/// Answers that the document does not name; `*` stands for all operations.
const UNDOCUMENTED: &[(&str, u16)] = &[
    // As recorded from Goose 1.24.
    ("*", 401),
    ("*", 422),
    ("POST /agent/resume", 404),
    ("GET /agent/tools", 400),
    ("POST /config/check_provider", 200),
    ("POST /config/check_provider", 400),
    ("POST /config/set_provider", 200),
    ("POST /config/set_provider", 400),
    ("POST /recipes/save", 200),
    ("POST /recipes/save", 400),
    // As for the other operations of a session.
    ("POST /agent/update_from_session", 404),
    ("GET /diagnostics/{session_id}", 404),
    ("POST /recipes/create", 404),
    // A query that cannot be read, as for other operations.
    ("GET /schedule/{id}/sessions", 400),
    // A body where none is taken.
    ("GET /status", 413),
];

/// Successful answers with a body that the document does not describe, or describes for another status.
const UNDESCRIBED: &[&str] = &["POST /schedule/{id}/kill", "POST /recipes/save"];

/// Errors without a body, as recorded.
const SILENT: &[&str] = &["POST /recipes/decode"];

/// A response.
struct Seen {
    status: u16,
    content_type: String,
    body: Vec<u8>,
}

struct Walk {
    server: RunningServer,
    document: Value,
    values: BTreeMap<&'static str, String>,
    faults: Vec<String>,
}

#[test]
fn every_operation_answers_as_the_document_says() {
    let script = Script::new()
        .offers(
            "resources",
            json!({"resources": [{"uri": "a://1", "name": "one"}]}),
        )
        .on(
            "resources/read",
            [Action::Result(
                json!({"contents": [{"uri": "a://1", "text": "x"}]}),
            )],
        );
    let answers = json!({"repeat": true, "turns": [
        {"when": {"user": "wait"}, "steps": [{"wait_ms": 600_000}]},
        {"steps": [{"text": "good morning"}]},
    ]});
    let server = Server::scripted(answers).start();
    let recipe = json!({"version": "1.0.0", "title": "T", "description": "D", "prompt": "say {{word}}",
        "parameters": [{"key": "word", "input_type": "string", "requirement": "required", "description": "d"}]});
    let started =
        json!({"working_dir": server.work(), "extension_overrides": [], "recipe": recipe});
    let started = server.post("/agent/start", started).is(200);
    let values = BTreeMap::from([
        (
            "recipe_session",
            started.body["id"].as_str().expect("an id").to_owned(),
        ),
        ("work", server.work().to_string_lossy().into_owned()),
        ("mcp", scripted_mcp()),
        ("script", as_argument(&script)),
        ("key", KEY.replace(' ', "%20")),
    ]);
    let document = serde_json::from_str(DOCUMENT).expect("the document is JSON");
    let faults = Vec::new();
    let mut walk = Walk {
        server,
        document,
        values,
        faults,
    };
    let cases = cases();
    let covered: BTreeSet<String> = cases.iter().map(|case| case.operation.to_owned()).collect();
    assert_eq!(
        covered,
        operations(&walk.document),
        "each operation has a case"
    );
    assert_eq!(covered.len(), cases.len(), "and only one");
    let total = cases.len();
    let answered = cases.iter().filter(|case| walk.ask(case)).count();
    println!("{answered} of {total} operations answer as documented");
    assert!(walk.faults.is_empty(), "{}", walk.faults.join("\n"));
}

#[cfg(feature = "manual")]
#[test]
fn the_served_document_has_every_route_and_the_schemas_of_goose() {
    let server = Server::new().start();
    server.ask("GET", "/openapi.json", None, None).is(401);
    let served = server.get("/openapi.json").is(200).body;
    let goose: Value = serde_json::from_str(DOCUMENT).unwrap();
    let missing: Vec<_> = operations(&goose)
        .difference(&operations(&served))
        .cloned()
        .collect();
    assert_eq!(missing, [""; 0]);
    let (_, routes) = include_str!("../../src/manual/api.md")
        .split_once("\n## Routes\n")
        .unwrap();
    let (routes, _) = routes.split_once("\n## ").unwrap();
    let listed = routes
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| Some(&code[code.find('/')?..]));
    let routes: BTreeSet<&str> = listed.collect();
    let paths = served["paths"].as_object().unwrap();
    assert_eq!(
        paths.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        routes
    );
    assert_eq!(
        served["components"]["schemas"],
        without_texts(&goose["components"]["schemas"], true)
    );
    for operation in operations(&served) {
        let (method, path) = operation.split_once(' ').unwrap();
        let answer = server.ask(method, &path.replace(['{', '}'], ""), Some(KEY), None);
        assert_ne!(answer.status, 405, "{operation}");
        if answer.status == 404 {
            answer.never_says("There is nothing at");
        }
    }
}

/// The schemas without what only people read.
#[cfg(feature = "manual")]
fn without_texts(of: &Value, are_names: bool) -> Value {
    match of {
        Value::Object(fields) => {
            let is_text = |name: &str, value: &Value| {
                let texts = [
                    "description",
                    "summary",
                    "tags",
                    "example",
                    "operationId",
                    "title",
                ];
                !are_names && texts.contains(&name) && (value.is_string() || value.is_array())
            };
            let kept = fields.iter().filter(|(name, value)| !is_text(name, value));
            kept.map(|(name, value)| (name.clone(), without_texts(value, name == "properties")))
                .collect()
        }
        Value::Array(items) => items
            .iter()
            .map(|item| without_texts(item, false))
            .collect(),
        other => other.clone(),
    }
}

/// Method and path of each operation.
fn operations(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().expect("paths");
    let of_path = |(path, methods): (&String, &Value)| -> Vec<String> {
        let methods = methods.as_object().expect("methods").keys();
        methods
            .map(|method| format!("{} {path}", method.to_uppercase()))
            .collect()
    };
    paths.iter().flat_map(of_path).collect()
}

/// The body without its transfer coding (RFC 9112 §7.1).
fn unchunked(mut coded: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = coded
            .windows(2)
            .position(|two| two == b"\r\n")
            .expect("the size of a chunk");
        let size = std::str::from_utf8(&coded[..line]).expect("text");
        let size = usize::from_str_radix(size, 16).expect("a number");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&coded[line + 2..line + 2 + size]);
        coded = &coded[line + 4 + size..];
    }
}

impl Walk {
    /// Sends both requests of the case; whether both answers are as documented.
    fn ask(&mut self, case: &Case) -> bool {
        let before = self.faults.len();
        let seen = self.send(case.operation, &case.valid);
        self.check(case.operation, &case.valid, &seen);
        if let Some((field, name)) = case.keeps {
            let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
            if let Some(value) = body.pointer(field).and_then(Value::as_str) {
                self.values.insert(name, value.to_owned());
            }
        }
        let seen = self.send(case.operation, &case.invalid);
        self.check(case.operation, &case.invalid, &seen);
        self.faults.len() == before
    }

    fn send(&self, operation: &str, ask: &Ask) -> Seen {
        let method = operation.split(' ').next().expect("a method");
        let path = self.filled_in(&ask.path, str::to_owned);
        let in_json = |value: &str| {
            let quoted = Value::from(value).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let body = ask
            .body
            .as_ref()
            .map(|body| self.filled_in(&body.to_string(), in_json));
        let key = ask.keyed.then_some(KEY);
        let mut stream = send(self.server.address(), method, &path, key, body.as_deref());
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let field = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Type: "));
        Seen {
            status: head
                .split(' ')
                .nth(1)
                .and_then(|code| code.parse().ok())
                .expect("a status"),
            content_type: field
                .unwrap_or_default()
                .split(';')
                .next()
                .unwrap_or_default()
                .to_owned(),
            body: if head.contains("Transfer-Encoding: chunked") {
                unchunked(&bytes[end + 4..])
            } else {
                bytes[end + 4..].to_vec()
            },
        }
    }

    fn filled_in(&self, text: &str, write: impl Fn(&str) -> String) -> String {
        self.values
            .iter()
            .fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), &write(value))
            })
    }

    fn fault(&mut self, operation: &str, ask: &Ask, fault: &str) {
        let body = ask.body.as_ref().map(Value::to_string).unwrap_or_default();
        self.faults
            .push(format!("{operation} ({} {body}): {fault}", ask.path));
    }

    fn check(&mut self, operation: &str, ask: &Ask, seen: &Seen) {
        let shown: String = String::from_utf8_lossy(&seen.body)
            .chars()
            .take(300)
            .collect();
        if seen.status != ask.status {
            let fault = format!("{} instead of {}: {shown}", seen.status, ask.status);
            return self.fault(operation, ask, &fault);
        }
        let (method, path) = operation.split_once(' ').expect("a method and a path");
        let documented = &self.document["paths"][path][method.to_lowercase()]["responses"];
        let response = documented.get(seen.status.to_string()).cloned();
        let is_known =
            |(of, status): &(&str, u16)| (*of == "*" || *of == operation) && *status == seen.status;
        if response.is_none() && !UNDOCUMENTED.iter().any(is_known) {
            return self.fault(
                operation,
                ask,
                &format!("{} is not documented: {shown}", seen.status),
            );
        }
        if seen.status >= 400 {
            let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
            let may_be_silent = SILENT.contains(&operation) && seen.body.is_empty();
            if may_be_silent {
                return;
            }
            if seen.content_type != "application/json" || !body["message"].is_string() {
                self.fault(
                    operation,
                    ask,
                    &format!("an error without a message: {shown}"),
                );
            }
            return;
        }
        let content = response
            .map(|response| response["content"].clone())
            .unwrap_or_default();
        if content.is_null() && UNDESCRIBED.contains(&operation) {
            return;
        }
        for fault in self.faults_of_body(&content, seen) {
            self.fault(operation, ask, &format!("{fault}: {shown}"));
        }
    }

    /// What is wrong with the body of a successful answer.
    fn faults_of_body(&self, content: &Value, seen: &Seen) -> Vec<String> {
        let Some((media_type, described)) = content.as_object().and_then(|all| all.iter().next())
        else {
            // The document describes the pages no further.
            let is_empty = seen.body.is_empty() || seen.content_type == "text/html";
            return if is_empty {
                vec![]
            } else {
                vec!["a body that is not documented".to_owned()]
            };
        };
        let schema = &described["schema"];
        match media_type.as_str() {
            "text/event-stream" => {
                let text = String::from_utf8_lossy(&seen.body).into_owned();
                let events: Vec<&str> = text
                    .lines()
                    .filter_map(|line| line.strip_prefix("data: "))
                    .collect();
                if events.is_empty() {
                    return vec!["no events".to_owned()];
                }
                let faults = |event: &&str| match serde_json::from_str(event) {
                    Ok(event) => schema::faults(&self.document, schema, &event),
                    Err(error) => vec![format!("{event}: {error}")],
                };
                events.iter().flat_map(faults).collect()
            }
            "application/zip" => {
                if seen.body.starts_with(b"PK") {
                    vec![]
                } else {
                    vec!["no zip file".to_owned()]
                }
            }
            // Goose 1.24 sends such texts as JSON, or not at all.
            "text/plain" if seen.content_type != "application/json" => vec![],
            _ => match serde_json::from_slice(&seen.body) {
                Ok(body) => schema::faults(&self.document, schema, &body),
                Err(error) => vec![format!("no JSON: {error}")],
            },
        }
    }
}
