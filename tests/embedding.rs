//! Programs that embed gosling: a model and an MCP server of their own in the process, and routes of their own beside
//! those of the API.

mod support;

use gosling::agent::{Error, Event, EventSink, ModelChoice, Registry, Start, Stores, TurnInput};
use gosling::conversation::{Content, Message, Outcome, Role, ToolCall, ToolRequest};
use gosling::http::{Access, AccessControl, Limits, Method, Request, Response, Router};
use gosling::mcp::server::{Context, InProcess, Server, Tool};
use gosling::mcp::types::CallToolResult;
use gosling::parts::PARTS;
use gosling::provider::{
    self, Completion, CompletionRequest, DeltaSink, InProcessProvider, Provider,
};
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::{TEST_TIMEOUT, temp_dir};

/// Asks the tool once, and says what it said.
struct Adder(String);

impl Provider for Adder {
    fn name(&self) -> &str {
        &self.0
    }

    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        _: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, provider::Error> {
        let last = request.messages.last().expect("a message");
        let response = last.tool_responses().next();
        let content = match response.and_then(|response| response.tool_result.value()) {
            Some(result) => {
                let part: Value = serde_json::from_str(result.content[0].as_json()).unwrap();
                let text = format!("The sum is {}.", part["text"].as_str().unwrap());
                sink.text(&text);
                Content::text(text)
            }
            None => Content::ToolRequest(ToolRequest {
                id: "call_1".to_owned(),
                tool_call: Outcome::Success {
                    value: ToolCall {
                        name: request.tools[0].name.clone(),
                        arguments: to_raw_value(&json!({"a": 1, "b": 2})).unwrap(),
                    },
                },
                metadata: None,
                meta: None,
            }),
        };
        Ok(Completion {
            content: vec![content],
            ..Completion::default()
        })
    }

    fn models(&self, _: &Cancel) -> Result<Vec<String>, provider::Error> {
        Ok(vec!["sum".to_owned()])
    }
}

/// The model under a name that is made at run time.
fn adder(name: &str) -> InProcessProvider {
    let own = name.to_owned();
    InProcessProvider {
        name: Cow::Owned(name.to_owned()),
        display_name: "Adder".into(),
        description: "Adds".into(),
        model: "sum".into(),
        make: Box::new(move |_| Ok(Arc::new(Adder(own.clone())))),
    }
}

#[derive(serde::Deserialize)]
struct Numbers {
    a: i64,
    b: i64,
}

fn calculator() -> Server {
    let add = Tool::new("add", "Adds two numbers.", |of: Numbers, _: &Context| {
        Ok(CallToolResult::text((of.a + of.b).to_string()))
    });
    let number = json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {"a": number, "b": number}});
    Server::new("calculator", "1.0.0").tool(add.input(schema))
}

fn registry(root: &Path) -> Registry {
    Registry::new(Stores::new(&Paths::under(root)), PARTS, true)
}

fn with_calculator(registry: Registry, name: &str) -> Registry {
    let server = Arc::new(calculator());
    registry.with_server(name, move |_| Arc::new(InProcess::new(server.clone())))
}

fn start(root: &Path, extension: Value) -> Start {
    Start {
        working_dir: root.to_owned(),
        extension_overrides: Some(vec![extension]),
        ..Start::default()
    }
}

struct Told(String);

impl EventSink for Told {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Message { message, .. } = event {
            self.0 += &message.concat_text();
        }
    }
    fn flush(&mut self) {}
}

#[test]
fn a_model_calls_the_tool_of_a_server_both_of_the_program() -> Result<(), Error> {
    let root = temp_dir();
    let name = format!("adder_{}", std::process::id());
    let registry = registry(root.path()).with_providers([adder(&name)]);
    let registry = with_calculator(registry, &format!("calculator-{}", 1 + 1));
    let extension = json!({"type": "builtin", "name": "calculator-2"});
    let session = registry.start(start(root.path(), extension))?;
    let choice = ModelChoice {
        provider: name.clone(),
        ..ModelChoice::default()
    };
    registry.models().choose(&session.id, choice)?;
    let mut told = Told(String::new());
    let input = TurnInput::new(Message::text(Role::User, "What is 1 + 2?"));
    let report = registry.reply(&session.id, input, &mut told, &Cancel::new())?;
    assert_eq!(told.0, "The sum is 3.");
    assert_eq!((report.calls, report.failure), (1, None));
    let entries = registry.catalog().entries();
    assert!(entries.iter().any(|it| it.name == name));
    assert!(
        entries.iter().any(|it| it.name == "scripted"),
        "those of parts are there, too"
    );
    registry.close();
    Ok(())
}

#[test]
fn a_server_of_the_program_runs_in_no_container() -> Result<(), Error> {
    let root = temp_dir();
    let registry = with_calculator(registry(root.path()), "calculator");
    let inside = json!({"type": "builtin", "name": "calculator", "container": "box"});
    let session = registry.start(start(root.path(), inside))?;
    let agent = registry.agent(&session.id)?;
    let results = agent.wait(&Cancel::new())?;
    let error = results[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("container"), "{results:?}");
    let unknown = json!({"type": "builtin", "name": "calculator2"});
    let session = registry.start(start(root.path(), unknown))?;
    let agent = registry.agent(&session.id)?;
    assert!(!agent.wait(&Cancel::new())?[0].success);
    registry.close();
    Ok(())
}

#[test]
fn what_could_not_be_told_apart_is_refused() {
    let root = temp_dir();
    let why = |build: &dyn Fn(Registry) -> Registry| {
        let registry = registry(root.path());
        let built = catch_unwind(AssertUnwindSafe(|| build(registry)));
        *built.err().expect("a panic").downcast::<String>().unwrap()
    };
    for name in ["", "Calculator", "a b", "a/b"] {
        let told = why(&|registry| with_calculator(registry, name));
        assert_eq!(told, format!("{name:?} is not a key of extensions"));
    }
    let builtin = PARTS.iter().flat_map(|part| part.servers);
    for name in builtin.map(|server| server.name) {
        let told = why(&|registry| with_calculator(registry, name));
        assert_eq!(told, format!("two servers are called {name:?}"));
    }
    let twice = why(&|registry| with_calculator(with_calculator(registry, "one"), "one"));
    assert_eq!(twice, r#"two servers are called "one""#);
    for name in ["same", "other"] {
        let told = why(&|registry| registry.with_providers([adder(name), adder(name)]));
        assert_eq!(told, format!("two providers are called {name:?}"));
    }
}

/// The status that a server answers with, and the body.
fn answer(at: SocketAddr, method: &str, path: &str, fields: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{fields}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let status = response.split(' ').nth(1).and_then(|it| it.parse().ok());
    let (_, body) = response.split_once("\r\n\r\n").expect("a head");
    (status.expect("a status"), body.to_owned())
}

#[test]
fn routes_of_the_program_stand_beside_those_of_the_api() {
    let root = temp_dir();
    let registry = Arc::new(registry(root.path()));
    let name = String::from("greetings");
    let own = Router::new()
        .get("/{name}", Access::Keyed, |request: &Request| {
            Ok(Response::text(format!("Hello, {}!", request.param("name"))))
        })
        .fallback(Access::Keyed, |_: &Request| Ok(Response::text("To whom?")));
    let api = gosling::api::router(registry.clone());
    let router = Arc::new(api.nest(format!("/{name}"), own));
    let by_hand = router.respond(Request::new(Method::Get, "/greetings/Ada"));
    assert_eq!(by_hand.body, b"Hello, Ada!");
    let of_api = router.respond(Request::new(Method::Get, "/sessions"));
    let listed: Value = serde_json::from_slice(&of_api.body).unwrap();
    assert_eq!(listed, json!({"sessions": []}));

    let router = Arc::into_inner(router).expect("the only reference");
    let access = AccessControl::new(Some(b"own key".to_vec()), Vec::new());
    let server = gosling::http::Server::bind(("127.0.0.1", 0), router, access, Limits::default());
    let server = server.unwrap();
    let at = server.local_addr();
    let key = "X-Secret-Key: own key\r\n";
    let get = |path, fields| answer(at, "GET", path, fields, "");
    assert_eq!(get("/greetings/Ada", key), (200, "Hello, Ada!".to_owned()));
    assert_eq!(get("/greetings/a/b", key), (200, "To whom?".to_owned()));
    assert_eq!(get("/greetings/Ada", "").0, 401);
    assert_eq!(get("/nowhere", key).0, 404);
    assert_eq!(get("/sessions", key).0, 200);
    server.stop(Duration::from_secs(1));
    registry.close();
}
