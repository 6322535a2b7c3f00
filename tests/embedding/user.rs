//! A user of the program's own, who answers by calls: in a turn and outside of one, with a panic, much later, or by
//! using the session that asks.

use crate::support::{TEST_TIMEOUT, temp_dir};
use crate::{Adder, Told, adder, own_user, start, with_calculator};
use gosling::agent::{
    Confirmation, Error, Event, EventSink, ModelChoice, Registry, Stores, TurnInput,
};
use gosling::conversation::{Action, Content, Message, Role};
use gosling::embedding::{Approval, Elicitation, User, UserHandle, ask};
use gosling::mcp::server::InProcess;
use gosling::parts::PARTS;
use gosling::provider::{
    self, Completion, CompletionRequest, DeltaSink, InProcessProvider, Provider,
};
use gosling::store::Paths;
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A registry in which the user is asked before each call.
fn registry(root: &Path) -> Arc<Registry> {
    let stores = Stores::new(&Paths::under(root));
    stores
        .config
        .upsert("GOOSE_MODE", &json!("approve"))
        .unwrap();
    let registry = Registry::new(stores, PARTS, true).with_providers([adder("user_adder")]);
    let restaurant = Arc::new(own_user::restaurant());
    let registry = with_calculator(registry, "calculator");
    Arc::new(registry.with_server("restaurant", move |_| {
        Arc::new(InProcess::new(restaurant.clone()))
    }))
}

fn begin(root: &Path, registry: &Registry) -> Result<String, Error> {
    let extension = json!({"type": "builtin", "name": "calculator"});
    let id = registry.start(start(root, extension))?.id;
    let choice = ModelChoice {
        provider: "user_adder".to_owned(),
        ..ModelChoice::default()
    };
    registry.models().choose(&id, choice)?;
    Ok(id)
}

fn turn(registry: &Registry, id: &str, cancel: &Cancel) -> (String, Result<(), Error>) {
    let mut told = Told(String::new());
    let input = TurnInput::new(Message::text(Role::User, "What is 1 + 2?"));
    let outcome = registry.reply(id, input, &mut told, cancel);
    (told.0, outcome.map(drop))
}

/// Calls a function for each question.
struct Calls<A, E>(A, E);

impl<A, E> User for Calls<A, E>
where
    A: Fn(&Approval) -> Confirmation + Send + Sync + 'static,
    E: Fn(&Elicitation) -> Option<Value> + Send + Sync + 'static,
{
    fn approve(&self, approval: &Approval) -> Confirmation {
        self.0(approval)
    }

    fn elicit(&self, elicitation: &Elicitation) -> Option<Value> {
        self.1(elicitation)
    }
}

fn approving(approve: impl Fn(&Approval) -> Confirmation + Send + Sync + 'static) -> impl User {
    Calls(approve, |_: &Elicitation| None)
}

#[test]
fn calls_of_a_turn_run_if_the_user_allows_them() -> Result<(), Error> {
    let root = temp_dir();
    let registry = registry(root.path());
    let id = begin(root.path(), &registry)?;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let user = ask(
        &registry,
        approving(move |it| {
            let what = (it.session.clone(), it.tool.clone(), it.arguments.clone());
            seen.lock().unwrap().push(what);
            Confirmation::AllowOnce
        }),
    );
    let (told, outcome) = turn(&registry, &id, &Cancel::new());
    outcome?;
    assert_eq!(told, "The sum is 3.");
    let [(session, tool, arguments)] = &asked.lock().unwrap()[..] else {
        panic!("one question");
    };
    assert_eq!((session, &**tool), (&id, "calculator__add"));
    assert_eq!(
        serde_json::from_str::<Value>(arguments).unwrap(),
        json!({"a": 1, "b": 2})
    );
    drop(user);

    let user = ask(&registry, approving(|_| Confirmation::DenyOnce));
    let (told, outcome) = turn(&registry, &id, &Cancel::new());
    outcome?;
    assert!(told.contains("does not want this tool"), "{told}");
    drop(user);
    registry.close();
    Ok(())
}

#[test]
fn a_user_who_panics_has_declined() -> Result<(), Error> {
    let root = temp_dir();
    let registry = registry(root.path());
    let id = begin(root.path(), &registry)?;
    let user = Calls(
        |_: &Approval| panic!("no idea"),
        |_: &Elicitation| panic!("none either"),
    );
    let user = ask(&registry, user);
    let (told, outcome) = turn(&registry, &id, &Cancel::new());
    outcome?;
    assert!(told.contains("does not want this tool"), "{told}");
    assert!(book(root.path(), &registry)?.contains("decline"));
    drop(user);
    registry.close();
    Ok(())
}

/// The result of a tool that asks the user outside of a turn.
fn book(root: &Path, registry: &Registry) -> Result<String, Error> {
    let restaurant = json!({"type": "builtin", "name": "restaurant"});
    let id = registry.start(start(root, restaurant))?.id;
    let agent = registry.agent(&id)?;
    let none = serde_json::value::to_raw_value(&json!({})).unwrap();
    let result = agent.call("restaurant__book", &none, &Cancel::new())?;
    Ok(result.content[0].as_json().to_owned())
}

#[test]
fn servers_ask_the_user_outside_of_turns() -> Result<(), Error> {
    let root = temp_dir();
    let registry = registry(root.path());
    assert!(
        book(root.path(), &registry)?.contains("decline"),
        "there is no user"
    );
    let answers = Arc::new(Mutex::new(vec![
        None,
        Some(json!({"time": 8})),
        Some(json!({"time": "noon"})),
    ]));
    let elicit = move |asked: &Elicitation| {
        assert!(asked.message.contains("restaurant"), "{}", asked.message);
        assert_eq!(asked.schema["required"], json!(["time"]));
        answers.lock().unwrap().pop().expect("three questions")
    };
    let user = ask(
        &registry,
        Calls(|_: &Approval| Confirmation::DenyOnce, elicit),
    );
    assert!(book(root.path(), &registry)?.contains("noon"));
    let wrong = book(root.path(), &registry)?;
    assert!(wrong.contains("does not fit"), "{wrong}");
    assert!(book(root.path(), &registry)?.contains("decline"));
    drop(user);
    assert!(book(root.path(), &registry)?.contains("decline"));
    registry.close();
    Ok(())
}

#[test]
fn a_user_who_does_not_answer_holds_nobody_else_and_is_given_up() -> Result<(), Error> {
    let root = temp_dir();
    let registry = registry(root.path());
    let (held, free) = (
        begin(root.path(), &registry)?,
        begin(root.path(), &registry)?,
    );
    let (asked, is_asked) = mpsc::channel();
    let (given_up, is_given_up) = mpsc::channel();
    let waits = held.clone();
    let user = ask(
        &registry,
        approving(move |it| {
            if it.session == waits {
                asked.send(()).unwrap();
                let begin = Instant::now();
                while !it.cancel.is_cancelled() && begin.elapsed() < TEST_TIMEOUT {
                    thread::yield_now();
                }
                given_up.send(it.cancel.is_cancelled()).unwrap();
            }
            Confirmation::AllowOnce
        }),
    );
    let cancel = Cancel::new();
    thread::scope(|scope| {
        let turn_held = scope.spawn(|| turn(&registry, &held, &cancel));
        is_asked.recv_timeout(TEST_TIMEOUT).unwrap();
        assert_eq!(turn(&registry, &free, &Cancel::new()).0, "The sum is 3.");
        assert!(!turn_held.is_finished());
        cancel.cancel();
        let (_, outcome) = turn_held.join().unwrap();
        assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    });
    assert!(is_given_up.recv_timeout(TEST_TIMEOUT).unwrap());
    drop(user);
    registry.close();
    Ok(())
}

#[test]
fn a_user_may_use_the_session_that_asks() -> Result<(), Error> {
    let root = temp_dir();
    let registry = registry(root.path());
    let id = begin(root.path(), &registry)?;
    let weak: Weak<Registry> = Arc::downgrade(&registry);
    let inner = Arc::new(Mutex::new(None));
    let outcome = inner.clone();
    let user = ask(
        &registry,
        approving(move |it| {
            let registry = weak.upgrade().expect("the registry");
            let session = registry.files().session(&it.session).expect("the session");
            assert_eq!(session.message_count, 2, "the question and the call");
            let (_, second) = turn(&registry, &it.session, &Cancel::new());
            *outcome.lock().unwrap() = Some(second);
            Confirmation::AllowOnce
        }),
    );
    let (told, outer) = turn(&registry, &id, &Cancel::new());
    outer?;
    assert_eq!(told, "The sum is 3.");
    let inner = inner.lock().unwrap().take().expect("an outcome");
    let error = inner.expect_err("a second turn at the same time");
    assert!(error.to_string().contains("still busy"), "{error}");
    drop(user);
    registry.close();
    Ok(())
}

/// Drops the handle of the user in the turn, before it calls the tool.
struct Dropping(Adder, Arc<Mutex<Option<UserHandle>>>);

impl Provider for Dropping {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn complete(
        &self,
        request: &CompletionRequest<'_>,
        cancel: &Cancel,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, provider::Error> {
        self.1.lock().unwrap().take();
        self.0.complete(request, cancel, sink)
    }

    fn models(&self, cancel: &Cancel) -> Result<Vec<String>, provider::Error> {
        self.0.models(cancel)
    }
}

/// Tells the ids of the questions whether a tool may be called.
struct Questions(mpsc::Sender<String>);

impl EventSink for Questions {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Message { message, .. } = event {
            for part in &message.content {
                if let Content::ActionRequired(action) = part
                    && let Action::ToolConfirmation { id, .. } = &action.data
                {
                    self.0.send(id.clone()).unwrap();
                }
            }
        }
    }
    fn flush(&mut self) {}
}

#[test]
fn a_user_is_not_asked_once_the_handle_is_dropped() -> Result<(), Error> {
    let root = temp_dir();
    let stores = Stores::new(&Paths::under(root.path()));
    let approve = json!("approve");
    stores.config.upsert("GOOSE_MODE", &approve).unwrap();
    let handle: Arc<Mutex<Option<UserHandle>>> = Arc::default();
    let dropped = handle.clone();
    let model = InProcessProvider::new("user_adder", "sum", move |_| {
        let adder = Adder("user_adder".to_owned());
        Ok(Arc::new(Dropping(adder, dropped.clone())))
    });
    let registry = Registry::new(stores, PARTS, true).with_providers([model]);
    let registry = Arc::new(with_calculator(registry, "calculator"));
    let id = begin(root.path(), &registry)?;
    let (asked, is_asked) = mpsc::channel();
    let user = approving(move |_| {
        asked.send(()).unwrap();
        Confirmation::AllowOnce
    });
    *handle.lock().unwrap() = Some(ask(&registry, user));
    let (question, questions) = mpsc::channel();
    thread::scope(|scope| {
        let turn = scope.spawn(|| {
            let input = TurnInput::new(Message::text(Role::User, "What is 1 + 2?"));
            let outcome = registry.reply(&id, input, &mut Questions(question), &Cancel::new());
            outcome.map(drop)
        });
        let question = questions.recv_timeout(TEST_TIMEOUT).expect("a question");
        let asked = is_asked.recv_timeout(Duration::from_millis(300));
        assert!(asked.is_err(), "the user is asked without a handle");
        let questions = registry.questions(&id);
        assert!(questions.confirm(&question, Confirmation::DenyOnce));
        turn.join().unwrap()
    })?;
    registry.close();
    Ok(())
}
