//! Code of the program that panics or blocks: a model, a server's transport, and observers of sessions.

use crate::support::{TEST_TIMEOUT, temp_dir};
use crate::{Told, answer, start, with_calculator};
use gosling::agent::{
    Error, Event, EventSink, ModelChoice, Registry, SessionObserver, Start, Stores, TurnInput,
};
use gosling::conversation::{Content, Message, Role};
use gosling::http::{AccessControl, Limits, Server as HttpServer};
use gosling::mcp::jsonrpc;
use gosling::mcp::transport::{MessageHandler, Stream, Transport, TransportError};
use gosling::parts::PARTS;
use gosling::provider::{
    self, Completion, CompletionRequest, DeltaSink, InProcessProvider, Provider, Purpose,
};
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// Calls a function for each request.
struct Model<F>(F);

impl<F: Fn(&CompletionRequest<'_>) + Send + Sync> Provider for Model<F> {
    fn name(&self) -> &str {
        "faulty"
    }

    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        _: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, provider::Error> {
        sink.text("Well, ");
        (self.0)(request);
        sink.text("yes.");
        Ok(Completion {
            content: vec![Content::text("Well, yes.")],
            ..Completion::default()
        })
    }

    fn models(&self, _: &Cancel) -> Result<Vec<String>, provider::Error> {
        Ok(vec!["faulty".to_owned()])
    }
}

fn registry(
    root: &Path,
    complete: impl Fn(&CompletionRequest<'_>) + Clone + Send + Sync + 'static,
) -> Registry {
    let make = move |_: &_| Ok(Arc::new(Model(complete.clone())) as Arc<dyn Provider>);
    let faulty = InProcessProvider::new("faulty", "faulty", make);
    let broken = InProcessProvider::new("broken", "broken", |_| panic!("no model"));
    let registry = Registry::new(Stores::new(&Paths::under(root)), PARTS, true);
    registry.with_providers([faulty, broken])
}

fn choose(registry: &Registry, id: &str, provider: &str) -> Result<(), Error> {
    let choice = ModelChoice {
        provider: provider.to_owned(),
        ..ModelChoice::default()
    };
    registry.models().choose(id, choice).map(drop)
}

fn session(registry: &Registry, start: Start) -> Result<String, Error> {
    let id = registry.start(start)?.id;
    choose(registry, &id, "faulty")?;
    Ok(id)
}

fn without_extensions(root: &Path) -> Start {
    Start {
        working_dir: root.to_owned(),
        extension_overrides: Some(Vec::new()),
        ..Start::default()
    }
}

fn turn(registry: &Registry, id: &str) -> (String, Result<(), Error>) {
    let mut told = Told(String::new());
    let input = TurnInput::new(Message::text(Role::User, "Really?"));
    let outcome = registry.reply(id, input, &mut told, &Cancel::new());
    (told.0, outcome.map(drop))
}

#[test]
fn a_model_that_panics_ends_its_turn_with_an_error() -> Result<(), Error> {
    struct Errors(Vec<String>);
    impl EventSink for Errors {
        fn event(&mut self, event: Event<'_>) {
            if let Event::Error { error } = event {
                self.0.push(error.to_owned());
            }
        }
        fn flush(&mut self) {}
    }

    let root = temp_dir();
    let registry = Arc::new(registry(root.path(), |request| {
        let last = request.messages.last().expect("a message");
        assert_ne!(last.concat_text(), "Panic!");
    }));
    let id = session(&registry, without_extensions(root.path()))?;
    let mut errors = Errors(Vec::new());
    let input = TurnInput::new(Message::text(Role::User, "Panic!"));
    let outcome = registry.reply(&id, input, &mut errors, &Cancel::new());
    assert!(matches!(outcome, Err(Error::Panicked { .. })));
    assert_eq!(errors.0.len(), 1);
    assert!(
        errors.0[0].contains("has panicked: assertion"),
        "{}",
        errors.0[0]
    );
    let (told, outcome) = turn(&registry, &id);
    outcome?;
    assert_eq!(told, "Well, yes.");

    let router = gosling::api::router(registry.clone());
    let access = AccessControl::new(Some(b"a key".to_vec()), Vec::new());
    let server = HttpServer::bind(("127.0.0.1", 0), router, access, Limits::default()).unwrap();
    let text = json!([{"type": "text", "text": "Panic!"}]);
    let message = json!({"role": "user", "created": 1, "content": text,
        "metadata": {"userVisible": true, "agentVisible": true}});
    let body = json!({"session_id": id, "user_message": message}).to_string();
    let fields = "X-Secret-Key: a key\r\nContent-Type: application/json\r\n";
    let (status, events) = answer(server.local_addr(), "POST", "/reply", fields, &body);
    assert_eq!(status, 200, "{events}");
    assert!(events.contains(r#""type":"Error""#), "{events}");
    assert!(
        events.ends_with("\r\n0\r\n\r\n"),
        "the last chunk: {events:?}"
    );
    server.stop(Duration::from_secs(1));

    let error = choose(&registry, &id, "broken").expect_err("no model");
    assert!(error.to_string().contains("no model"), "{error}");
    registry.close();
    Ok(())
}

#[test]
fn an_observer_that_panics_disturbs_no_session() -> Result<(), Error> {
    struct Panics;
    impl EventSink for Panics {
        fn event(&mut self, _: Event<'_>) {
            panic!("an event");
        }
        fn flush(&mut self) {}
    }
    /// Panics at once, or with the first event.
    struct Observer(bool);
    impl SessionObserver for Observer {
        fn turn_begins(&self, _: &str, _: &Message, _: &Cancel) -> Option<Box<dyn EventSink>> {
            assert!(!self.0, "a turn");
            Some(Box::new(Panics))
        }
        fn deleted(&self, _: &str) {
            panic!("deleted");
        }
        fn closed(&self) {
            panic!("closed");
        }
    }

    let root = temp_dir();
    let registry = registry(root.path(), |_| {});
    let observers = [Arc::new(Observer(true)), Arc::new(Observer(false))];
    observers.iter().for_each(|it| registry.observe(it));
    let id = session(&registry, without_extensions(root.path()))?;
    for _ in 0..2 {
        let (told, outcome) = turn(&registry, &id);
        outcome?;
        assert_eq!(told, "Well, yes.");
    }
    registry.delete(&id)?;
    registry.close();
    Ok(())
}

/// Holds those who pass until it is dropped.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn pass(&self) {
        let (is_open, changed) = &*self.0;
        drop(changed.wait_while(is_open.lock().unwrap(), |is_open| !*is_open));
    }

    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

/// A server with one tool, whose transport blocks at one of its functions.
struct Blocking {
    at: &'static str,
    gate: Gate,
    handler: Mutex<Option<Arc<dyn MessageHandler>>>,
}

impl Blocking {
    fn pass(&self, at: &str) {
        if self.at == at {
            self.gate.pass();
        }
    }
}

impl Transport for Blocking {
    fn start(&self, handler: Arc<dyn MessageHandler>) -> Result<(), TransportError> {
        self.pass("start");
        *self.handler.lock().unwrap() = Some(handler);
        Ok(())
    }

    fn send(&self, message: Vec<u8>, request: Option<i64>) -> Result<(), TransportError> {
        self.pass("send");
        let Some(id) = request else { return Ok(()) };
        let message: Value = serde_json::from_slice(&message).unwrap();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}}, "serverInfo": {"name": "own", "version": "1"}}),
            _ => json!({"tools": [{"name": "any", "inputSchema": {"type": "object"}}]}),
        };
        let result = serde_json::value::to_raw_value(&result).unwrap();
        let answer = jsonrpc::response(Some(&jsonrpc::Id::Number(id)), Ok(&result)).unwrap();
        let handler = self.handler.lock().unwrap().clone();
        handler.expect("a start").message(&answer, Stream::Shared);
        Ok(())
    }

    fn close(&self) {
        self.pass("close");
        self.handler.lock().unwrap().take();
    }
}

/// Ends a session, and then its registry, while code of the program blocks there.
fn ends(at: &'static str) {
    let root = temp_dir();
    let gate = Gate::default();
    let names = gate.clone();
    let registry = registry(root.path(), move |request| {
        if at == "name" && request.purpose == Purpose::Name {
            names.pass();
        }
    });
    let own = gate.clone();
    let registry = Arc::new(registry.with_server("own", move |_| {
        if at == "connect" {
            own.pass();
        }
        Arc::new(Blocking {
            at,
            gate: own.clone(),
            handler: Mutex::default(),
        })
    }));
    let extension = json!({"type": "builtin", "name": "own"});
    let begin = || session(&registry, start(root.path(), extension.clone())).unwrap();
    let (first, _second) = (begin(), begin());
    if ["name", "close"].contains(&at) {
        let (told, outcome) = turn(&registry, &first);
        assert_eq!((told.as_str(), outcome.is_ok()), ("Well, yes.", true));
    }
    let (ended, has_ended) = mpsc::channel();
    let ending = registry.clone();
    thread::spawn(move || {
        ending.stop(&first);
        ended.send("stop").unwrap();
        ending.close();
        ended.send("close").unwrap();
    });
    for what in ["stop", "close"] {
        let has_ended = has_ended.recv_timeout(TEST_TIMEOUT);
        assert_eq!(has_ended, Ok(what), "while it blocks at {at:?}");
    }
    gate.open();
}

#[test]
fn the_end_does_not_wait_for_code_of_the_program() {
    thread::scope(|scope| {
        for at in ["name", "connect", "start", "send", "close"] {
            scope.spawn(move || ends(at));
        }
    });
}

#[test]
fn a_server_that_panics_is_not_active_and_the_others_are() -> Result<(), Error> {
    let root = temp_dir();
    let registry = registry(root.path(), |_| {});
    let registry = registry.with_server("panics", |_| panic!("no server"));
    let registry = with_calculator(registry, "calculator");
    let extension = |name| json!({"type": "builtin", "name": name});
    let session = registry.start(Start {
        working_dir: root.path().to_owned(),
        extension_overrides: Some(["panics", "calculator"].map(extension).into()),
        ..Start::default()
    })?;
    let agent = registry.agent(&session.id)?;
    let results = agent.wait(&Cancel::new())?;
    let error = results[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("it has panicked: no server"), "{error}");
    assert!(results[1].success, "{results:?}");
    registry.close();
    Ok(())
}
