//! Stores of the program's own: in memory, and one that fails.

use crate::support::temp_dir;
use crate::{Told, adder, answer, start, with_calculator};
use gosling::agent::{Error, ModelChoice, Registry, Start, Stores, TurnInput};
use gosling::conversation::{Message, Role};
use gosling::embedding::{Memory, Storage, sessions};
use gosling::http::{AccessControl, Limits, Server};
use gosling::parts::PARTS;
use gosling::store::{self, Config, Paths};
use gosling::sys::cancel::Cancel;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A store in memory, of which one write fails, or panics if its number is even.
#[derive(Default)]
struct Failing {
    memory: Memory,
    writes: AtomicUsize,
    /// The number of the write that fails, from 1; none if 0.
    failing: AtomicUsize,
}

impl Failing {
    fn write(&self) -> io::Result<()> {
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if number != self.failing.load(Ordering::SeqCst) {
            return Ok(());
        }
        assert!(!number.is_multiple_of(2), "the store is out of order");
        Err(io::Error::other("the store is out of order"))
    }
}

impl Storage for Failing {
    fn names(&self) -> io::Result<Vec<String>> {
        self.memory.names()
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.memory.read(name)
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.write()?;
        self.memory.replace(name, content)
    }

    fn append(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.write()?;
        self.memory.append(name, content)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.write()?;
        self.memory.remove(name)
    }
}

fn registry(root: &Path, storage: impl Storage) -> Registry {
    let paths = Paths::under(root);
    // The audit log is no part of the store.
    Config::new(&paths)
        .upsert("GOOSE_AUDIT", &json!("off"))
        .unwrap();
    let mut stores = Stores::new(&paths);
    stores.sessions = Arc::new(sessions(storage));
    let registry = Registry::new(stores, PARTS, true).with_providers([adder("store_adder")]);
    with_calculator(registry, "calculator")
}

/// A session with the model that adds, and its tool.
fn begin(root: &Path, registry: &Registry) -> Result<String, Error> {
    let extension = json!({"type": "builtin", "name": "calculator"});
    let named = Start {
        name: Some("a sum".to_owned()),
        ..start(root, extension)
    };
    let id = registry.start(named)?.id;
    let provider = "store_adder".to_owned();
    let choice = ModelChoice {
        provider,
        ..ModelChoice::default()
    };
    registry.models().choose(&id, choice)?;
    Ok(id)
}

fn turn(registry: &Registry, id: &str, text: &str) -> (String, Result<(), Error>) {
    let mut told = Told(String::new());
    let input = TurnInput::new(Message::text(Role::User, text));
    let outcome = registry.reply(id, input, &mut told, &Cancel::new());
    (told.0, outcome.map(drop))
}

fn texts(registry: &Registry, id: &str) -> Vec<String> {
    let messages = registry.stores().sessions.conversation(id).unwrap();
    let messages = messages.expect("the session");
    messages.iter().map(Message::concat_text).collect()
}

#[test]
fn each_write_of_a_turn_may_fail_and_nothing_is_lost() -> Result<(), Error> {
    let root = temp_dir();
    for number in 1.. {
        let storage = Arc::new(Failing::default());
        let own = registry(root.path(), storage.clone());
        let id = begin(root.path(), &own)?;
        turn(&own, &id, "first").1?;
        let before = texts(&own, &id);
        let failing = storage.writes.load(Ordering::SeqCst) + number;
        storage.failing.store(failing, Ordering::SeqCst);
        let (_, outcome) = turn(&own, &id, "second");
        if storage.writes.load(Ordering::SeqCst) < failing {
            outcome?;
            assert!(number > 3, "a turn writes more often than {number} times");
            own.close();
            return Ok(());
        }
        let error = outcome.expect_err("the turn that could not be written");
        let is_io = matches!(&error, Error::Store(store::Error::Io { .. }));
        assert!(is_io, "write {number}: {error:?}");
        let told = error.to_string();
        assert!(told.contains("the store is out of order"), "{told}");

        let after = texts(&own, &id);
        assert_eq!(after[..before.len()], before, "write {number}");
        assert_eq!(
            turn(&own, &id, "third").0,
            "The sum is 3.",
            "write {number}"
        );
        let end = texts(&own, &id);
        assert_eq!(end[..after.len()], after, "write {number}");
        own.close();

        let again = registry(root.path(), storage);
        assert_eq!(texts(&again, &id), end, "write {number}");
        turn(&again, &id, "fourth").1?;
        again.close();
    }
    Ok(())
}

#[test]
fn a_session_that_cannot_be_written_does_not_begin() -> Result<(), Error> {
    let root = temp_dir();
    let storage = Arc::new(Failing::default());
    let own = registry(root.path(), storage.clone());
    storage.failing.store(1, Ordering::SeqCst);
    let error = own.start(Start::default()).map(drop).unwrap_err();
    assert!(error.to_string().contains("out of order"), "{error}");
    assert_eq!(storage.names().unwrap(), [""; 0]);
    let id = begin(root.path(), &own)?;
    let sessions = &own.stores().sessions;
    for number in [1, 2] {
        // The mark of its id; then, after that was written, the session.
        let failing = storage.writes.load(Ordering::SeqCst) + 1;
        storage.failing.store(failing, Ordering::SeqCst);
        assert!(sessions.delete(&id).is_err(), "write {number}");
        assert!(sessions.load(&id)?.is_some(), "it is whole");
    }
    assert!(sessions.delete(&id)?);
    assert!(sessions.load(&id)?.is_none());
    // Its id is not given again.
    assert_eq!(storage.names().unwrap(), [format!(".deleted-{id}/mark")]);
    own.close();
    Ok(())
}

/// The files and folders in a folder, which may not exist.
fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let read = std::fs::read_dir(folder).into_iter().flatten();
    let paths: Vec<_> = read.map(|entry| entry.unwrap().path()).collect();
    let inside = paths.iter().flat_map(|path| entries(path));
    inside.chain(paths.iter().cloned()).collect()
}

#[test]
fn sessions_in_memory_write_no_file() -> Result<(), Error> {
    let (root, work) = (temp_dir(), temp_dir());
    let registry = Arc::new(registry(root.path(), Memory::default()));
    let before = entries(root.path());
    let id = begin(work.path(), &registry)?;
    let other = begin(work.path(), &registry)?;
    assert_eq!(turn(&registry, &id, "What is 1 + 2?").0, "The sum is 3.");

    let router = gosling::api::router(registry.clone());
    let access = AccessControl::default();
    let server = Server::bind(("127.0.0.1", 0), router, access, Limits::default()).unwrap();
    let ask = |method, path: &str| {
        let (status, body) = answer(server.local_addr(), method, path, "", "");
        assert_eq!(status, 200, "{method} {path}: {body}");
        serde_json::from_str::<Value>(&body).unwrap_or_default()
    };
    let listed = ask("GET", "/sessions");
    assert_eq!(listed["sessions"][0]["id"], json!(id), "{listed}");
    let found = ask("GET", "/sessions/search?query=sum");
    assert!(found.to_string().contains(&id), "{found}");
    let exported = ask("GET", &format!("/sessions/{id}/export"));
    assert!(exported.to_string().contains("The sum is 3."), "{exported}");
    let session = ask("GET", &format!("/sessions/{id}"));
    assert_eq!(session["conversation"].as_array().map(Vec::len), Some(4));
    let copy = registry.copy(&id, None)?;
    assert_eq!(texts(&registry, &copy), texts(&registry, &id));
    ask("DELETE", &format!("/sessions/{id}"));
    ask("DELETE", &format!("/sessions/{other}"));
    let left = registry.stores().sessions.list()?;
    let left: Vec<&str> = left.iter().map(|summary| &*summary.id).collect();
    assert_eq!(left, [copy.as_str()]);
    server.stop(Duration::from_secs(1));
    registry.close();
    assert_eq!(entries(root.path()), before);
    assert!(!Path::new("store 1").exists());
    Ok(())
}

#[test]
fn sessions_of_two_stores_run_turns_at_the_same_time() -> Result<(), Error> {
    let root = temp_dir();
    let registries = [(); 2].map(|()| registry(root.path(), Memory::default()));
    let all: Vec<(&Registry, String)> = registries
        .iter()
        .flat_map(|it| [(); 4].map(|()| (it, begin(root.path(), it).unwrap())))
        .collect();
    thread::scope(|scope| {
        for (registry, id) in &all {
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(turn(registry, id, "What is 1 + 2?").0, "The sum is 3.");
                }
                assert_eq!(texts(registry, id).len(), 20);
            });
        }
    });
    registries.iter().for_each(Registry::close);
    Ok(())
}

#[test]
fn what_a_tool_says_at_length_is_cut_off_where_there_are_no_files() -> Result<(), Error> {
    let root = temp_dir();
    let own = registry(root.path(), Memory::default());
    let before = entries(root.path());
    let id = begin(root.path(), &own)?;
    let stored = own.stores().sessions.store_tool_output(&id, "add", "3");
    assert!(matches!(stored, Err(store::Error::Io { .. })), "{stored:?}");
    own.close();
    assert_eq!(entries(root.path()), before);
    Ok(())
}
