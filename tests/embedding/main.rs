//! Programs that embed gosling: a model and an MCP server of their own in the process, and routes of their own beside
//! those of the API.
#![cfg(all(
    feature = "embedding",
    feature = "keys",
    feature = "scripted",
    feature = "search"
))]

mod faults;
mod store;
#[path = "../support/mod.rs"]
mod support;
mod user;

/// A program of the manual, its `main` and how many lines it has.
macro_rules! program {
    ($name:ident $file:literal) => {
        #[allow(dead_code)]
        mod $name {
            include!(concat!("../../src/manual/embedding/", $file));

            #[test]
            fn of_the_manual_runs() {
                main().unwrap();
                let text = include_str!(concat!("../../src/manual/embedding/", $file));
                println!("{}: {} lines", $file, text.lines().count());
            }
        }
    };
}

program!(own_model "model.rs");
program!(own_server "server.rs");
program!(own_authentication "authentication.rs");
program!(own_store "store.rs");
program!(own_user "user.rs");

use gosling::agent::{Error, Event, EventSink, ModelChoice, Registry, Start, Stores, TurnInput};
use gosling::conversation::{Content, Message, Outcome, Role, ToolCall, ToolRequest};
use gosling::http::{
    Access, AccessControl, Authentication, Client, Credentials, Limits, Method, Request, Response,
    Router, Server as HttpServer,
};
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
use std::sync::{Arc, Condvar, Mutex};
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
            None if request.tools.is_empty() => Content::text("A sum"),
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
        assert!(told.contains(&format!("two providers are called {name:?}")));
    }
    for name in ["openai", "scripted", ""] {
        let told = why(&|registry| registry.with_providers([adder(name)]));
        assert!(told.contains(&format!("two providers are called {name:?}")));
    }
}

#[test]
fn providers_are_added_to_those_before_and_have_one_name() -> Result<(), Error> {
    let root = temp_dir();
    let misnamed =
        InProcessProvider::new("misnamed", "m", |config| (adder("scripted").make)(config));
    let registry = registry(root.path())
        .with_providers([adder("one")])
        .with_providers([adder("two"), misnamed]);
    let session = registry.start(start(
        root.path(),
        json!({"type": "builtin", "name": "todo"}),
    ))?;
    let choose = |provider: &str| {
        let choice = ModelChoice {
            provider: provider.to_owned(),
            model: Some("sum".to_owned()),
            ..ModelChoice::default()
        };
        registry.models().choose(&session.id, choice)
    };
    for provider in ["one", "two"] {
        choose(provider)?;
    }
    let error = choose("misnamed").unwrap_err().to_string();
    assert!(error.contains("it calls itself"), "{error}");
    registry.close();
    Ok(())
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
    let server = HttpServer::bind(("127.0.0.1", 0), router, access, Limits::default());
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

fn serve(router: Router, authentication: impl Authentication + 'static) -> HttpServer {
    let access = AccessControl::new(Some(b"a key".to_vec()), Vec::new());
    let access = access.with_authentication(authentication);
    HttpServer::bind(("127.0.0.1", 0), router, access, Limits::default()).unwrap()
}

#[test]
fn who_asks_and_what_he_may_do_is_what_the_program_says() {
    let root = temp_dir();
    let registry = Arc::new(registry(root.path()));
    let own = Router::new().get("/", Access::Keyed, |_: &Request| Ok(Response::text("own")));
    let router = gosling::api::router(registry.clone()).nest("/own", own);
    let server = serve(router, own_authentication::Badges);
    let at = server.local_addr();
    let ada = "X-Badge: 1815\r\nContent-Type: application/json\r\n";
    let grace = "X-Badge: 1906\r\nContent-Type: application/json\r\n";

    let (status, body) = answer(at, "GET", "/sessions", "", "");
    assert_eq!(status, 401);
    assert!(body.contains("Send your badge"), "{body}");
    let (status, body) = answer(at, "GET", "/nowhere", "X-Badge: 7\r\n", "");
    assert_eq!(status, 403, "before it learns what there is");
    assert!(body.contains("of no use"), "{body}");
    assert_eq!(
        answer(at, "GET", "/sessions", "X-Secret-Key: a key\r\n", "").0,
        401
    );

    let start = json!({"working_dir": root.path()}).to_string();
    let (status, body) = answer(at, "POST", "/agent/start", grace, &start);
    assert_eq!(status, 403, "{body}");
    assert!(body.contains("role read"), "{body}");
    assert_eq!(answer(at, "GET", "/own", grace, "").0, 403);
    assert_eq!(answer(at, "GET", "/own", ada, "").0, 200);
    let (status, body) = answer(at, "POST", "/agent/start", ada, &start);
    assert_eq!(status, 200, "{body}");
    let session: Value = serde_json::from_str(&body).unwrap();
    let path = format!("/sessions/{}", session["id"].as_str().unwrap());
    assert_eq!(answer(at, "GET", &path, grace, "").0, 200);
    server.stop(Duration::from_secs(1));
    registry.close();
}

/// Knows clients by the field `User`: some with their own sessions alone, one with a role that does not exist.
struct Named;

impl Authentication for Named {
    fn authenticate(&self, by: &Credentials<'_>) -> Result<Client, gosling::http::Error> {
        match by.header("User") {
            Some("nobody") => Ok(Client::new("nobody", "king")),
            Some("server") => Ok(Client::new("server", "read")),
            Some(name) => Ok(Client::new(name, "admin").with_own_sessions()),
            None => panic!("no name on {}", by.route().unwrap_or_default()),
        }
    }
}

#[test]
fn clients_may_see_their_own_sessions_alone() {
    let root = temp_dir();
    let registry = Arc::new(registry(root.path()));
    let server = serve(gosling::api::router(registry.clone()), Named);
    let at = server.local_addr();
    let ask = |user: &str, method, path: &str, body: &str| {
        let fields = format!("User: {user}\r\nContent-Type: application/json\r\n");
        answer(at, method, path, &fields, body)
    };
    let start = json!({"working_dir": root.path()}).to_string();
    let (status, body) = ask("ada", "POST", "/agent/start", &start);
    assert_eq!(status, 200, "{body}");
    let session: Value = serde_json::from_str(&body).unwrap();
    let path = format!("/sessions/{}", session["id"].as_str().unwrap());
    assert_eq!(ask("ada", "GET", &path, "").0, 200);
    assert_eq!(ask("bob", "GET", &path, "").0, 404);
    let (status, body) = ask("nobody", "GET", "/sessions", "");
    assert_eq!(status, 403);
    assert!(body.contains("There is no role"), "{body}");
    server.stop(Duration::from_secs(1));
    registry.close();
}

#[test]
fn an_authentication_that_panics_refuses() {
    let hello = |_: &Request| Ok(Response::text("hello"));
    let router = Router::new().get("/hello", Access::Keyed, hello);
    let server = serve(router, Named);
    let at = server.local_addr();
    for user in ["", "User: server\r\n", "User: \r\n"] {
        let (status, body) = answer(at, "GET", "/hello", user, "");
        assert_eq!(status, 500, "{body}");
        assert!(body.contains("could not find out who you are"), "{body}");
    }
    let (status, body) = answer(at, "GET", "/hello", "User: ada\r\n", "");
    assert_eq!(
        status, 403,
        "own sessions are what the part `keys` knows: {body}"
    );
    assert_eq!(answer(at, "GET", "/hello", "", "").0, 500);
}

/// Lets those in who have no name, the others when that is told.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Authentication for Gate {
    fn authenticate(&self, by: &Credentials<'_>) -> Result<Client, gosling::http::Error> {
        let (is_open, changed) = &*self.0;
        if by.header("User").is_some() {
            drop(changed.wait_while(is_open.lock().unwrap(), |is_open| !*is_open));
        }
        Ok(Client::new("visitor", "admin"))
    }
}

#[test]
fn an_authentication_that_blocks_holds_its_own_connection_alone() {
    let hello = |_: &Request| Ok(Response::text("hello"));
    let router = Router::new().get("/hello", Access::Keyed, hello);
    let gate = Gate::default();
    let server = serve(router, gate.clone());
    let at = server.local_addr();
    std::thread::scope(|scope| {
        let held = scope.spawn(move || answer(at, "GET", "/hello", "User: ada\r\n", "").0);
        for _ in 0..20 {
            assert_eq!(answer(at, "GET", "/hello", "", "").0, 200);
        }
        assert!(!held.is_finished());
        *gate.0.0.lock().unwrap() = true;
        gate.0.1.notify_all();
        assert_eq!(held.join().unwrap(), 200);
    });
    *gate.0.0.lock().unwrap() = false;
    let mut held = TcpStream::connect(at).unwrap();
    let request = "GET /hello HTTP/1.1\r\nHost: localhost\r\nUser: ada\r\n\r\n";
    held.write_all(request.as_bytes()).unwrap();
    held.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    server.stop(Duration::from_millis(200));
    let _ = held.read(&mut [0]);
    *gate.0.0.lock().unwrap() = true;
    gate.0.1.notify_all();
}
